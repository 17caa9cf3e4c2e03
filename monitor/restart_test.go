package monitor

import (
	"context"
	"encoding/json"
	"maps"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"ssd_exporter/blockdev"
	"ssd_exporter/engine"
	"ssd_exporter/engine/worker"
	"ssd_exporter/monitor/history"
	"ssd_exporter/smart"
)

// begin opens the store and starts a Monitor with it.
func (b *bench) begin(pause time.Duration) {
	b.t.Helper()
	time.Sleep(pause)
	s, aside, err := history.Open(filepath.Join(b.root, "history.db"))
	if err != nil || aside != "" {
		b.t.Fatal(aside, err)
	}
	b.t.Cleanup(func() { s.Close() })
	b.closeStore()
	b.store = s
	b.m = b.new(defaultPace(), s)
	b.run()
}

func (b *bench) closeStore() {
	if b.store != nil {
		b.store.Close()
	}
}

func TestARestartGoesOnWhereItWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.begin(0)
		b.wait(3*time.Hour + 5*time.Minute)
		before := b.target("data")
		disk := b.disk("TESTDISK_S1")
		ran := len(b.world.ran(""))
		b.stop()
		b.closeStore()
		b.store = nil
		b.world.change(func() { b.world.free = make(chan struct{}) })
		b.reader.set(func(context.Context, blockdev.Disk) (*smart.Reading, error) {
			time.Sleep(15 * time.Second)
			return nil, &smart.ReadError{Reason: smart.IO}
		})
		b.begin(20 * time.Minute)
		b.wait(10 * time.Second)
		// Before anything is measured anew, the old figures are there.
		after := b.target("data")
		for i, w := range after.Workloads {
			old := before.Workloads[i]
			if w.Measured == nil || !w.Measured.Start.Equal(old.Measured.Start) || len(w.Series) != len(old.Series) {
				t.Errorf("%s: measured %v, series %v; before %v, %v", w.Workload.Name, w.Measured, w.Series, old.Measured.Start, old.Series)
				continue
			}
			if d := cmp.Diff(old.Series, w.Series); d != "" {
				t.Errorf("%s: %s", w.Workload.Name, d)
			}
		}
		if len(after.Recent) != recentRuns || !after.Recent[0].Start.Equal(before.Recent[0].Start) || after.ColdRatio == nil {
			t.Errorf("recent runs: %d, first %v, cold ratio %v", len(after.Recent), after.Recent[0].Start, after.ColdRatio)
		}
		if d := b.disk("TESTDISK_S1"); d == nil || d.Health == nil || !d.Smart.LastRead.Equal(disk.Smart.LastRead) {
			t.Errorf("the disk's last reading is gone: %+v", d)
		}
		b.wait(2 * time.Minute)
		// 20 minutes later the 15-minute workloads are overdue, the others are not, unless their hour struck meanwhile.
		for _, name := range b.world.names(ran) {
			w := before.workload(name)
			if due := w.Next; due.After(time.Now()) && time.Since(w.Last.Start) < w.Interval {
				t.Errorf("%s ran again after the restart, though it is due at %v", name, due)
			}
		}
		if n := len(b.world.names(ran)); n < 4 || len(b.world.ran("prepare")) != 1 {
			t.Errorf("%d runs after the restart, %d fills", n, len(b.world.ran("prepare")))
		}
		b.stop()
		b.closeStore()
	})
}

// What last went well is asked for when it is long ago: beyond the recent runs, over restarts, and on a disk that others use.
func TestTheLastSuccessIsNotForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, quietSmart)
		b.begin(0)
		b.wait(30 * time.Minute)
		success := func() (at []time.Time) {
			for _, w := range b.target("data").Workloads {
				at = append(at, w.LastSuccess)
			}
			return append(at, b.target("data").LastSuccess)
		}
		want := success()
		b.world.change(func() {
			b.world.shape = func(_ engine.Workload, r *engine.Result) { r.ForeignIOs, r.ForeignIOPS = new(int64(9000)), new(9000.0) }
		})
		b.wait(12 * time.Hour)
		for _, r := range b.target("data").Recent {
			if r.Outcome != history.Contended {
				t.Fatalf("a recent run was %s", r.Outcome)
			}
		}
		if d := cmp.Diff(want, success()); d != "" {
			t.Error(d)
		}
		b.stop()
		b.closeStore()
		b.store = nil
		b.world.change(func() { b.world.free = make(chan struct{}) })
		b.begin(72 * time.Hour)
		if d := cmp.Diff(want, success()); d != "" {
			t.Errorf("after a restart: %s", d)
		}
		b.opts.Targets[0].FillRate++ // the same place otherwise configured
		if err := b.m.Apply(b.opts); err != nil {
			t.Fatal(err)
		}
		b.wait(20 * time.Second)
		if d := cmp.Diff(want, success()); d != "" {
			t.Errorf("after a reload: %s", d)
		}
		b.stop()
		b.closeStore()
	})
}

// A host probes at its own minute for as long as it lives, whenever it was started; another host has another minute.
func TestThePhaseOutlivesRestarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, quietSmart)
		minutes := map[string]map[time.Duration]bool{}
		for _, start := range []struct {
			host  string
			pause time.Duration
		}{{"one", 0}, {"one", 7 * time.Minute}, {"one", 3*time.Hour + 11*time.Second}, {"two", time.Minute}} {
			b.opts.Host = start.host
			b.world.change(func() { b.world.free = make(chan struct{}) })
			b.begin(start.pause)
			b.wait(2 * time.Minute) // the first pass comes when it comes
			if minutes[start.host] == nil {
				minutes[start.host] = map[time.Duration]bool{}
			}
			ran := len(b.world.ran("read_4k_q1"))
			b.wait(2 * time.Hour)
			for _, e := range b.world.ran("read_4k_q1")[ran:] {
				minutes[start.host][e.begin.Sub(e.begin.Truncate(15*time.Minute)).Truncate(5*time.Second)] = true
			}
			b.stop()
			b.closeStore()
			b.store = nil
		}
		if one, two := minutes["one"], minutes["two"]; len(one) != 1 || len(two) != 1 || maps.Equal(one, two) {
			t.Errorf("host one probes at %v past a quarter of an hour, host two at %v", one, two)
		}
	})
}

func TestShutdownIsQuickAndSettles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, quietSmart)
		b.world.took = func(engine.Workload) time.Duration { return 3 * time.Second }
		b.begin(0)
		for len(b.world.ran("mixed20_4k_q4")) == 0 {
			b.wait(100 * time.Millisecond)
		}
		b.wait(1500 * time.Millisecond)
		began := time.Now()
		b.stop()
		if d := time.Since(began); d > 5*time.Second {
			t.Errorf("took %v", d)
		}
		want := int64(0)
		for _, name := range b.world.names(0) {
			w := b.target("data").workload(name)
			if name == "mixed20_4k_q4" {
				want += w.Workload.MaxWritten() / 2 // cut short half-way
			} else {
				want += w.Workload.MaxWritten()
			}
		}
		if got := b.charged(); got != want {
			t.Errorf("charged %d, want %d", got, want)
		}
		st, err := b.store.Load()
		if err != nil {
			t.Fatal(err)
		}
		if last := st.Last[[2]string{"data", "mixed20_4k_q4"}]; last.Outcome != history.Aborted || last.Reason != string(AbortShutdown) {
			t.Errorf("the aborted run was stored as %s %s", last.Outcome, last.Reason)
		}
		b.closeStore()
	})
}

func TestShutdownDoesNotWaitForAHungDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, quietSmart)
		b.world.hang = func(r worker.Request) bool { return r.Run != nil }
		b.run()
		for len(b.world.ran("")) == 0 {
			b.wait(100 * time.Millisecond)
		}
		began := time.Now()
		b.cancel()
		<-b.ended
		if d := time.Since(began); d > 5*time.Second {
			t.Errorf("took %v", d)
		}
		b.world.release()
		b.wait(time.Minute)
	})
}

// A kill -9 between reserve and settle: the new process knows nothing of the run, the ledger does.
func TestAKillKeepsTheCharge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, quietSmart)
		b.world.hang = func(r worker.Request) bool { return r.Run != nil && r.Run.Workload.Name == "write_1m_q2" }
		b.run()
		for len(b.world.ran("write_1m_q2")) == 0 {
			b.wait(time.Second)
		}
		killed := b.charged() // what a killed process leaves behind
		want := int64(0)
		for _, w := range Light() {
			want += w.MaxWritten()
		}
		if killed != want {
			t.Errorf("charged %d while the run goes on, want %d", killed, want)
		}
		b.cancel()
		<-b.ended
		if got := b.charged(); got != want {
			t.Errorf("charged %d after a child that could not be ended, want %d", got, want)
		}
		b.world.release()
		b.wait(time.Minute)
	})
}

func TestApplyLeavesUnchangedTargetsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, quietSmart, func(b *bench, o *Options, _ *pace) {
			for _, n := range []string{"changed", "removed"} {
				b.plug("sd"+n[:1], "M", n)
				b.world.place("/"+n, "sd"+n[:1])
				o.Targets = append(o.Targets, Target{Name: n, Dir: "/" + n, FileSize: 1 << 30, Workloads: Light()})
			}
		})
		b.run()
		b.wait(time.Hour)
		next := b.opts
		next.Targets = []Target{b.opts.Targets[0], b.opts.Targets[1], {Name: "added", Dir: "/added", FileSize: 1 << 30, Workloads: ReadOnly()}}
		next.Targets[1].Workloads = ReadOnly()
		next.Guards.Utilisation = 0.5
		b.plug("sde", "M", "added")
		b.world.place("/added", "sde")
		before, same := b.target("changed"), b.target("data")
		ran := map[string]int{}
		for _, e := range b.world.ran("") {
			ran[e.dir]++
		}
		if err := b.m.Apply(next); err != nil {
			t.Fatal(err)
		}
		b.wait(time.Minute)
		if d := cmp.Diff(same.Events.Runs, b.target("data").Events.Runs); d != "" {
			t.Errorf("the unchanged target ran at once: %s", d)
		}
		changed := b.target("changed")
		if len(changed.Workloads) != len(ReadOnly()) || changed.Events.Runs[history.Success] < before.Events.Runs[history.Success] || changed.Workloads[0].Measured == nil {
			t.Errorf("the changed target lost its state: %+v", changed)
		}
		if len(b.world.ran("prepare")) != 4 || b.target("added").Events.Runs[history.Success] < 4 {
			t.Errorf("%d fills, the added target has %v", len(b.world.ran("prepare")), b.target("added").Events.Runs)
		}
		b.wait(time.Hour)
		for _, e := range b.world.ran("") {
			ran[e.dir]--
		}
		if ran["/removed"] != 0 || ran["/data"] == 0 || ran["/changed"] == 0 {
			t.Errorf("runs since the reload (negative): %v", ran)
		}
		for _, s := range b.m.Snapshot().Targets {
			if s.Name == "removed" {
				t.Error("the removed target is still shown")
			}
		}
		b.stop()
	})
}

func TestApplyRefusesNonsenseAndChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, quietSmart)
		b.run()
		b.wait(5 * time.Minute)
		bad := b.opts
		bad.Targets = []Target{{Name: "x", Dir: "/x", Workloads: []Workload{{Workload: Light()[0].Workload}}}}
		if err := b.m.Apply(bad); err == nil || !strings.Contains(err.Error(), "no schedule") {
			t.Errorf("%v", err)
		}
		if b.target("data").Events.Runs[history.Success] != 9 {
			t.Error("the old target is gone")
		}
		b.stop()
	})
}

func TestFiguresEndAfterThreeMissedIntervals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, quietSmart, freshSnapshots)
		b.run()
		b.wait(130 * time.Minute)
		b.world.change(func() { b.world.places["/data"].fs.ReadOnly = true })
		last := b.target("data").workload("read_4k_q1").Measured.Start
		time.Sleep(time.Until(last.Add(45 * time.Minute)))
		if w := b.target("data").workload("read_4k_q1"); w.Measured == nil {
			t.Error("figures ended before the third interval was over")
		}
		b.wait(2 * time.Minute)
		data := b.target("data")
		w := data.workload("read_4k_q1")
		if w.Measured != nil || w.Last == nil || data.ColdRatio != nil || data.LastSuccess.IsZero() {
			t.Errorf("after three: measured %v, last %v, cold ratio %v", w.Measured, w.Last, data.ColdRatio)
		}
		for _, s := range w.Series {
			if s.Degradation != nil || (s.Baseline == nil) != (s.Signal == signalTail) {
				t.Errorf("series %+v", s)
			}
		}
		if data.workload("mixed80_4k_q4").Measured == nil {
			t.Error("an hourly workload ended with the others")
		}
		b.stop()
	})
}

func freshSnapshots(_ *bench, _ *Options, p *pace) { p.publish = defaultPace().publish }

func TestSnapshotsAreFreshAndNeverChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, freshSnapshots)
		if s := b.m.Snapshot(); s == nil {
			t.Fatal("no snapshot before Run")
		}
		b.run()
		b.wait(20 * time.Minute)
		old := b.m.Snapshot()
		frozen := deepCopy(t, old)
		for range 100 {
			if age := time.Since(b.m.Snapshot().At); age > 15*time.Second {
				t.Fatalf("a snapshot is %v old", age)
			}
			b.wait(17 * time.Second)
		}
		b.wait(2 * time.Hour)
		if d := cmp.Diff(frozen, deepCopy(t, old)); d != "" {
			t.Errorf("a published snapshot changed: %s", d)
		}
		b.stop()
	})
}

// deepCopy goes through the text form, which follows every pointer and map.
func deepCopy(t *testing.T, s *Snapshot) string {
	t.Helper()
	b, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
