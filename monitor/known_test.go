package monitor

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ssd_exporter/blockdev"
	"ssd_exporter/smart"
)

func unreadable(_ context.Context, d blockdev.Disk) (*smart.Reading, error) {
	return nil, &smart.ReadError{Disk: d.Device, Reason: smart.IO, Err: context.DeadlineExceeded}
}

// writesSince are the children that wrote, a fill included, since so many had run.
func (b *bench) writesSince(ran int) (names []string) {
	for _, e := range b.world.ran("")[ran:] {
		if e.request.Prepare != nil || e.request.Run != nil && e.request.Run.Workload.Writes() {
			names = append(names, e.what)
		}
	}
	return names
}

// A worn disk does not heal when it can no longer be read, nor over a restart, nor when nothing is read any more.
func TestAWornDiskIsNotWrittenToWhenItCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(_ *bench, o *Options, _ *pace) { o.PerDay = new(int64(1e12)) })
		b.begin(0)
		b.wait(30 * time.Minute)
		b.says(wear(95))
		b.wait(11 * time.Minute)
		b.reader.set(unreadable)
		b.wait(time.Hour)
		ran := len(b.world.ran(""))
		b.wait(13 * time.Hour)
		if d := b.disk("TESTDISK_S1"); d.Health != nil || d.Budget == nil || d.Budget.PerDay != 0 {
			t.Errorf("health %+v, budget %+v", d.Health, d.Budget)
		}
		if w := b.writesSince(ran); len(w) > 0 || len(b.world.ran("")) == ran {
			t.Errorf("writes while it cannot be read: %v of %d runs", w, len(b.world.ran(""))-ran)
		}
		for _, enabled := range []bool{true, false} {
			b.stop()
			b.closeStore()
			b.store = nil
			b.world.change(func() { b.world.free = make(chan struct{}) })
			b.opts.Smart.Enabled = enabled
			ran = len(b.world.ran(""))
			b.begin(time.Minute)
			b.wait(13 * time.Hour)
			w := b.target("data").workload("write_1m_q2")
			if wrote := b.writesSince(ran); len(wrote) > 0 || w.Skipped != SkipWorn || len(b.world.ran("")) == ran {
				t.Errorf("after a restart, S.M.A.R.T. on: %v: writes %v, skipped %q", enabled, wrote, w.Skipped)
			}
		}
		b.stop()
		b.closeStore()
	})
}

func TestAStaleReportStillSaysThatADiskIsWorn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, filesOnly)
		b.opts.Targets = []Target{{Name: "data", Dir: "/data", Profile: "light", FileSize: 1 << 30, Workloads: Light()}}
		b.m = b.new(defaultPace(), nil)
		b.reader.set(unreadable)
		b.write("reports/a.json", report("TESTDISK", "S1", time.Now().Add(-48*time.Hour), 95))
		b.run()
		b.wait(time.Hour)
		if d := b.disk("TESTDISK_S1"); d.Health != nil || b.target("data").reason() != string(SkipWorn) || len(b.writesSince(0)) > 0 {
			t.Errorf("health %+v, skipped %q, writes %v", d.Health, b.target("data").reason(), b.writesSince(0))
		}
		b.stop()
	})
}

// written is a report with so many sectors written.
func written(at time.Time, sectors string) string {
	return strings.Replace(report("FILEDISK", "F1", at, 7), `"pages":[`, `"pages":[{"number":1,"name":"General Statistics","revision":1,"table":[
{"offset":24,"name":"Logical Sectors Written","size":6,"value":`+sectors+`,"flags":{"string":"V---","value":192,"valid":true}}]},`, 1)
}

func TestCountersOfAFileDoNotFallOverARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, filesOnly)
		b.write("reports/a.json", written(time.Now(), "1000000"))
		b.begin(0)
		b.wait(time.Minute)
		d := b.disk("FILEDISK_F1")
		if d == nil || d.Health == nil || d.Health.HostWritten == nil || *d.Health.HostWritten != 512_000_000 {
			t.Fatalf("%+v", d)
		}
		b.stop()
		b.closeStore()
		b.store = nil
		b.world.change(func() { b.world.free = make(chan struct{}) })
		b.write("reports/a.json", written(time.Now(), "990000"))
		b.begin(time.Minute)
		b.wait(time.Minute)
		d = b.disk("FILEDISK_F1")
		if d == nil || d.Health == nil || *d.Health.HostWritten != 512_000_000 || d.Corrections[counterHostWritten] != 1 {
			t.Errorf("after the restart: %+v, health %+v", d, d.Health)
		}
		b.stop()
		b.closeStore()
	})
}

// One failed poll must not show what a file said a day ago.
func TestAFileServesOnlyWhenItIsNewerThanTheDisksOwnWord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, filesOnly)
		b.says(wear(10))
		b.write("reports/same.json", report("TESTDISK", "S1", time.Now().Add(-20*time.Hour), 7))
		b.run()
		b.wait(time.Minute)
		used := func(when string, want float64, source string) {
			t.Helper()
			d := b.disk("TESTDISK_S1")
			if d.Health == nil || *d.Health.Wear.Used != want || !strings.HasPrefix(d.Smart.Source, source) {
				t.Errorf("%s: %+v of %q, want %v of %q", when, d.Health, d.Smart.Source, want, source)
			}
		}
		used("it answers", 0.10, "native")
		b.reader.set(unreadable)
		b.wait(10 * time.Minute)
		used("one failed poll", 0.10, "native")
		b.wait(10 * time.Minute)
		used("two failed polls", 0.07, "file:")
		b.says(wear(10))
		b.wait(10 * time.Minute)
		used("it answers again", 0.10, "native")
		b.reader.set(unreadable)
		b.wait(9 * time.Minute)
		b.write("reports/same.json", report("TESTDISK", "S1", time.Now(), 8))
		b.wait(2 * time.Minute)
		used("one failed poll, and a file that is newer", 0.08, "file:")
		b.stop()
	})
}

// The counter of failures is the disk's: it must not fall when the sources take turns or a file goes.
func TestFailedReadsAreThoseOfAllSources(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, filesOnly)
		b.reader.set(unreadable)
		b.write("reports/same.json", report("TESTDISK", "S1", time.Now().Add(-30*time.Hour), 7))
		b.run()
		b.wait(25 * time.Minute)
		failures := func() (io, stale uint64) {
			f := b.disk("TESTDISK_S1").Smart.Failures
			return f[smart.IO], f[smart.Stale]
		}
		io, stale := failures()
		if io != 3 || stale < 20 {
			t.Errorf("%d of the disk, %d of its file", io, stale)
		}
		b.write("reports/same.json", report("TESTDISK", "S1", time.Now(), 7))
		b.wait(2 * time.Minute)
		if d := b.disk("TESTDISK_S1"); !strings.HasPrefix(d.Smart.Source, "file:") {
			t.Errorf("source %q", d.Smart.Source)
		}
		if i, s := failures(); i < io || s < stale {
			t.Errorf("the file is in force: %d and %d, before %d and %d", i, s, io, stale)
		}
		if err := os.Remove(filepath.Join(b.root, "reports/same.json")); err != nil {
			t.Fatal(err)
		}
		b.wait(2 * time.Minute)
		if i, s := failures(); i < io || s < stale {
			t.Errorf("the file is gone: %d and %d, before %d and %d", i, s, io, stale)
		}
		b.stop()
	})
}

func TestABusyDiskIsNotFilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, quietSmart)
		stop := make(chan struct{})
		go func() {
			for n := 0; ; n++ {
				b.counters("sda", n*999, 0, 0)
				select {
				case <-time.After(time.Second):
				case <-stop:
					return
				}
			}
		}()
		b.run()
		b.wait(10 * time.Minute)
		data := b.target("data")
		if len(b.world.ran("prepare")) != 0 || data.Events.Skipped[SkipBusy] == 0 || !strings.Contains(data.Problem, "busy with others") || b.charged() != 0 {
			t.Errorf("%d fills, skipped %v, problem %q, charged %d", len(b.world.ran("prepare")), data.Events.Skipped, data.Problem, b.charged())
		}
		close(stop)
		b.wait(16 * time.Minute)
		if data = b.target("data"); len(b.world.ran("prepare")) != 1 || data.Problem != "" {
			t.Errorf("%d fills once it is idle, problem %q", len(b.world.ran("prepare")), data.Problem)
		}
		b.stop()
	})
}
