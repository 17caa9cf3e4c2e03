package blockdev

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var ignoreTime = cmpopts.IgnoreFields(Counters{}, "At")

func TestReadCounters(t *testing.T) {
	base := Counters{
		ReadIOs: 10, ReadBytes: 30 * 512, ReadTime: 40 * time.Millisecond,
		WriteIOs: 50, WriteBytes: 70 * 512, WriteTime: 80 * time.Millisecond, InFlight: 9, Busy: 100 * time.Millisecond,
	}
	discards := base
	discards.DiscardIOs, discards.DiscardBytes = 12, 14*512
	flushes := discards
	flushes.FlushIOs = 16
	negative := base
	negative.InFlight = 0
	tests := []struct {
		story, stat string
		want        Counters
		fails       bool
	}{
		{"11 numbers, before Linux 4.18", "  10  20 30 40 50 60 70 80 9 100 110", base, false},
		{"15 numbers, with discards", "10 20 30 40 50 60 70 80 9 100 110 12 13 14 15", discards, false},
		{"17 numbers, with flushes", "10 20 30 40 50 60 70 80 9 100 110 12 13 14 15 16 17", flushes, false},
		{"numbers of a kernel to come", "10 20 30 40 50 60 70 80 9 100 110 12 13 14 15 16 17 18 19", flushes, false},
		{"in flight slipped below zero", "10 20 30 40 50 60 70 80 4294967295 100 110", negative, false},
		{"too few", "10 20 30", Counters{}, true},
		{"empty", "", Counters{}, true},
		{"no numbers", "10 20 30 forty 50 60 70 80 9 100 110", Counters{}, true},
	}
	for _, tc := range tests {
		t.Run(tc.story, func(t *testing.T) {
			x := newTree(t)
			x.sata("sda", 0, 0)
			x.file("class/block/sda/stat", tc.stat)
			got, err := Read(x.roots(), "sda")
			if (err != nil) != tc.fails {
				t.Fatalf("err = %v", err)
			}
			if d := cmp.Diff(tc.want, got, ignoreTime); d != "" {
				t.Errorf("-want +got\n%s", d)
			}
			if err == nil && got.At.IsZero() {
				t.Error("At is zero")
			}
		})
	}
}

func TestReadCountersOfAPartitionAndInBothPlaces(t *testing.T) {
	x := newTree(t)
	x.sata("sda", 0, 1)
	x.file("class/block/sda1/stat", "1 0 0 0 0 0 0 0 0 0 0")
	x.file("block/vda/stat", "2 0 0 0 0 0 0 0 0 0 0")
	for name, want := range map[string]uint64{"sda1": 1, "vda": 2} {
		if c, err := Read(x.roots(), name); err != nil || c.ReadIOs != want {
			t.Errorf("Read(%s) = %d reads, %v; want %d", name, c.ReadIOs, err, want)
		}
	}
}

func TestReadCountersOfWhatIsNotThere(t *testing.T) {
	x := newTree(t)
	if _, err := Read(x.roots(), "sdz"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("err = %v, want fs.ErrNotExist", err)
	}
	if _, err := Read(Roots{Sysfs: filepath.Join(x.root, "absent")}, "sda"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no sysfs: err = %v, want fs.ErrNotExist", err)
	}
	x.file("secret/stat", "1 2 3 4 5 6 7 8 9 10 11")
	for _, name := range []string{"", "..", "../../secret", "sda/../../../secret"} {
		if c, err := Read(x.roots(), name); err == nil {
			t.Errorf("Read(%q) = %+v, want an error", name, c)
		}
	}
}

func TestSub(t *testing.T) {
	at := time.Unix(1000, 0)
	before := Counters{
		At: at, ReadIOs: 5, WriteIOs: 6, DiscardIOs: 1, FlushIOs: 2, ReadBytes: 500, WriteBytes: 600, DiscardBytes: 7,
		ReadTime: time.Second, WriteTime: 2 * time.Second, Busy: time.Second, InFlight: 3,
	}
	t.Run("what happened in between", func(t *testing.T) {
		after := Counters{
			At: at.Add(time.Minute), ReadIOs: 15, WriteIOs: 7, DiscardIOs: 4, FlushIOs: 2, ReadBytes: 900, WriteBytes: 601, DiscardBytes: 8,
			ReadTime: 3 * time.Second, WriteTime: 2 * time.Second, Busy: 1500 * time.Millisecond, InFlight: 1,
		}
		want := Counters{
			At: at.Add(time.Minute), ReadIOs: 10, WriteIOs: 1, DiscardIOs: 3, ReadBytes: 400, WriteBytes: 1, DiscardBytes: 1,
			ReadTime: 2 * time.Second, Busy: 500 * time.Millisecond, InFlight: 1,
		}
		if d := cmp.Diff(want, after.Sub(before)); d != "" {
			t.Errorf("-want +got\n%s", d)
		}
	})
	t.Run("32-bit milliseconds started again", func(t *testing.T) {
		old := before
		old.Busy = tickWrap - 10*time.Millisecond
		now := before
		now.Busy = 5 * time.Millisecond
		if got := now.Sub(old).Busy; got != 15*time.Millisecond {
			t.Errorf("busy = %v, want 15ms", got)
		}
	})
	// One count that fell tells that all started again, whatever the others have reached since.
	for story, fall := range map[string]func(*Counters){
		"reads":         func(c *Counters) { c.ReadIOs = 0 },
		"writes":        func(c *Counters) { c.WriteIOs = 0 },
		"discards":      func(c *Counters) { c.DiscardIOs = 0 },
		"flushes":       func(c *Counters) { c.FlushIOs = 0 },
		"bytes read":    func(c *Counters) { c.ReadBytes = 0 },
		"bytes written": func(c *Counters) { c.WriteBytes = 0 },
		"discarded":     func(c *Counters) { c.DiscardBytes = 0 },
	} {
		t.Run("device was plugged in again: fewer "+story, func(t *testing.T) {
			now := before.Add(before)
			now.At, now.InFlight = at.Add(time.Hour), 2
			fall(&now)
			if d := cmp.Diff(Counters{At: now.At, InFlight: 2}, now.Sub(before)); d != "" {
				t.Errorf("-want +got\n%s", d)
			}
		})
	}
}

func TestAddSumsLeaves(t *testing.T) {
	at := time.Unix(1000, 0)
	a := Counters{
		At: at, ReadIOs: 1, WriteIOs: 2, DiscardIOs: 3, FlushIOs: 4, ReadBytes: 5, WriteBytes: 6, DiscardBytes: 7,
		ReadTime: 8, WriteTime: 9, Busy: 10, InFlight: 11,
	}
	b := a
	b.At = at.Add(time.Second)
	want := Counters{
		At: b.At, ReadIOs: 2, WriteIOs: 4, DiscardIOs: 6, FlushIOs: 8, ReadBytes: 10, WriteBytes: 12, DiscardBytes: 14,
		ReadTime: 16, WriteTime: 18, Busy: 20, InFlight: 22,
	}
	if d := cmp.Diff(want, a.Add(b)); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	if d := cmp.Diff(want, b.Add(a)); d != "" {
		t.Errorf("in the other order: -want +got\n%s", d)
	}
}

func FuzzReadCounters(f *testing.F) {
	f.Add([]byte("10 20 30 40 50 60 70 80 9 100 110 12 13 14 15 16 17\n"))
	f.Add([]byte("18446744073709551615 20 18446744073709551615 18446744073709551615 50 60 70 80 18446744073709551615 100 110"))
	f.Add([]byte("-1 \x00"))
	x := newTree(f)
	x.sata("sda", 0, 0)
	file := filepath.Join(x.root, "class/block/sda/stat")
	f.Fuzz(func(t *testing.T, stat []byte) {
		if err := os.WriteFile(file, stat, 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := Read(x.roots(), "sda")
		if err != nil {
			if d := cmp.Diff(Counters{}, c); d != "" {
				t.Errorf("an error and counters:\n%s", d)
			}
			return
		}
		if c.ReadTime < 0 || c.WriteTime < 0 || c.Busy < 0 || c.InFlight < 0 || c.InFlight > math.MaxInt32 {
			t.Errorf("negative or absurd: %+v", c)
		}
		if d := cmp.Diff(Counters{At: c.At, InFlight: c.InFlight}, c.Sub(c)); d != "" {
			t.Errorf("c - c: %s", d)
		}
	})
}
