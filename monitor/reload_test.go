package monitor

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
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

// fiveMinutes spaces the workloads of a profile differently, as another schedule in the file would.
func fiveMinutes(ws []Workload) []Workload {
	for i := range ws {
		ws[i].Interval = 5 * time.Minute
		ws[i].Schedule = Every(ws[i].Interval)
	}
	return ws
}

// apply replaces the options as a reload does.
func (b *bench) apply(change func(o *Options)) {
	b.t.Helper()
	change(&b.opts)
	if err := b.m.Apply(b.opts); err != nil {
		b.t.Fatal(err)
	}
}

// baselines are how many runs each series of a target has learned.
func baselines(s TargetState) map[string]int {
	n := map[string]int{}
	for _, w := range s.Workloads {
		for _, x := range w.Series {
			n[w.Workload.Name+" "+x.Op+" "+x.Signal] = x.Runs
		}
	}
	return n
}

func TestReloadOfAScheduleShowsNoGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, quietSmart)
		b.world.took = func(engine.Workload) time.Duration { return 4 * time.Second }
		b.run()
		b.wait(3 * time.Hour)
		for len(b.world.ran("")) == 0 || !b.running() { // in the middle of a run
			b.wait(500 * time.Millisecond)
		}
		before := b.target("data")
		b.apply(func(o *Options) { o.Targets = []Target{o.Targets[0]}; o.Targets[0].Workloads = fiveMinutes(Light()) })
		for range 40 {
			now := b.target("data")
			if now.Filesystem == nil || now.FileSize == 0 || now.ColdSince.IsZero() || now.LastSuccess.Before(before.LastSuccess) || len(now.Recent) < len(before.Recent) {
				t.Fatalf("the target is forgotten: %+v", now)
			}
			for outcome, n := range before.Events.Runs {
				if now.Events.Runs[outcome] < n {
					t.Fatalf("%s runs fell from %d to %d", outcome, n, now.Events.Runs[outcome])
				}
			}
			for i, w := range now.Workloads {
				old := before.Workloads[i]
				if w.Measured == nil || w.Measured.Start.Before(old.Measured.Start) || !w.Since.Equal(old.Since) {
					t.Fatalf("%s lost its figures: %+v", w.Workload.Name, w)
				}
			}
			if now := baselines(now); !maps.Equal(now, baselines(before)) {
				for k, n := range baselines(before) {
					if now[k] < n {
						t.Fatalf("%s learned %d, had %d", k, now[k], n)
					}
				}
			}
			b.wait(250 * time.Millisecond)
		}
		if n := b.target("data").Events.Runs[history.Aborted]; n != before.Events.Runs[history.Aborted]+1 {
			t.Errorf("%d runs aborted, want one more than the %d before", n, before.Events.Runs[history.Aborted])
		}
		ran := len(b.world.ran("read_4k_q1"))
		b.wait(time.Hour)
		if n := len(b.world.ran("read_4k_q1")) - ran; n < 11 || n > 13 {
			t.Errorf("%d runs in an hour of a schedule of 5 minutes", n)
		}
		b.stop()
	})
}

// running says whether a child works on a workload now.
func (b *bench) running() bool {
	runs := b.world.ran("")
	return runs[len(runs)-1].end.IsZero()
}

func TestReloadsInARowDoNotOverlapTheirChildren(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, quietSmart)
		b.world.took = func(engine.Workload) time.Duration { return 4 * time.Second }
		b.run()
		b.wait(2 * time.Hour)
		for !b.running() {
			b.wait(500 * time.Millisecond)
		}
		before := b.target("data").Events.Runs[history.Success]
		for i := range 5 {
			b.apply(func(o *Options) { o.Targets = []Target{o.Targets[0]}; o.Targets[0].FillRate = int64(i + 1) })
			b.wait(10 * time.Millisecond)
		}
		b.wait(time.Minute)
		if n := b.target("data").Events.Runs[history.Success]; n < before {
			t.Errorf("successful runs fell from %d to %d", before, n)
		}
		runs := b.world.ran("")
		for i, r := range runs[1:] {
			if r.begin.Before(runs[i].end) {
				t.Errorf("%s began before %s had ended", r.what, runs[i].what)
			}
		}
		b.stop()
	})
}

func TestReloadThatTakesATargetOutAndBackKeepsWhatItLearned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, quietSmart)
		b.run()
		b.wait(6 * time.Hour)
		before := b.target("data")
		targets := b.opts.Targets
		b.apply(func(o *Options) { o.Targets = nil })
		b.wait(10 * time.Minute)
		if n := len(b.m.Snapshot().Targets); n != 0 {
			t.Errorf("%d targets are shown, want none", n)
		}
		b.apply(func(o *Options) { o.Targets = targets })
		after := b.target("data")
		if d := cmp.Diff(baselines(before), baselines(after)); d != "" {
			t.Errorf("baselines: -before +after\n%s", d)
		}
		if !slices.EqualFunc(before.Recent, after.Recent, func(a, b history.Run) bool { return a.Start.Equal(b.Start) }) {
			t.Errorf("%d recent runs, had %d", len(after.Recent), len(before.Recent))
		}
		b.wait(time.Minute)
		if n := len(b.world.ran("prepare")); n != 1 {
			t.Errorf("the probe file was filled %d times", n)
		}
		b.stop()
	})
}

func TestReloadToReadOnlyAndBackKeepsTheBaselinesOfWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, quietSmart)
		b.run()
		b.wait(24 * time.Hour)
		before := baselines(b.target("data"))
		profile := func(w []Workload) {
			b.apply(func(o *Options) { o.Targets = []Target{o.Targets[0]}; o.Targets[0].Workloads = w })
		}
		profile(ReadOnly())
		b.wait(time.Hour)
		if n := len(b.target("data").Workloads); n != len(ReadOnly()) {
			t.Fatalf("%d workloads", n)
		}
		profile(Light())
		after := baselines(b.target("data"))
		for k, n := range before {
			if after[k] < n {
				t.Errorf("%s has learned %d runs, had %d", k, after[k], n)
			}
		}
		b.stop()
	})
}

func TestReloadToAnotherPlaceForgetsTheFiguresOfTheOldOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, quietSmart)
		b.plug("sdb", "OTHER", "S2")
		b.world.place("/other", "sdb")
		b.begin(0)
		b.wait(6 * time.Hour)
		b.apply(func(o *Options) { o.Targets = []Target{o.Targets[0]}; o.Targets[0].Dir = "/other" })
		for _, w := range b.target("data").Workloads {
			if w.Measured != nil || w.Last != nil {
				t.Errorf("%s shows a run of the other disk", w.Workload.Name)
			}
		}
		for k, n := range baselines(b.target("data")) {
			if n != 0 {
				t.Errorf("%s has %d runs of the other disk in its baseline", k, n)
			}
		}
		b.wait(2 * time.Minute)
		if w := b.target("data").workload("write_1m_q2"); w.Measured == nil || w.Measured.Disks[0] != b.id("sdb") {
			t.Errorf("the new place is not measured: %+v", w.Measured)
		}
		b.stop()
		b.closeStore()
	})
}

func TestReloadDoesNotHideThatADiskHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, quietSmart)
		b.world.hang = func(r worker.Request) bool { return r.Run != nil }
		b.run()
		for !b.target("data").Stuck {
			b.wait(time.Second)
		}
		b.apply(func(o *Options) { o.Targets = []Target{o.Targets[0]}; o.Targets[0].FillRate = 1 })
		for range 20 {
			if !b.target("data").Stuck {
				t.Fatal("after a reload the target is no longer stuck")
			}
			b.wait(time.Second)
		}
		b.world.change(func() { b.world.hang = nil })
		b.world.release()
		b.wait(time.Second)
		if s := b.target("data"); s.Stuck || s.Phase == phaseStuck {
			t.Errorf("the child is gone, and the target still stuck: %+v", s)
		}
		b.stop()
	})
}

func TestReloadTurnsSmartOffAndOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, filesOnly)
		b.write("reports/a.json", report("FILEDISK", "F1", time.Now(), 12))
		b.reader.set(func(_ context.Context, d blockdev.Disk) (*smart.Reading, error) {
			time.Sleep(3 * time.Second)
			return ata(d, 90, 40), nil
		})
		b.run()
		b.wait(time.Minute)
		if d := b.disk("TESTDISK_S1"); d.Health == nil || b.disk("FILEDISK_F1") == nil {
			t.Fatalf("disks: %+v", b.m.Snapshot().Disks)
		}
		for b.reader.count("sda") < 3 { // a read is under way
			b.wait(time.Second)
		}
		b.apply(func(o *Options) { o.Smart.Enabled = false })
		for range 12 {
			b.wait(time.Second)
			if d := b.disk("TESTDISK_S1"); d == nil || d.Health != nil || d.Smart.Success {
				t.Fatalf("S.M.A.R.T. is off, and there are values: %+v", d)
			}
			if b.disk("FILEDISK_F1") != nil {
				t.Fatal("S.M.A.R.T. is off, and a file is shown")
			}
		}
		reads := b.reader.count("sda")
		b.wait(time.Hour)
		if n := b.reader.count("sda"); n != reads {
			t.Errorf("%d reads while it is off", n-reads)
		}
		b.apply(func(o *Options) { o.Smart.Enabled = true })
		b.wait(10 * time.Second)
		if d := b.disk("TESTDISK_S1"); d.Health == nil || b.disk("FILEDISK_F1") == nil {
			t.Errorf("S.M.A.R.T. is on again, and shows nothing: %+v", d)
		}
		b.stop()
	})
}

// A counter that slipped back while the disk was away must not be published lower than before.
func TestADiskThatComesBackKeepsTheMarksOfItsCounters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		written := func(n uint64) func(context.Context, blockdev.Disk) (*smart.Reading, error) {
			return func(_ context.Context, d blockdev.Disk) (*smart.Reading, error) {
				r := ata(d, 90, 40)
				r.Statistics[smart.StatSectorsWritten] = n
				return r, nil
			}
		}
		b := newBench(t, func(_ *bench, o *Options, _ *pace) { o.Targets = nil })
		b.reader.set(written(1_000_000))
		b.run()
		b.wait(time.Minute)
		b.unplug("sda")
		b.wait(15 * time.Minute)
		if b.disk("TESTDISK_S1") != nil {
			t.Fatal("the disk is still there")
		}
		b.reader.set(written(990_000))
		b.link("sys/class/block/sda", "../../devices/pci0000:00/0000:00:1f.2/ataa/host0/target0:0:0/0:0:0:0/block/sda")
		b.wait(15 * time.Minute)
		d := b.disk("TESTDISK_S1")
		if d == nil || d.Health == nil || d.Health.HostWritten == nil || *d.Health.HostWritten != 512_000_000 || d.Corrections[counterHostWritten] != 1 {
			t.Errorf("plugged in again: %+v", d)
		}
		b.stop()
	})
}

func TestReloadAppliesFilesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, filesOnly)
		b.write("reports/a.json", report("FILEDISK", "F1", time.Now(), 12))
		b.write("more/b.json", report("FILEDISK", "F2", time.Now(), 13))
		b.run()
		b.wait(10 * time.Second)
		reads := b.reader.count("sda")
		b.apply(func(o *Options) { o.Smart.Files = []string{filepath.Join(b.root, "*", "*.json")} })
		b.wait(time.Second)
		if b.disk("FILEDISK_F1") == nil || b.disk("FILEDISK_F2") == nil {
			t.Errorf("disks: %+v", b.m.Snapshot().Disks)
		}
		b.apply(func(o *Options) { o.Smart.Files = []string{filepath.Join(b.root, "more", "*.json")} })
		b.wait(time.Second)
		if b.disk("FILEDISK_F1") != nil || b.disk("FILEDISK_F2") == nil {
			t.Errorf("disks: %+v", b.m.Snapshot().Disks)
		}
		if n := b.reader.count("sda"); n != reads {
			t.Errorf("two reloads read the disk %d times more", n-reads)
		}
		b.stop()
	})
}
