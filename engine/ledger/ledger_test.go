package ledger

import (
	"errors"
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
	return a.Written[p] + a.Reserved[p]
}

// spend reserves and keeps everything.
func spend(t *testing.T, l *Ledger, id blockdev.ID, perDay, bytes int64, now time.Time) {
	t.Helper()
	if _, err := l.Reserve(disk(id, perDay), Probe, bytes, now); err != nil {
		t.Fatal(err)
	}
}

func TestAskingForTheAccountMakesNoRecord(t *testing.T) {
	l := open(t)
	remaining(t, l, "d", 1000, at(0))
	if es, _ := filepath.Glob(filepath.Join(l.dir, "*"+suffix)); len(es) != 0 {
		t.Errorf("the folder holds %v", es)
	}
}

func TestSettlingReturnsTheRestOnceAndNeverMoreThanADay(t *testing.T) {
	l := open(t)
	r, err := l.Reserve(disk("d", 1000), Sweep, 200, at(0))
	if err != nil {
		t.Fatal(err)
	}
	if got := written(t, l, "d", Sweep); got != 200 { // reserved
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

func TestARecordMadeByRootBelongsToTheOwnerOfTheFolder(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: sudo go test ./engine/ledger")
	}
	l := open(t)
	if err := os.Chown(l.dir, 12345, 12346); err != nil {
		t.Fatal(err)
	}
	spend(t, l, "d", 1000, 1, at(0))
	var st unix.Stat_t
	if err := unix.Stat(filepath.Join(l.dir, "d"+suffix), &st); err != nil {
		t.Fatal(err)
	}
	if st.Uid != 12345 || st.Gid != 12346 || st.Mode&0o777 != 0o600 {
		t.Errorf("the record belongs to %d:%d with mode %o: the service could not use it", st.Uid, st.Gid, st.Mode&0o777)
	}
	es, err := filepath.Glob(filepath.Join(l.dir, "*"))
	if err != nil || len(es) != 2 {
		t.Errorf("the folder holds %v (%v), want the record and users.lock alone", es, err)
	}
}
