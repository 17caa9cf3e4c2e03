package ledger

import (
	"errors"
	"testing"

	"ssd_exporter/blockdev"
)

func TestWhatAPersonAgreedToIsChargedBeyondTheAllowanceButNotOwed(t *testing.T) {
	for _, c := range []struct {
		name                     string
		purpose                  Purpose
		reserved, written        int64
		during, after, accounted int64
	}{
		{"within what is left, all written", Probe, 100, 100, 150, 150, 100},
		{"within what is left, half written: the rest comes back", Probe, 100, 50, 150, 200, 50},
		{"beyond: the bucket is empty, not in debt", Probe, 5000, 5000, 0, 0, 5000},
		{"beyond, little written: the bucket pays for that alone", Sweep, 5000, 40, 0, 210, 40},
		{"beyond, nothing written", Probe, 5000, 0, 0, 250, 0},
		{"a fill by hand", Fill, 5000, 4000, 0, 0, 4000},
		{"an overrun is told as written", Probe, 100, 130, 150, 150, 130},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := open(t) // a new disk has a quarter of 1000 a day
			r, err := l.ReserveAgreed(disk("d", 1000), c.purpose, c.reserved, at(0))
			if err != nil {
				t.Fatal(err)
			}
			if got := remaining(t, l, "d", 1000, at(0)); got != c.during {
				t.Errorf("%d bytes left during the run, want %d", got, c.during)
			}
			err = r.Settle(c.written, at(0))
			if overrun := c.written > c.reserved; errors.Is(err, ErrOverrun) != overrun || !overrun && err != nil {
				t.Errorf("settling: %v", err)
			}
			if got := remaining(t, l, "d", 1000, at(0)); got != c.after {
				t.Errorf("%d bytes left after, want %d", got, c.after)
			}
			if got := written(t, l, "d", c.purpose); got != c.accounted {
				t.Errorf("%d bytes accounted, want %d", got, c.accounted)
			}
		})
	}
}

func TestAFillByHandLeavesTheServicesFillAllowanceAlone(t *testing.T) {
	l := open(t)
	r, err := l.ReserveAgreed(disk("d", 1000), Fill, 500, at(0))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Settle(500, at(0)); err != nil {
		t.Fatal(err)
	}
	if _, err := l.ReserveFill([]blockdev.ID{"d"}, "data", 500, at(0)); err != nil {
		t.Errorf("the service may not fill its file afterwards: %v", err)
	}
}

func TestADiskThatIsNeverWrittenToIsNotWrittenByHandEither(t *testing.T) {
	l := open(t)
	_, err := l.ReserveAgreed(append(disk("a", 1000), disk("mmc", 0)...), Probe, 10, at(0))
	if !errors.Is(err, ErrBudget) {
		t.Errorf("error %v, want ErrBudget", err)
	}
	if got := remaining(t, l, "a", 1000, at(0)); got != 250 {
		t.Errorf("the other disk was charged: %d left, want 250", got)
	}
}
