package smart

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// ErrNoReport says that an input held nothing at all.
var ErrNoReport = errors.New("holds no S.M.A.R.T. report")

// Decode reads smartctl JSON (`smartctl -x -j`) or nvme-cli JSON (`nvme smart-log -o json`): one document, several, an
// array of them, or JSON Lines, plain or gzip, and calls each once for every report, in input order.
//
// A report that cannot be understood is passed with a *ReadError that names source, position and cause, and does not stop
// the rest; the Reading beside it is nil, or holds the identity when that much was readable. smartctl's own complaints
// (exit status bits 0 and 1, or a report of nothing but messages) are such errors; bits 2 to 7 are findings in
// Reading.Messages. A disk that smartctl left asleep gives a Reading with nothing but identity and PowerState.
//
// source becomes Reading.Source. Decode returns the error of each, the reader's, or one that wraps ErrNoReport.
func Decode(r io.Reader, source string, each func(*Reading, error) error) error {
	r, err := plain(r)
	if err != nil {
		return fmt.Errorf("%s: %w", source, err)
	}
	docs := newDocuments(r)
	for n := 1; ; n++ {
		doc, line, err := docs.next()
		if errors.Is(err, io.EOF) {
			if n == 1 {
				return fmt.Errorf("%s %w: expected the output of smartctl -x -j", source, ErrNoReport)
			}
			return nil
		}
		var reading *Reading
		switch {
		case err == nil:
			reading, err = decodeDocument(doc, source)
		case !isDamage(err):
			return fmt.Errorf("%s: after %d reports: %w", source, n-1, err)
		}
		if err != nil {
			err = locate(err, fmt.Sprintf("%s: report %d (line %d)", source, n, line))
		}
		if err := each(reading, err); err != nil {
			return err
		}
	}
}

// plain unpacks gzip, which is known by its first two bytes.
func plain(r io.Reader) (io.Reader, error) {
	b := bufio.NewReader(r)
	magic, err := b.Peek(2)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("reading S.M.A.R.T. reports: %w", err)
	}
	if !bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		return b, nil
	}
	z, err := gzip.NewReader(b)
	if err != nil {
		return nil, fmt.Errorf("reading gzip: %w", err)
	}
	return z, nil
}

// isDamage tells a broken document from a broken reader.
func isDamage(err error) bool {
	return errors.Is(err, errTooLarge) || errors.Is(err, errTruncated) || errors.Is(err, errBroken) || errors.Is(err, errNotJSON)
}

// locate makes a ReadError of err that names where it was.
func locate(err error, where string) error {
	if re, ok := errors.AsType[*ReadError](err); ok {
		re.Disk = where
		return re
	}
	return &ReadError{Disk: where, Reason: Parse, Err: err}
}

// decodeDocument makes a Reading of one JSON object.
func decodeDocument(doc []byte, source string) (*Reading, error) {
	var rep report
	odd, err := unmarshal(doc, &rep)
	if err != nil {
		return nil, err
	}
	if rep.Smartctl == nil && rep.Device == nil && rep.NVMe == nil && rep.Attributes == nil {
		if r, ok := decodeNVMeCLI(doc); ok {
			r.Source = source
			return r, nil
		}
	}
	r := rep.reading()
	r.Source = source
	r.Messages = append(r.Messages, odd...)
	if err := rep.failure(r); err != nil {
		return r, err
	}
	return r, nil
}

// unmarshal is json.Unmarshal that goes on after a field of an unexpected type and names it instead of failing.
func unmarshal(doc []byte, v any) (odd []string, err error) {
	err = json.Unmarshal(doc, v)
	if t, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return []string{fmt.Sprintf("%s%q is a %s and was not understood", oddField, t.Field, t.Value)}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("decoding JSON: %w", err)
	}
	return nil, nil
}

// oddField begins a message about a field of unexpected type; Interpret lists such messages as errors.
const oddField = "report: field "

// decodeNVMeCLI reads the flat object of nvme-cli. It is known by its Percentage Used beside another field of the log.
func decodeNVMeCLI(doc []byte) (*Reading, bool) {
	var c nvmeCLI
	if _, err := unmarshal(doc, &c); err != nil {
		return nil, false
	}
	if c.PercentUsed == "" {
		c.PercentUsed = c.PercentageUsed
	}
	if c.PercentUsed == "" || c.UnitsWritten == "" && c.Spare == "" && c.CriticalWarning == "" {
		return nil, false
	}
	l := nvmeHealth{
		CriticalWarning: c.CriticalWarning, Spare: c.Spare, SpareThreshold: c.SpareThreshold,
		PercentageUsed: c.PercentUsed, UnitsRead: c.UnitsRead, UnitsWritten: c.UnitsWritten, HostReads: c.HostReads,
		HostWrites: c.HostWrites, BusyMinutes: c.BusyMinutes, PowerCycles: c.PowerCycles, PowerOnHours: c.PowerOnHours,
		UnsafeShutdowns: c.UnsafeShutdowns, MediaErrors: c.MediaErrors, ErrorEntries: c.ErrorEntries,
		WarningMinutes: c.WarningMinutes, CriticalMinutes: c.CriticalMinutes, Throttle1: c.Throttle1, Throttle2: c.Throttle2,
	}.log()
	if t := c.Temperature.int(); t != nil && *t > 0 {
		l.Temperature = t
	}
	sensors := []number{c.Sensor1, c.Sensor2, c.Sensor3, c.Sensor4, c.Sensor5, c.Sensor6, c.Sensor7, c.Sensor8}
	for i, s := range sensors {
		if k := s.int(); k != nil && *k > 0 {
			for len(l.Sensors) <= i {
				l.Sensors = append(l.Sensors, 0)
			}
			l.Sensors[i] = *k
		}
	}
	r := &Reading{Protocol: protocolNVMe, NVMe: l}
	r.Identity.Transport = "nvme"
	return r, true
}

// failure is why a document holds no reading: smartctl failed, or there is nothing in it. It is nil for a sleeping disk.
func (rep *report) failure(r *Reading) error {
	var texts []string
	var status uint64
	if s := rep.Smartctl; s != nil {
		if u := s.ExitStatus.uint(); u != nil {
			status = *u
		}
		for _, m := range s.Messages {
			texts = append(texts, strings.TrimSpace(m.String))
		}
	}
	said := strings.Join(texts, "; ")
	fatal := status&(exitCommandLine|exitOpen) != 0
	switch {
	case (fatal || !r.hasData()) && leftAsleep(r, said):
		return nil
	case fatal && said == "":
		return &ReadError{
			Reason: Other, Err: fmt.Errorf("smartctl failed with exit status %d and said nothing", status),
			Fix: "run the same smartctl command by hand",
		}
	case fatal:
		reason, fix := complaint(said)
		return &ReadError{Reason: reason, Fix: fix, Err: fmt.Errorf("smartctl failed with exit status %d: %s", status, said)}
	case r.hasData():
		return nil
	case said != "":
		reason, fix := complaint(said)
		return &ReadError{Reason: reason, Fix: fix, Err: fmt.Errorf("smartctl read no S.M.A.R.T. data: %s", said)}
	case rep.Smartctl != nil || rep.Device != nil:
		return &ReadError{
			Reason: Unsupported, Err: errors.New("the report holds no S.M.A.R.T. data"),
			Fix: "use smartctl -x -j; a disk behind a RAID controller or a USB bridge may need -d",
		}
	}
	return &ReadError{Reason: Parse, Err: errors.New("JSON, but not a S.M.A.R.T. report"), Fix: "use the output of smartctl -x -j"}
}

// Bits of smartctl's exit status (smartctl(8), EXIT STATUS).
const (
	exitCommandLine = 1 << 0
	exitOpen        = 1 << 1
)

// exitFindings are the bits that come with valid data.
func exitFindings() []string {
	return []string{
		2: "a S.M.A.R.T. or other ATA command to the disk failed, or there was a checksum error",
		3: "the disk says that it is failing",
		4: "prefail attributes are at or below their threshold",
		5: "attributes were at or below their threshold in the past",
		6: "the disk's error log holds errors",
		7: "the disk's self-test log holds errors",
	}
}

// leftAsleep recognises a disk that smartctl -n did not want to wake, and notes it.
func leftAsleep(r *Reading, said string) bool {
	if r.PowerState == "standby" || r.PowerState == "sleep" {
		return true
	}
	if strings.HasPrefix(said, "Device is in ") || strings.Contains(said, "; Device is in ") {
		switch {
		case strings.Contains(said, "STANDBY"):
			r.PowerState = "standby"
		case strings.Contains(said, "SLEEP"):
			r.PowerState = "sleep"
		}
	}
	return r.PowerState != ""
}

// complaint sorts what smartctl said into the closed set of reasons, with what to do about it.
func complaint(said string) (Reason, string) {
	s := strings.ToLower(said)
	has := func(parts ...string) bool {
		for _, p := range parts {
			if strings.Contains(s, p) {
				return true
			}
		}
		return false
	}
	switch {
	case has("permission denied", "operation not permitted", "error=5"):
		return Permission, "run smartctl as root, or with CAP_SYS_RAWIO (SATA, SAS) and CAP_SYS_ADMIN (NVMe)"
	case has("unable to detect device type", "unknown usb bridge", "unsupported", "not supported", "lacks smart", "unavailable"):
		return Unsupported, "a disk behind a RAID controller or a USB bridge may need smartctl -d"
	case has("timeout", "timed out"):
		return Timeout, ""
	case has("no such device", "no such file", "input/output error", "i/o error", "identify device", "read device identity"):
		return IO, ""
	}
	return Other, "run the same smartctl command by hand"
}
