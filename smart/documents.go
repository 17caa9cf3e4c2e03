package smart

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// maxDocument bounds one report. The largest real `smartctl -x -j` seen is below 300 KB; the bound keeps a stray file from
// filling the memory of a process that runs as root.
const maxDocument = 8 << 20

var (
	errTooLarge  = errors.New("larger than 8 MiB, which no S.M.A.R.T. report is")
	errTruncated = errors.New("ends in the middle of a JSON document")
	errBroken    = errors.New("broken JSON: a new document begins before this one has ended")
	errNotJSON   = errors.New("not JSON: a report begins with '{'")
)

// documents cuts a stream into JSON objects: one, several one after the other, one per line, or the elements of one array.
//
// A broken object must not take the following ones with it. Objects are found by counting brackets; where that goes wrong,
// the damage ends at the next line that begins with '{', which is how both JSON Lines and printed documents begin.
type documents struct {
	r    *bufio.Reader
	back []byte // bytes that were read too far, to be read again
	line int    // of the next byte, from 1
}

func newDocuments(r io.Reader) *documents {
	return &documents{r: bufio.NewReaderSize(r, 1<<16), line: 1}
}

// next returns an object and the line where it begins. A broken one comes with its text as far as it was read and an error
// that is one of the errors above; io.EOF is the clean end, and any other error is the reader's own.
func (d *documents) next() (doc []byte, line int, err error) {
	for {
		c, err := d.byte()
		if err != nil {
			return nil, d.line, err
		}
		switch c {
		case ' ', '\t', '\r', '\n', ',', '[', ']', 0xef, 0xbb, 0xbf: // space, the brackets of an array of reports, a byte order mark
			continue
		case '{':
			line := d.line
			doc, err := d.object()
			return doc, line, err
		}
		line := d.line
		rest, err := d.restOfLine(c)
		if err != nil && err != io.EOF {
			return rest, line, err
		}
		return rest, line, errNotJSON
	}
}

// object reads up to the end of the object whose '{' has just been read.
func (d *documents) object() ([]byte, error) {
	doc := make([]byte, 1, 16<<10)
	doc[0] = '{'
	var (
		stack    = []byte{'{'} // open brackets
		prev     = byte('{')   // last byte that is neither space nor inside a string
		inString bool
		escaped  bool
	)
	for {
		c, err := d.byte()
		if err == io.EOF {
			return d.recover(doc, errTruncated)
		}
		if err != nil {
			return doc, err
		}
		if len(doc) >= maxDocument {
			return d.recover(append(doc, c), errTooLarge)
		}
		newLine := doc[len(doc)-1] == '\n'
		doc = append(doc, c)
		if inString {
			switch {
			case c == '\n': // never inside a JSON string: it was cut off
				return d.recover(doc, errTruncated)
			case escaped:
				escaped = false
			case c == '\\':
				escaped = true
			case c == '"':
				inString = false
			}
			continue
		}
		switch c {
		case ' ', '\t', '\r', '\n':
			continue
		case '"':
			inString = true
		case '{', '[':
			if c == '{' && newLine && !objectMayFollow(stack[len(stack)-1], prev) {
				return d.recover(doc, errBroken)
			}
			stack = append(stack, c)
		case '}', ']':
			if stack[len(stack)-1] != c-2 { // '{' and '}', '[' and ']' are two apart
				return d.recover(doc, errBroken)
			}
			if stack = stack[:len(stack)-1]; len(stack) == 0 {
				return doc, nil
			}
		}
		prev = c
	}
}

// objectMayFollow says whether JSON allows an object inside the open bracket after prev.
func objectMayFollow(open, prev byte) bool {
	if open == '[' {
		return prev == '[' || prev == ','
	}
	return prev == ':'
}

// recover gives the broken document back up to the next line that begins with '{' and leaves the rest to be read again.
func (d *documents) recover(doc []byte, why error) ([]byte, error) {
	for i := 1; i < len(doc); i++ {
		if doc[i] == '{' && doc[i-1] == '\n' {
			d.unread(doc[i:])
			return doc[:i], why
		}
	}
	if doc[len(doc)-1] == '\n' || why == errTruncated {
		return doc, why
	}
	// nothing to start again from yet: the rest of the line is lost as well
	_, err := d.restOfLine(0)
	if err != nil && err != io.EOF {
		return doc, err
	}
	return doc, why
}

// restOfLine reads up to and with the end of the line and returns the first 80 bytes, after c.
func (d *documents) restOfLine(c byte) ([]byte, error) {
	kept := []byte{c}
	for {
		c, err := d.byte()
		if err != nil || c == '\n' {
			return kept, err
		}
		if len(kept) < 80 {
			kept = append(kept, c)
		}
	}
}

// byte reads one byte and keeps count of the lines.
func (d *documents) byte() (byte, error) {
	var c byte
	if len(d.back) > 0 {
		c, d.back = d.back[0], d.back[1:]
	} else {
		var err error
		if c, err = d.r.ReadByte(); err == io.EOF {
			return 0, io.EOF
		} else if err != nil {
			return 0, fmt.Errorf("reading S.M.A.R.T. reports: %w", err)
		}
	}
	if c == '\n' {
		d.line++
	}
	return c, nil
}

// unread makes b the next bytes to be read.
func (d *documents) unread(b []byte) {
	for _, c := range b {
		if c == '\n' {
			d.line--
		}
	}
	d.back = append(append(make([]byte, 0, len(b)+len(d.back)), b...), d.back...)
}
