package smart

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// maxDocument bounds one report. The largest real `smartctl -x -j` seen is below 300 KB; the bound keeps a stray file from
// filling the memory of a process that runs as root.
const maxDocument = 8 << 20

// maxDepth bounds the nesting; real reports have 8 levels. It also bounds how often damaged text is read again.
const maxDepth = 64

// What can be wrong with a piece of the input, without the reader being at fault.
var (
	errTooLarge  = errors.New("larger than 8 MiB, which no S.M.A.R.T. report is")
	errTruncated = errors.New("ends in the middle of a JSON document")
	errBroken    = errors.New("broken JSON")
	errNotJSON   = errors.New("not JSON: a report begins with '{'")
)

// documents cuts a stream into JSON objects: one, several one after the other, one per line, or the elements of one array.
//
// A broken object must not take the following ones with it. Objects are found by counting brackets; where that goes wrong,
// the damage ends at the next line that begins with '{', which is how both JSON Lines and printed documents begin.
type documents struct {
	r    *bufio.Reader
	back []byte // bytes that were read too far
	pos  int    // in back: what follows is to be read again
	line int    // of the next byte, from 1
}

func newDocuments(r io.Reader) *documents {
	return &documents{r: bufio.NewReaderSize(r, 1<<16), line: 1}
}

// next returns an object and the line where it begins. A broken piece comes with one of the errors above, io.EOF is the
// clean end, and any other error is the reader's own.
func (d *documents) next() (doc []byte, line int, err error) {
	for {
		b, err := d.peek()
		if err != nil {
			return nil, d.line, err
		}
		line := d.line
		switch b[0] {
		case ' ', '\t', '\r', '\n', ',', '[', ']', 0xef, 0xbb, 0xbf: // space, the brackets of an array of reports, a byte order mark
			d.take(1)
			continue
		case '{':
			doc, err := d.object()
			return doc, line, err
		}
		if err := d.skipLine(); err != nil {
			return nil, line, err
		}
		return nil, line, errNotJSON
	}
}

// object reads one object. The next byte is its '{'.
func (d *documents) object() ([]byte, error) {
	var (
		doc = make([]byte, 0, 16<<10)
		s   bracketScanner
	)
	for {
		chunk, err := d.peek()
		if errors.Is(err, io.EOF) {
			return nil, d.recover(doc, errTruncated)
		}
		if err != nil {
			return nil, err
		}
		n, done, why := s.scan(chunk)
		doc = append(doc, d.take(n)...)
		switch {
		case why != nil:
			return nil, d.recover(doc, why)
		case done:
			return doc, nil
		case len(doc) > maxDocument:
			return nil, d.recover(doc, errTooLarge)
		}
	}
}

// recover gives back everything from the first line in doc, but its own, that begins with '{'; without one the rest of the
// current line is lost too. It returns why, or the reader's error.
func (d *documents) recover(doc []byte, why error) error {
	if i := bytes.Index(doc, []byte("\n{")); i >= 0 {
		d.unread(doc[i+1:])
		return why
	}
	if len(doc) > 0 && doc[len(doc)-1] == '\n' {
		return why
	}
	if err := d.skipLine(); err != nil {
		return err
	}
	return why
}

// skipLine reads up to and with the end of the line, or of the input.
func (d *documents) skipLine() error {
	for {
		b, err := d.peek()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if i := bytes.IndexByte(b, '\n'); i >= 0 {
			d.take(i + 1)
			return nil
		}
		d.take(len(b))
	}
}

// peek returns what can be read without waiting, at least one byte. It is valid up to the next call.
func (d *documents) peek() ([]byte, error) {
	if d.pos < len(d.back) {
		return d.back[d.pos:], nil
	}
	_, err := d.r.Peek(1)
	if errors.Is(err, io.EOF) {
		return nil, io.EOF
	}
	if err != nil {
		return nil, fmt.Errorf("reading S.M.A.R.T. reports: %w", err)
	}
	b, _ := d.r.Peek(d.r.Buffered()) // what is buffered is there
	return b, nil
}

// take moves on by n bytes of what peek returned, and returns them.
func (d *documents) take(n int) []byte {
	var b []byte
	if d.pos < len(d.back) {
		b = d.back[d.pos : d.pos+n]
		d.pos += n
	} else {
		d.back, d.pos = nil, 0
		b, _ = d.r.Peek(n) // peek has just returned them
		_, _ = d.r.Discard(n)
	}
	d.line += bytes.Count(b, []byte{'\n'})
	return b
}

// unread makes b, the last bytes that were taken, the next ones again.
func (d *documents) unread(b []byte) {
	d.line -= bytes.Count(b, []byte{'\n'})
	if len(b) <= d.pos { // they all came from back
		d.pos -= len(b)
		return
	}
	d.back, d.pos = append(bytes.Clone(b), d.back[d.pos:]...), 0
}

// bracketScanner finds the end of a JSON object by its brackets, and the places where it cannot be JSON any more. It is no
// validator: encoding/json is.
type bracketScanner struct {
	open     []byte // brackets that are open
	prev     byte   // last byte that is neither space nor inside a string
	newLine  bool   // the last byte ended a line
	inString bool
	escaped  bool
}

// scan reads b and returns how many bytes of it belong to the object, whether that is all of it, and what is wrong.
func (s *bracketScanner) scan(b []byte) (n int, done bool, err error) {
	for i, c := range b {
		if s.inString {
			if err := s.stringByte(c); err != nil {
				return i + 1, false, err
			}
			continue
		}
		newLine := s.newLine
		s.newLine = c == '\n'
		switch c {
		case ' ', '\t', '\r', '\n':
			continue
		case '"':
			s.inString = true
		case '{', '[':
			if c == '{' && newLine && !s.objectMayFollow() {
				return i + 1, false, errTruncated // and the next one begins here
			}
			if s.open = append(s.open, c); len(s.open) > maxDepth {
				return i + 1, false, errBroken
			}
		case '}', ']':
			if len(s.open) == 0 || s.open[len(s.open)-1] != c-2 { // '{' and '}', '[' and ']' are two apart
				return i + 1, false, errBroken
			}
			if s.open = s.open[:len(s.open)-1]; len(s.open) == 0 {
				return i + 1, true, nil
			}
		}
		s.prev = c
	}
	return len(b), false, nil
}

func (s *bracketScanner) stringByte(c byte) error {
	switch {
	case c == '\n': // never inside a JSON string: it was cut off
		return errTruncated
	case s.escaped:
		s.escaped = false
	case c == '\\':
		s.escaped = true
	case c == '"':
		s.inString, s.prev = false, '"'
	}
	return nil
}

// objectMayFollow says whether JSON allows an object here.
func (s *bracketScanner) objectMayFollow() bool {
	switch {
	case len(s.open) == 0:
		return true
	case s.open[len(s.open)-1] == '[':
		return s.prev == '[' || s.prev == ','
	}
	return s.prev == ':'
}
