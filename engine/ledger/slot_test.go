package ledger

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func fullSlot() slot {
	s := slot{seq: 7, tokens: -3, fraction: uint64(day) - 1, refilled: at(0).UnixNano(), latest: at(1).UnixNano(), perDay: 2e9, written: [3]int64{1, 2, 3}}
	for i := range maxFills {
		s.fills = append(s.fills, fill{key: uint64(i) << 60, first: uint32(i), deaths: uint16(i), open: i%2 == 0, size: 1 << 31, written: 9})
	}
	return s
}

func TestASlotSurvivesEncoding(t *testing.T) {
	for name, s := range map[string]slot{"new": newSlot(), "full": fullSlot(), "lost": lostSlot(5)} {
		t.Run(name, func(t *testing.T) {
			b := s.encode()
			if len(b) != slotSize {
				t.Fatalf("a slot takes %d bytes, want %d", len(b), slotSize)
			}
			got, err := decode(b)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(s, got, cmp.AllowUnexported(slot{}, fill{})); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestASlotWithAnyBitFlippedIsBad(t *testing.T) {
	good := fullSlot().encode()
	for bit := range len(good) * 8 {
		b := bytes.Clone(good)
		b[bit/8] ^= 1 << (bit % 8)
		if _, err := decode(b); err == nil {
			t.Fatalf("bit %d flipped and the slot is still taken for good", bit)
		}
	}
}

func TestATornWriteLeavesTheOtherSlot(t *testing.T) {
	l := open(t)
	r, err := l.Reserve(disk("d", 1000), Probe, 100, at(0)) // slot 0 or 1, then the other
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Settle(40, at(0)); err != nil { // in force: 40 written; the other slot: 100 written
		t.Fatal(err)
	}
	path := filepath.Join(l.dir, "d"+suffix)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	first, err := decode(whole[:slotSize])
	if err != nil {
		t.Fatal(err)
	}
	second, err := decode(whole[slotSize:])
	if err != nil {
		t.Fatal(err)
	}
	start := 0 // of the newer slot: the one being written when the power went
	if second.seq > first.seq {
		start = slotSize
	}
	for n := range slotSize {
		torn := bytes.Clone(whole)
		torn[start+n] ^= 0xff
		if err := os.WriteFile(path, torn, 0o600); err != nil {
			t.Fatal(err)
		}
		if got := written(t, l, "d", Probe); got != 100 {
			t.Fatalf("byte %d of the newer slot torn: %d bytes on the account, want the older slot's 100", n, got)
		}
	}
}

func TestARecordCutAnywhereKeepsASlotOrRestartsEmpty(t *testing.T) {
	l := open(t)
	if _, err := l.Reserve(disk("d", 1000), Probe, 100, at(0)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(l.dir, "d"+suffix)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for n := range len(whole) {
		if err := os.WriteFile(path, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		a, err := l.Account("d", 1000, at(0))
		if err != nil {
			t.Fatalf("cut to %d bytes: %v", n, err)
		}
		want := int64(0)
		if n >= slotSize {
			want = 250 // the first slot: the record as it was made
			if s, err := decode(whole[:slotSize]); err != nil || s.written[0] > 0 {
				want = 150
			}
		}
		if a.Remaining != want {
			t.Fatalf("cut to %d bytes: %d bytes remain, want %d", n, a.Remaining, want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(newSlot().encode())
	f.Add(fullSlot().encode())
	f.Add(make([]byte, slotSize))
	f.Add([]byte(slotMagic))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) == slotSize { // let the fuzzer past the checksum
			b = bytes.Clone(b)
			binary.LittleEndian.PutUint32(b[crcOffset:], checksum(b))
		}
		s, err := decode(b)
		if err != nil {
			return
		}
		// Whatever was accepted must be usable without a panic or an overflow into a larger allowance.
		s.refill(1000, at(0))
		if s.tokens > 1000 {
			t.Fatalf("%d bytes available of 1000 a day", s.tokens)
		}
		_ = s.takeFill(1, 1<<40, at(0), false)
		s.settleFill(1, 1<<39, 1<<39)
		if _, err := decode(s.encode()); err != nil {
			t.Fatalf("an accepted slot cannot be stored again: %v", err)
		}
	})
}
