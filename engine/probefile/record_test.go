package probefile

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestARecordThatContradictsItselfProvesNothing(t *testing.T) {
	good := record{Format: 1, UUID: newUUID(), Inode: 5, Size: 4 << 20, Position: 4 << 20, FilledAt: 9, Created: 8}
	b, err := encodeRecord(good)
	must(t, err)
	if got, err := parseRecord(b); err != nil || got != good {
		t.Fatalf("%+v, %v", got, err)
	}
	for name, spoil := range map[string]func(*record){
		"format 0":                 func(r *record) { r.Format = 0 },
		"no UUID":                  func(r *record) { r.UUID = "" },
		"UUID in capitals":         func(r *record) { r.UUID = strings.ToUpper("abcdef01-0000-4000-8000-000000000000") },
		"no size":                  func(r *record) { r.Size, r.Position = 0, 0 },
		"negative size":            func(r *record) { r.Size = -1 << 20 },
		"size of odd bytes":        func(r *record) { r.Size, r.Position = 4<<20+1, 4<<20+1 },
		"position behind the end":  func(r *record) { r.Position = 5 << 20 },
		"negative position":        func(r *record) { r.Position = -1 << 20; r.FilledAt = 0 },
		"filled before the end":    func(r *record) { r.Position = 3 << 20 },
		"filled and never created": func(r *record) { r.Inode = 0 },
		"filled before 1970":       func(r *record) { r.FilledAt = -1 },
		"created before 1970":      func(r *record) { r.Created = -1 },
	} {
		r := good
		spoil(&r)
		b, err := encodeRecord(r)
		must(t, err)
		if _, err := parseRecord(b); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	for name, text := range map[string]string{
		"an unknown key":   strings.Replace(string(b), "{", `{"more": 1,`, 1),
		"a cut record":     string(b[:len(b)/2]),
		"a list":           "[]",
		"null":             "null",
		"a negative inode": strings.Replace(string(b), `"inode": 5`, `"inode": -5`, 1),
	} {
		if _, err := parseRecord([]byte(text)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func FuzzParseRecord(f *testing.F) {
	b, err := encodeRecord(record{Format: 1, UUID: newUUID(), Inode: 5, Birth: 6, Size: 4 << 20, Position: 4 << 20, FilledAt: 9, Created: 8, Extents: extentsVerified})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte(`{"format":1}`))
	f.Add([]byte(`{"format":2,"uuid":7}`))
	f.Add([]byte(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := parseRecord(b)
		if err != nil {
			return
		}
		if r.Size < blockSize || r.Position < 0 || r.Position > r.Size || r.filled() && r.Position != r.Size {
			t.Fatalf("accepted %+v", r)
		}
		again, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if same, err := parseRecord(again); err != nil || same != r {
			t.Fatalf("%+v does not survive: %+v, %v", r, same, err)
		}
	})
}
