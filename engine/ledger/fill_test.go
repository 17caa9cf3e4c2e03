package ledger

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"ssd_exporter/blockdev"
)

func TestAFillHasAnAllowanceOfItsOwn(t *testing.T) {
	const size = 1 << 30
	l := open(t)
	ids := []blockdev.ID{"d"}
	reserve := func(target string, now time.Time) (*Reservation, error) { return l.ReserveFill(ids, target, size, now) }

	r, err := reserve("data", at(0))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := reserve("data", at(0)); !errors.Is(err, ErrBudget) {
		t.Errorf("while it is under way: %v, want ErrBudget", err)
	}
	if err := r.Settle(size, at(0)); err != nil {
		t.Fatal(err)
	}
	if got := remaining(t, l, "d", 1000, at(0)); got != 250 {
		t.Errorf("the fill took from the daily allowance: %d bytes remain, want 250", got)
	}
	if got := written(t, l, "d", Fill); got != size {
		t.Errorf("%d bytes count as filled, want %d", got, size)
	}
	if _, err := reserve("data", at(30*day-time.Second)); !errors.Is(err, ErrBudget) {
		t.Errorf("a second before 30 days: %v, want ErrBudget", err)
	}
	if _, err := reserve("other", at(0)); err != nil {
		t.Errorf("another target of the disk: %v", err)
	}
	if _, err := reserve("data", at(30*day)); err != nil {
		t.Errorf("after 30 days: %v", err)
	}
}

func TestAFillCutShortMayBeContinuedAFewTimes(t *testing.T) {
	const size, mib = 1 << 30, 1 << 20
	ids := []blockdev.ID{"d"}
	t.Run("settled with less", func(t *testing.T) {
		l := open(t)
		r, err := l.ReserveFill(ids, "data", size, at(0))
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Settle(400*mib, at(0)); err != nil {
			t.Fatal(err)
		}
		r, err = l.ReserveFill(ids, "data", size-400*mib, at(time.Hour))
		if err != nil {
			t.Fatalf("continuing: %v", err)
		}
		if err := r.Settle(size-400*mib, at(time.Hour)); err != nil {
			t.Fatal(err)
		}
		if got := written(t, l, "d", Fill); got != size {
			t.Errorf("%d bytes count as filled, want %d", got, size)
		}
		if _, err := l.ReserveFill(ids, "data", size, at(time.Hour)); !errors.Is(err, ErrBudget) {
			t.Errorf("when it is full: %v, want ErrBudget", err)
		}
	})
	t.Run("died again and again", func(t *testing.T) {
		dir := open(t).dir
		for i := range fillDeaths + 1 {
			l, err := Open(dir) // a new process
			if err != nil {
				t.Fatal(err)
			}
			if _, err := l.ReserveFill(ids, "data", size, at(0)); err != nil {
				t.Fatalf("attempt %d: %v", i+1, err)
			}
			if got := written(t, l, "d", Fill); got != int64(i+1)*size {
				t.Errorf("after attempt %d %d bytes count as filled: what a dead process reserved must stay", i+1, got)
			}
		}
		l, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.ReserveFill(ids, "data", size, at(0)); !errors.Is(err, ErrBudget) {
			t.Errorf("after %d deaths: %v, want ErrBudget", fillDeaths+1, err)
		}
	})
}

func TestFillsOfManyTargetsAreRemembered(t *testing.T) {
	l := open(t)
	for i := range maxFills {
		if _, err := l.ReserveFill([]blockdev.ID{"d"}, fmt.Sprint("target ", i), 4096, at(0)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.ReserveFill([]blockdev.ID{"d"}, "one too many", 4096, at(0)); !errors.Is(err, ErrBudget) {
		t.Errorf("%v, want ErrBudget rather than a forgotten fill", err)
	}
	if _, err := l.ReserveFill([]blockdev.ID{"d"}, "one too many", 4096, at(30*day)); err != nil {
		t.Errorf("after 30 days: %v", err)
	}
}

func TestAFillFromTheFutureCountsFromNowOn(t *testing.T) {
	l := open(t)
	r, err := l.ReserveFill([]blockdev.ID{"d"}, "data", 4096, at(3650*day))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Settle(4096, at(3650*day)); err != nil {
		t.Fatal(err)
	}
	if _, err := l.ReserveFill([]blockdev.ID{"d"}, "data", 4096, at(0)); !errors.Is(err, ErrBudget) {
		t.Fatalf("%v, want ErrBudget", err)
	}
	// That refusal stored nothing, so that the next one to charge the disk corrects the time.
	if _, err := l.ReserveFill([]blockdev.ID{"d"}, "other", 4096, at(0)); err != nil {
		t.Fatal(err)
	}
	if _, err := l.ReserveFill([]blockdev.ID{"d"}, "data", 4096, at(30*day)); err != nil {
		t.Errorf("30 days later: %v", err)
	}
}
