package ledger

import (
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ssd_exporter/blockdev"
)

// at is a moment of the tests' time.
func at(d time.Duration) time.Time { return time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC).Add(d) }

func open(t *testing.T) *Ledger {
	t.Helper()
	l, err := Open(filepath.Join(t.TempDir(), "ledger"))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func disk(id blockdev.ID, perDay int64) []Charge { return []Charge{{Disk: id, PerDay: perDay}} }

func remaining(t *testing.T, l *Ledger, id blockdev.ID, perDay int64, now time.Time) int64 {
	t.Helper()
	a, err := l.Account(id, perDay, now)
	if err != nil {
		t.Fatal(err)
	}
	return a.Remaining
}

func written(t *testing.T, l *Ledger, id blockdev.ID, p Purpose) int64 {
	t.Helper()
	a, err := l.Account(id, 1000, at(0))
	if err != nil {
		t.Fatal(err)
	}
	return a.Written[p]
}

// spend reserves and keeps everything.
func spend(t *testing.T, l *Ledger, id blockdev.ID, perDay, bytes int64, now time.Time) {
	t.Helper()
	if _, err := l.Reserve(disk(id, perDay), Probe, bytes, now); err != nil {
		t.Fatal(err)
	}
}

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

func TestAskingForTheAccountMakesNoRecord(t *testing.T) {
	l := open(t)
	remaining(t, l, "d", 1000, at(0))
	if es, _ := os.ReadDir(l.dir); len(es) != 0 {
		t.Errorf("the folder holds %v", es)
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

func TestSettlingReturnsTheRestOnceAndNeverMoreThanADay(t *testing.T) {
	l := open(t)
	r, err := l.Reserve(disk("d", 1000), Sweep, 200, at(0))
	if err != nil {
		t.Fatal(err)
	}
	if got := written(t, l, "d", Sweep); got != 200 {
		t.Errorf("before settling %d bytes count as written, want all 200", got)
	}
	if err := r.Settle(50, at(0)); err != nil {
		t.Fatal(err)
	}
	if got := remaining(t, l, "d", 1000, at(0)); got != 200 {
		t.Errorf("%d bytes remain, want 200", got)
	}
	if got := written(t, l, "d", Sweep); got != 50 {
		t.Errorf("%d bytes count as written, want 50", got)
	}
	if err := r.Settle(0, at(0)); err == nil {
		t.Error("it was settled twice")
	}

	r, err = l.Reserve(disk("d", 1000), Probe, 200, at(0))
	if err != nil {
		t.Fatal(err)
	}
	spend(t, l, "d", 1000, 0, at(day)) // the bucket fills up meanwhile
	if err := r.Settle(0, at(day)); err != nil {
		t.Fatal(err)
	}
	if got := remaining(t, l, "d", 1000, at(day)); got != 1000 {
		t.Errorf("%d bytes remain, want the day's 1000", got)
	}
}

func TestAnOverrunIsChargedAndReported(t *testing.T) {
	l := open(t)
	r, err := l.Reserve(disk("d", 1000), Probe, 250, at(0))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Settle(350, at(0)); !errors.Is(err, ErrOverrun) {
		t.Fatalf("%v, want ErrOverrun", err)
	}
	if got := written(t, l, "d", Probe); got != 350 {
		t.Errorf("%d bytes count as written, want 350", got)
	}
	if got := remaining(t, l, "d", 1000, at(144*time.Minute)); got != 0 {
		t.Errorf("%d bytes remain after a tenth of a day, want the debt just paid, 0", got)
	}
}

func TestSeveralDisksAreChargedAllOrNone(t *testing.T) {
	l := open(t)
	spend(t, l, "poor", 1000, 200, at(0))
	both := []Charge{{"rich", 1000}, {"poor", 1000}, {"also", 1000}}
	_, err := l.Reserve(both, Probe, 100, at(0))
	if !errors.Is(err, ErrBudget) || !strings.Contains(err.Error(), "poor") {
		t.Fatalf("%v, want ErrBudget naming the disk", err)
	}
	for id, want := range map[blockdev.ID]int64{"rich": 250, "also": 250, "poor": 50} {
		if got := remaining(t, l, id, 1000, at(0)); got != want {
			t.Errorf("%s: %d bytes remain, want %d", id, got, want)
		}
	}
	r, err := l.Reserve(both, Probe, 50, at(0))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Settle(10, at(0)); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[blockdev.ID]int64{"rich": 240, "also": 240, "poor": 40} {
		if got := remaining(t, l, id, 1000, at(0)); got != want {
			t.Errorf("%s: %d bytes remain after settling, want %d", id, got, want)
		}
	}
}

func TestADiskNamedTwiceIsChargedTwice(t *testing.T) {
	l := open(t)
	r, err := l.Reserve([]Charge{{"d", 1000}, {"d", 1000}}, Probe, 100, at(0))
	if err != nil {
		t.Fatal(err)
	}
	if got := remaining(t, l, "d", 1000, at(0)); got != 50 {
		t.Errorf("%d bytes remain, want 50", got)
	}
	if err := r.Settle(0, at(0)); err != nil {
		t.Fatal(err)
	}
	if got := remaining(t, l, "d", 1000, at(0)); got != 250 {
		t.Errorf("%d bytes remain after settling, want 250", got)
	}
}

func TestALostRecordRestartsEmpty(t *testing.T) {
	for name, content := range map[string]string{"emptied": "", "garbage": strings.Repeat("x", 2*slotSize)} {
		t.Run(name, func(t *testing.T) {
			l := open(t)
			spend(t, l, "d", 2400, 0, at(0))
			if err := os.WriteFile(filepath.Join(l.dir, "d"+suffix), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			if got := remaining(t, l, "d", 2400, at(0)); got != 0 {
				t.Errorf("%d bytes remain, want 0", got)
			}
			if _, err := l.Reserve(disk("d", 2400), Probe, 1, at(0)); !errors.Is(err, ErrBudget) {
				t.Errorf("%v, want ErrBudget", err)
			}
			if got := remaining(t, l, "d", 2400, at(time.Hour)); got != 100 {
				t.Errorf("an hour after the loss was seen %d bytes remain, want 100", got)
			}
		})
	}
}

func TestARequestThatMakesNoSenseIsRefused(t *testing.T) {
	l := open(t)
	for name, err := range map[string]error{
		"no disk":            second(l.Reserve(nil, Probe, 1, at(0))),
		"negative bytes":     second(l.Reserve(disk("d", 10), Probe, -1, at(0))),
		"negative allowance": second(l.Reserve(disk("d", -1), Probe, 1, at(0))),
		"overflow":           second(l.Reserve(disk("d", 10), Probe, 1<<62, at(0))),
		"fill by Reserve":    second(l.Reserve(disk("d", 10), Fill, 1, at(0))),
		"unknown purpose":    second(l.Reserve(disk("d", 10), "fun", 1, at(0))),
		"fill for nobody":    second(l.ReserveFill([]blockdev.ID{"d"}, "", 1, at(0))),
		"a path as ID":       second(l.Reserve(disk("../d", 10), Probe, 1, at(0))),
		"dots as ID":         second(l.Reserve(disk("..", 10), Probe, 1, at(0))),
		"no ID":              second(l.Reserve(disk("", 10), Probe, 1, at(0))),
		"settling nothing":   (*Reservation)(nil).Settle(1, at(0)),
	} {
		if err == nil || errors.Is(err, ErrBudget) {
			t.Errorf("%s: %v, want an error that is not ErrBudget", name, err)
		}
	}
	if es, _ := os.ReadDir(filepath.Dir(l.dir)); len(es) != 1 {
		t.Errorf("something was made outside the folder: %v", es)
	}
}

func second[T any](_ T, err error) error { return err }

func TestVeryLongIDsHaveRecordsOfTheirOwn(t *testing.T) {
	l := open(t)
	a, b := blockdev.ID(strings.Repeat("x", 400)+"a"), blockdev.ID(strings.Repeat("x", 400)+"b")
	spend(t, l, a, 1000, 100, at(0))
	if got := remaining(t, l, b, 1000, at(0)); got != 250 {
		t.Errorf("the other disk has %d bytes, want 250", got)
	}
}

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

func TestALockHeldTooLongIsAnErrorAndChargesNothing(t *testing.T) {
	l := open(t)
	spend(t, l, "d", 1000, 0, at(0))
	l.wait = 20 * time.Millisecond
	f, err := os.Open(filepath.Join(l.dir, "d"+suffix))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Reserve([]Charge{{"d", 1000}, {"a", 1000}}, Probe, 10, at(0)); !errors.Is(err, ErrLocked) {
		t.Errorf("%v, want ErrLocked", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_UN); err != nil {
		t.Fatal(err)
	}
	for _, id := range []blockdev.ID{"a", "d"} {
		if got := remaining(t, l, id, 1000, at(0)); got != 250 {
			t.Errorf("%s: %d bytes remain, want 250", id, got)
		}
	}
}

func TestARecordThatIsALinkIsNotFollowed(t *testing.T) {
	l := open(t)
	victim := filepath.Join(t.TempDir(), "victim")
	if err := os.WriteFile(victim, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(victim, filepath.Join(l.dir, "d"+suffix)); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Reserve(disk("d", 1000), Probe, 1, at(0)); err == nil {
		t.Error("a reservation was made in a file that a link leads to")
	}
	if b, _ := os.ReadFile(victim); string(b) != "precious" {
		t.Errorf("the file now holds %q", b)
	}
}

func TestAFolderThatCannotBeMadeIsAnErrorWithAdvice(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(filepath.Join(file, "ledger")); err == nil || !strings.Contains(err.Error(), "--state.path") {
		t.Errorf("%v, want an error that says what to do", err)
	}
}
