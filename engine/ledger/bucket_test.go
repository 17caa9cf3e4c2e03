package ledger

import (
	"errors"
	"math/big"
	"testing"
	"time"
)

func TestANewDiskStartsWithAQuarterOfADay(t *testing.T) {
	l := open(t)
	if got := remaining(t, l, "d", 1000, at(0)); got != 250 {
		t.Errorf("%d bytes remain, want 250", got)
	}
	if _, err := l.Reserve(disk("d", 1000), Probe, 251, at(0)); !errors.Is(err, ErrBudget) {
		t.Errorf("251 bytes of 250: %v, want ErrBudget", err)
	}
	spend(t, l, "d", 1000, 250, at(0))
	if _, err := l.Reserve(disk("d", 1000), Probe, 1, at(0)); !errors.Is(err, ErrBudget) {
		t.Errorf("1 byte of 0: %v, want ErrBudget", err)
	}
}

func TestARefusalStillStartsTheClockOfANewDisk(t *testing.T) {
	l := open(t)
	if _, err := l.Reserve(disk("d", 2400), Probe, 2400, at(0)); !errors.Is(err, ErrBudget) {
		t.Fatal(err)
	}
	if got := remaining(t, l, "d", 2400, at(time.Hour)); got != 600+100 {
		t.Errorf("an hour later %d bytes remain, want the quarter and an hour's refill, 700", got)
	}
}

func TestTheBucketRefillsExactly(t *testing.T) {
	const perDay = 86_400_001 // no whole number of bytes in any step below
	for _, step := range []time.Duration{time.Nanosecond * 999_983, time.Second, 61 * time.Minute, 24 * time.Hour} {
		t.Run(step.String(), func(t *testing.T) {
			s := slot{perDay: perDay, refilled: at(0).UnixNano()}
			const steps = 20
			for i := range steps {
				s.refill(perDay, at(time.Duration(i+1)*step))
			}
			exact := new(big.Int).Mul(big.NewInt(perDay), big.NewInt(int64(steps*step)))
			want := min(perDay, exact.Div(exact, big.NewInt(int64(day))).Int64())
			if s.tokens != want {
				t.Errorf("%d bytes after %d steps, want %d", s.tokens, steps, want)
			}
		})
	}
}

func TestAThousandSmallStepsGiveWhatOneLargeStepGives(t *testing.T) {
	const perDay = 1_999_999_999
	small, large := slot{perDay: perDay, refilled: at(0).UnixNano()}, slot{perDay: perDay, refilled: at(0).UnixNano()}
	for i := range 1000 {
		small.refill(perDay, at(time.Duration(i+1)*7*time.Millisecond))
	}
	large.refill(perDay, at(7*time.Second))
	if small.tokens != large.tokens || small.fraction != large.fraction {
		t.Errorf("small steps %d + %d, one step %d + %d", small.tokens, small.fraction, large.tokens, large.fraction)
	}
}

func TestTheClock(t *testing.T) {
	type spent struct {
		at    time.Duration
		bytes int64
	}
	for _, c := range []struct {
		name  string
		spent []spent // after all was spent at 0
		ask   time.Duration
		want  int64
	}{
		{name: "an hour refills a 24th", ask: time.Hour, want: 100},
		{name: "a day refills everything", ask: day, want: 2400},
		{name: "a jump of ten years refills one day", ask: 3650 * day, want: 2400},
		{name: "a clock that went back refills nothing", ask: -time.Hour, want: 0},
		{name: "a clock that went back years refills nothing", ask: -3650 * day, want: 0},
		{name: "after a jump to 2060 and back it refills from there on", spent: []spent{{34 * 365 * day, 2000}, {time.Hour, 0}}, ask: 2 * time.Hour, want: 400 + 100},
		{name: "a clock that comes forward again earns what lies beyond where it had been", spent: []spent{{-3650 * day, 0}, {time.Hour, 100}}, ask: 2 * time.Hour, want: 100},
		{name: "a host without a clock earns no day at each of its starts", spent: []spent{{-3650 * day, 0}, {-3649*day - 23*time.Hour, 100}, {time.Minute, 0}, {-3650 * day, 0}, {2 * time.Minute, 0}}, ask: time.Hour, want: 100},
		{name: "a clock that went back twice is remembered where it was first", spent: []spent{{-time.Hour, 0}, {-2 * time.Hour, 0}}, ask: time.Hour, want: 100},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := open(t)
			spend(t, l, "d", 2400, 600, at(0))
			for _, s := range c.spent {
				spend(t, l, "d", 2400, s.bytes, at(s.at))
			}
			if got := remaining(t, l, "d", 2400, at(c.ask)); got != c.want {
				t.Errorf("%d bytes remain, want %d", got, c.want)
			}
		})
	}
}

func TestABackwardClockDoesNotStopTheRefillUntilItCatchesUp(t *testing.T) {
	l := open(t)
	spend(t, l, "d", 2400, 600, at(3650*day))
	if _, err := l.Reserve(disk("d", 2400), Probe, 1, at(0)); !errors.Is(err, ErrBudget) {
		t.Fatalf("the clock went back ten years: %v, want ErrBudget", err)
	}
	if got := remaining(t, l, "d", 2400, at(time.Hour)); got != 100 {
		t.Errorf("an hour after it went back %d bytes remain, want 100", got)
	}
}

func TestANewAllowanceChangesTheCapOnly(t *testing.T) {
	for _, c := range []struct {
		name        string
		perDay, now int64
		after       time.Duration
		want        int64
	}{
		{"lowered: no more than a day of the new one", 100, 250, 0, 100},
		{"raised: what is there stays", 4000, 250, 0, 250},
		{"raised: the past is paid at the old rate", 4800, 250, 12 * time.Hour, 250 + 500},
		{"lowered: the past is paid at the new rate", 480, 0, time.Hour, 250 + 20},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := open(t)
			spend(t, l, "d", 1000, 0, at(0))
			if got := remaining(t, l, "d", c.perDay, at(c.after)); got != c.want {
				t.Errorf("%d bytes remain, want %d", got, c.want)
			}
		})
	}
}

func TestAnAllowanceOfZeroForbidsAndKeepsTheBucket(t *testing.T) {
	l := open(t)
	spend(t, l, "d", 1000, 50, at(0))
	if _, err := l.Reserve(disk("d", 0), Probe, 0, at(0)); !errors.Is(err, ErrBudget) {
		t.Errorf("0 bytes of an allowance of 0: %v, want ErrBudget", err)
	}
	if got := remaining(t, l, "d", 0, at(0)); got != 0 {
		t.Errorf("%d bytes remain of an allowance of 0", got)
	}
	if got := remaining(t, l, "d", 1000, at(0)); got != 200 {
		t.Errorf("allowed again, %d bytes remain, want 200", got)
	}
}
