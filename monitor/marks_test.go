package monitor

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"ssd_exporter/monitor/history"
	"ssd_exporter/smart"
)

func TestMarks(t *testing.T) {
	type poll struct {
		raw    uint64
		source string
		want   uint64
	}
	const tb = 1_000_000_000_000
	for name, c := range map[string]struct {
		polls       []poll
		corrections uint64
	}{
		"rising":                      {[]poll{{100, "a", 100}, {150, "a", 150}, {150, "a", 150}}, 0},
		"slips back and catches up":   {[]poll{{1000, "a", 1000}, {990, "a", 1000}, {995, "a", 1000}, {1010, "a", 1010}}, 1},
		"slips twice":                 {[]poll{{1000, "a", 1000}, {990, "a", 1000}, {1001, "a", 1001}, {999, "a", 1001}}, 2},
		"one wild reading":            {[]poll{{50 * tb, "a", 50 * tb}, {20 * tb, "a", 50 * tb}, {50*tb + 5, "a", 50*tb + 5}}, 1},
		"true reset":                  {[]poll{{50 * tb, "a", 50 * tb}, {1000, "a", 1000}, {2000, "a", 2000}}, 0},
		"another unit, much more":     {[]poll{{1 * tb, "241 × 512 B", 1 * tb}, {50 * tb, "241 × 32 MiB", 1 * tb}, {50*tb + 7, "241 × 32 MiB", 1*tb + 7}}, 1},
		"another unit, much less":     {[]poll{{50 * tb, "x", 50 * tb}, {1 * tb, "y", 50 * tb}, {1*tb + 7, "y", 50*tb + 7}}, 1},
		"the source goes and returns": {[]poll{{100, "x", 100}, {7000, "y", 100}, {7010, "y", 110}, {112, "x", 110}, {115, "x", 113}}, 2},
		"slips back after another unit, much less": {[]poll{
			{50 * tb, "x", 50 * tb}, {tb / 10, "y", 50 * tb}, {tb/10 - 5, "y", 50 * tb}, {tb/10 + 7, "y", 50*tb + 7},
		}, 2},
		"true reset after another unit": {[]poll{{50 * tb, "x", 50 * tb}, {tb / 10, "y", 50 * tb}, {tb / 10_000, "y", tb / 10_000}}, 1},
		"wrapped at 2^32 sectors, counted on after a while": {[]poll{
			{2 * tb, "a", 2 * tb},
			{tb / 10, "a", 2 * tb},
			{tb/10 + 1, "a", 2 * tb},
			{tb/10 + 2, "a", 2 * tb},
			{tb/10 + 3, "a", 2 * tb},
			{tb/10 + 4, "a", 2 * tb},
			{tb/10 + 5, "a", 2 * tb},
			{tb/10 + 9, "a", 2*tb + 4},
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMarks(history.Marks{})
			for i, p := range c.polls {
				if got := m.observe("host_written", p.raw, p.source); got != p.want {
					t.Errorf("poll %d of %d: %d, want %d", i, p.raw, got, p.want)
				}
			}
			if n := m.Corrections["host_written"]; n != c.corrections {
				t.Errorf("%d corrections, want %d", n, c.corrections)
			}
		})
	}
}

func TestMarksSurviveARestart(t *testing.T) {
	m := newMarks(history.Marks{})
	m.observe("host_read", 1000, "x")
	m.observe("host_read", 20, "y") // counted on at 1000
	again := newMarks(m.saved())
	if got := again.observe("host_read", 25, "y"); got != 1005 {
		t.Errorf("%d, want 1005", got)
	}
	if d := cmp.Diff(uint64(1), again.Corrections["host_read"]); d != "" {
		t.Error(d)
	}
}

func TestHoldLeavesTheReadingAlone(t *testing.T) {
	m := newMarks(history.Marks{})
	m.hold(&smart.Health{HostWritten: new(uint64(1000))})
	h := &smart.Health{HostWritten: new(uint64(900))}
	held := m.hold(h)
	if *h.HostWritten != 900 || *held.HostWritten != 1000 {
		t.Errorf("reading %d, published %d", *h.HostWritten, *held.HostWritten)
	}
	if held.HostRead != nil || held.MediaWritten != nil {
		t.Error("unknown counters became known")
	}
}
