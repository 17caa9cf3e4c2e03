package monitor

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ssd_exporter/blockdev"
	"ssd_exporter/engine"
	"ssd_exporter/monitor/history"
)

// baseline is what a person is shown of one series.
func (b *bench) baseline(workload, op, signal string) BaselineState {
	for _, s := range b.m.Baselines() {
		if s.Target == "data" && s.Workload == workload && s.Op == op && s.Signal == signal {
			return s
		}
	}
	b.t.Helper()
	b.t.Fatalf("no series %s %s of %s", op, signal, workload)
	return BaselineState{}
}

func near(x *float64, want float64) bool { return x != nil && math.Abs(*x-want) <= 1e-9*max(1, want) }

// A disk behind a slower controller since yesterday: a person says that this is how it is now.
func TestAcceptTakesTheNewestCleanRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, quietSmart)
		b.begin(0)
		b.wait(24 * time.Hour)
		old := b.baseline("read_4k_q1", "all", "rate")
		if old.Unit != UnitIOPS || !near(old.Baseline, 4000) || !near(old.Last, 4000) || !near(old.Degradation, 0) || !old.Since.IsZero() || old.Earlier != 0 {
			t.Fatalf("before: %+v", old)
		}
		b.world.change(func() { b.world.shape = halved })
		b.wait(8 * time.Hour)
		if s := b.baseline("read_4k_q1", "all", "rate"); !near(s.Baseline, 4000) || !near(s.Last, 2000) || !near(s.Degradation, 1) {
			t.Fatalf("slower: %+v", s)
		}
		changes, err := b.m.AcceptBaseline(context.Background(), "data", "")
		if err != nil || len(changes) != len(Light()) {
			t.Fatalf("%+v, %v", changes, err)
		}
		for _, c := range changes {
			// The newest 24 of a quarter-hourly workload are of the last six hours; of an hourly one, of the last day, all but eight
			// from before; one every six hours had only five or six runs.
			switch {
			case c.Workload == "write_1m_q2" && (c.Runs != 0 || !strings.Contains(c.Kept, "a baseline needs 8")):
				t.Errorf("%+v", c)
			case c.Workload != "write_1m_q2" && (c.Runs != acceptRuns || c.Kept != ""):
				t.Errorf("%+v", c)
			}
		}
		expect := func(when string, runs int) {
			t.Helper()
			s := b.baseline("read_4k_q1", "all", "rate")
			if !near(s.Baseline, 2000) || !near(s.Degradation, 0) || s.Runs != runs || s.Since.IsZero() || s.Earlier != 1 {
				t.Errorf("%s: %+v", when, s)
			}
			if s := b.baseline("write_1m_q2", "all", "rate"); s.Earlier != 0 || !s.Since.IsZero() {
				t.Errorf("%s: what had too few runs: %+v", when, s)
			}
		}
		expect("accepted", acceptRuns)
		if s := b.series("read_4k_q1", "all", "rate"); !near(s.Degradation, 0) {
			t.Errorf("the snapshot: %+v", s)
		}
		b.wait(time.Hour)
		expect("an hour later", acceptRuns+4)
		b.cancel() // as kill -9 would, but for the goroutines
		<-b.ended
		b.world.release()
		b.closeStore()
		b.store = nil
		b.world.change(func() { b.world.free = make(chan struct{}) })
		b.begin(time.Second)
		expect("after a restart", acceptRuns+4)
		b.stop()
		b.closeStore()
	})
}

func TestAcceptIsStoredAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, quietSmart)
		b.begin(0)
		b.wait(12*time.Hour + 7*time.Minute)
		if _, err := b.m.AcceptBaseline(context.Background(), "data", "read_1m_q2"); err != nil {
			t.Fatal(err)
		}
		if _, err := b.m.ResetBaseline(context.Background(), "data", "cold_4k_q1"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		st, err := b.store.Load()
		if err != nil {
			t.Fatal(err)
		}
		for name, runs := range map[string]int{"read_1m_q2": acceptRuns, "cold_4k_q1": 0} {
			s := st.Series[series{"all", signalRate}.key("data", name)]
			if s.Baseline.Runs() != runs || len(s.Earlier) != 1 || s.Earlier[0].Replaced.IsZero() || !s.Since.Equal(time.Now()) {
				t.Errorf("%s: %+v", name, s)
			}
		}
		b.stop()
		b.closeStore()
	})
}

func TestResetLearnsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, quietSmart)
		b.run()
		b.wait(24 * time.Hour)
		before := b.baseline("mixed80_4k_q4", "all", "rate")
		changes, err := b.m.ResetBaseline(context.Background(), "data", "read_4k_q1")
		if err != nil || len(changes) != 1 || changes[0].Kept != "" {
			t.Fatalf("%+v, %v", changes, err)
		}
		for _, signal := range []string{"p50", "p99", "tail"} {
			if s := b.baseline("read_4k_q1", "read", signal); s.Runs != 0 || s.Degradation != nil || s.Baseline != nil || s.Earlier != 1 {
				t.Errorf("%+v", s)
			}
		}
		if s := b.baseline("mixed80_4k_q4", "all", "rate"); s.Runs != before.Runs || s.Earlier != 0 {
			t.Errorf("another workload: %+v", s)
		}
		b.world.change(func() { b.world.shape = halved })
		b.wait(3 * time.Hour)
		if s := b.baseline("read_4k_q1", "all", "rate"); s.Runs != 12 || !near(s.Baseline, 2000) || !near(s.Degradation, 0) {
			t.Errorf("three hours later: %+v", s)
		}
		if again, err := b.m.ResetBaseline(context.Background(), "data", ""); err != nil || len(again) != len(Light()) {
			t.Errorf("%+v, %v", again, err)
		}
		b.stop()
	})
}

// Shares beyond the p99 of a baseline that is gone are not compared with the new one.
func TestATailOfBeforeIsNotJudgedByANewBaseline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, quietSmart)
		b.run()
		b.wait(12 * time.Hour)
		if s := b.baseline("read_4k_q1", "read", "tail"); !near(s.Last, 0) || !near(s.Baseline, 0.01) || s.Unit != UnitRatio {
			t.Fatalf("%+v", s)
		}
		if _, err := b.m.AcceptBaseline(context.Background(), "data", "read_4k_q1"); err != nil {
			t.Fatal(err)
		}
		if s := b.baseline("read_4k_q1", "read", "tail"); s.Last != nil || s.Degradation != nil {
			t.Errorf("before the next run: %+v", s)
		}
		b.wait(15 * time.Minute)
		if s := b.baseline("read_4k_q1", "read", "tail"); !near(s.Last, 0) || !near(s.Degradation, -1) {
			t.Errorf("after it: %+v", s)
		}
		b.stop()
	})
}

func TestBaselinesOfNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, quietSmart, func(b *bench, _ *Options, _ *pace) { b.world.places["/data"].fs.ReadOnly = true })
		b.run()
		b.wait(time.Minute)
		if s := b.m.Baselines(); len(s) != 0 {
			t.Errorf("%+v", s)
		}
		for _, c := range [][2]string{{"nowhere", ""}, {"data", "write_2m"}} {
			_, errAccept := b.m.AcceptBaseline(context.Background(), c[0], c[1])
			_, errReset := b.m.ResetBaseline(context.Background(), c[0], c[1])
			for _, err := range []error{errAccept, errReset} {
				if !errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), "there are: data") && !strings.Contains(err.Error(), "read_4k_q1, cold_4k_q1") {
					t.Errorf("%v", err)
				}
			}
		}
		changes, err := b.m.AcceptBaseline(context.Background(), "data", "")
		if err != nil || slices.ContainsFunc(changes, func(c BaselineChange) bool { return c.Kept == "" }) {
			t.Errorf("%+v, %v", changes, err)
		}
		changes, err = b.m.ResetBaseline(context.Background(), "data", "read_4k_q1")
		if err != nil || len(changes) != 1 || changes[0].Kept == "" {
			t.Errorf("%+v, %v", changes, err)
		}
		b.stop()
	})
}

func TestAcceptDoesNotWaitForAHungStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, quietSmart)
		s := hungStore{make(chan struct{})}
		b.m.recorder = newRecorder(s, b.m.log, b.m.pace, func(string) {})
		b.run()
		b.wait(time.Hour)
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if _, err := b.m.AcceptBaseline(ctx, "data", ""); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		close(s.free)
		b.stop()
	})
}

func TestOnlyRunsAlikeAreAccepted(t *testing.T) {
	uring, pread := engine.Fingerprint{Engine: engine.URing}, engine.Fingerprint{Engine: engine.Pread}
	var runs []history.Run
	add := func(n int, r history.Run) {
		for range n {
			runs = append(runs, r)
		}
	}
	add(30, history.Run{Fingerprint: uring, Disks: []blockdev.ID{"old"}})
	add(10, history.Run{Fingerprint: pread, Disks: []blockdev.ID{"new"}})
	add(9, history.Run{Fingerprint: uring, Disks: []blockdev.ID{"new"}})
	if got := sameKind(runs); len(got) != 9 {
		t.Errorf("%d runs, want the 9 on the new disk with its engine", len(got))
	}
	if sameKind(nil) != nil {
		t.Error("of nothing")
	}
}

func TestAReplacedBaselineIsNotTakenUpAgain(t *testing.T) {
	x, y := engine.Fingerprint{Engine: engine.Pread}, engine.Fingerprint{Engine: engine.URing}
	one := func(v float64) history.Series {
		s := history.Series{Fingerprint: x}
		for range 8 {
			s.Baseline.Learn(v)
		}
		return s
	}
	replaced := one(1)
	replaced.Replaced = time.Unix(1000, 0)
	inUse := one(2)
	inUse.Since, inUse.Earlier = time.Unix(1000, 0), []history.Series{replaced}
	other := withFingerprint(inUse, y)
	if other.Baseline.Runs() != 0 || len(other.Earlier) != 2 {
		t.Fatalf("another engine: %+v", other)
	}
	back := withFingerprint(other, x)
	if c, _ := back.Baseline.Centre(); c != 2 || !back.Since.Equal(inUse.Since) || len(back.Earlier) != 1 || back.Earlier[0].Replaced.IsZero() {
		t.Errorf("back again: %+v", back)
	}
}
