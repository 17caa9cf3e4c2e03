package monitor

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ssd_exporter/blockdev"
	"ssd_exporter/smart"
)

func noTargets(_ *bench, o *Options, _ *pace) { o.Targets = nil }

func TestPollsComeAtTheirIntervals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, noTargets)
		b.run()
		b.wait(10*time.Hour + time.Minute)
		if n := b.reader.count("sda"); n != 61 {
			t.Errorf("a SATA disk was read %d times in ten hours, want 61", n)
		}
		d := b.disk("TESTDISK_S1")
		if d == nil || d.Health == nil || !d.Smart.Success || d.Smart.LastRead.IsZero() || d.IO == nil || d.Kernel == nil {
			t.Fatalf("%+v", d)
		}
		for _, r := range smart.Reasons() {
			if n, ok := d.Smart.Failures[r]; !ok || n != 0 {
				t.Errorf("failures are not counted from 0: %v", d.Smart.Failures)
			}
		}
		b.stop()
	})
}

func TestValuesEndAfterTwoFailedPolls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, noTargets)
		b.run()
		b.wait(time.Minute)
		b.reader.set(func(_ context.Context, d blockdev.Disk) (*smart.Reading, error) {
			return nil, &smart.ReadError{Disk: d.Device, Reason: smart.Permission, Err: os.ErrPermission, Fix: "run as root"}
		})
		b.wait(10 * time.Minute)
		d := b.disk("TESTDISK_S1")
		if d.Health == nil || d.Smart.Success || d.Smart.Reason != smart.Permission || !strings.Contains(d.Smart.Problem, "run as root") {
			t.Errorf("after one failure: %+v, health %v", d.Smart, d.Health)
		}
		b.wait(10 * time.Minute)
		if d = b.disk("TESTDISK_S1"); d.Health != nil || d.Smart.Failures[smart.Permission] != 2 {
			t.Errorf("after two: %+v, health %v", d.Smart, d.Health)
		}
		b.reader.set(nil)
		b.wait(10 * time.Minute)
		if d = b.disk("TESTDISK_S1"); d.Health == nil || !d.Smart.Success || d.Smart.Problem != "" || d.Smart.Failures[smart.Permission] != 2 {
			t.Errorf("after it works again: %+v", d.Smart)
		}
		b.stop()
	})
}

func TestASleepingDiskKeepsItsValues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, noTargets)
		b.run()
		b.wait(time.Minute)
		read := b.disk("TESTDISK_S1").Smart.LastRead
		b.says(func(r *smart.Reading) { *r = smart.Reading{PowerState: "sleep", Identity: r.Identity} })
		b.wait(5 * time.Hour)
		if d := b.disk("TESTDISK_S1"); d.Health == nil || !d.Smart.Asleep || !d.Smart.Success || !d.Smart.LastRead.Equal(read) {
			t.Errorf("%+v, health %v", d.Smart, d.Health)
		}
		b.stop()
	})
}

func TestAVanishedDiskLeavesAndAPluggedOneAppears(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, noTargets)
		b.run()
		b.wait(time.Minute)
		b.unplug("sda")
		b.plug("sdb", "OTHER", "S2")
		b.wait(time.Minute)
		if b.disk("TESTDISK_S1") != nil || b.disk("OTHER_S2") == nil || b.disk("OTHER_S2").Health == nil {
			t.Errorf("disks: %+v", b.m.Snapshot().Disks)
		}
		b.stop()
	})
}

func TestAnotherDiskUnderTheSameNameIsAnotherDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, noTargets)
		b.run()
		b.wait(time.Minute)
		b.write("sys/class/block/sda/serial", "S9\n")
		b.reader.set(func(context.Context, blockdev.Disk) (*smart.Reading, error) { return nil, errors.New("not yet") })
		b.wait(time.Minute)
		if d := b.disk("TESTDISK_S9"); d == nil || d.Health != nil || b.disk("TESTDISK_S1") != nil {
			t.Errorf("disks: %+v", b.m.Snapshot().Disks)
		}
		b.stop()
	})
}

func TestAHungReaderCostsNobodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(b *bench, o *Options, _ *pace) {
			b.plug("sdb", "OTHER", "S2")
			b.world.place("/other", "sdb")
			o.Targets = []Target{{Name: "other", Dir: "/other", FileSize: 1 << 30, Workloads: ReadOnly()}, o.Targets[0]}
		})
		b.run()
		b.wait(30 * time.Minute)
		hang := make(chan struct{})
		b.reader.set(func(_ context.Context, d blockdev.Disk) (*smart.Reading, error) {
			if d.Kernel == "sda" {
				<-hang
			}
			return ata(d, 100, 40), nil
		})
		before := b.reader.count("sda")
		success := b.target("other").Events.Runs["success"]
		b.wait(2 * time.Hour)
		if n := b.reader.count("sda") - before; n != 1 {
			t.Errorf("%d reads are in flight on one disk", n)
		}
		if d := b.disk("TESTDISK_S1"); d.Smart.Reason != smart.Timeout || d.Smart.Success {
			t.Errorf("the hung disk: %+v", d.Smart)
		}
		if d := b.disk("OTHER_S2"); !d.Smart.Success {
			t.Errorf("the other disk: %+v", d.Smart)
		}
		if b.target("other").Events.Runs["success"]-success < 30 || b.target("data").Events.Skipped[SkipUnfinished] == 0 {
			t.Errorf("other: %v, data: %v", b.target("other").Events.Runs, b.target("data").Events.Skipped)
		}
		close(hang)
		b.reader.set(nil)
		b.wait(20 * time.Minute)
		if d := b.disk("TESTDISK_S1"); !d.Smart.Success || b.target("data").Problem != "" {
			t.Errorf("after it came back: %+v, %q", d.Smart, b.target("data").Problem)
		}
		b.stop()
	})
}

func TestReadsAndRunsOfOneDiskTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reads []event
		b := newBench(t, func(_ *bench, o *Options, _ *pace) {
			o.Smart.Interval, o.Smart.NVMeInterval = 7*time.Second, 7*time.Second
			for i := range o.Targets[0].Workloads {
				o.Targets[0].Workloads[i].Schedule, o.Targets[0].Workloads[i].Interval = Every(5*time.Second), 5*time.Second
			}
			o.PerDay = new(int64(1e12))
		})
		b.reader.set(func(_ context.Context, d blockdev.Disk) (*smart.Reading, error) {
			begin := time.Now()
			time.Sleep(500 * time.Millisecond)
			b.world.change(func() { reads = append(reads, event{begin: begin, end: time.Now()}) })
			return ata(d, 100, 40), nil
		})
		b.run()
		b.wait(10 * time.Minute)
		runs := b.world.ran("")
		for _, x := range reads {
			for _, r := range runs {
				if x.begin.Before(r.end) && r.begin.Before(x.end) {
					t.Fatalf("a read from %v to %v met %s from %v to %v", x.begin, x.end, r.what, r.begin, r.end)
				}
			}
		}
		if len(reads) < 50 || len(runs) < 100 {
			t.Errorf("%d reads and %d runs: one of them starves", len(reads), len(runs))
		}
		b.stop()
	})
}

func TestAReaderThatPanicsIsAFailedRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, noTargets)
		b.reader.set(func(context.Context, blockdev.Disk) (*smart.Reading, error) { panic("boom") })
		b.run()
		b.wait(25 * time.Minute)
		if d := b.disk("TESTDISK_S1"); d.Smart.Reason != smart.Other || d.Smart.Failures[smart.Other] != 3 {
			t.Errorf("%+v", d.Smart)
		}
		b.stop()
	})
}

func TestDisksThatAllCallThemselvesAlikeAreToldApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, noTargets, func(b *bench, _ *Options, _ *pace) {
			b.plug("sdb", "TESTDISK", "S1")
			b.plug("sdc", "TESTDISK", "S1")
		})
		b.run()
		b.wait(time.Minute)
		ids := map[blockdev.ID]bool{}
		for range 3 {
			for _, d := range b.m.Snapshot().Disks {
				ids[d.ID] = true
			}
			b.wait(10 * time.Minute)
		}
		if len(ids) != 3 || len(b.m.Snapshot().Disks) != 3 {
			t.Errorf("three disks have had the IDs %v", ids)
		}
		b.stop()
	})
}

func TestAHostWithoutSmartSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, noTargets, func(b *bench, _ *Options, _ *pace) { b.unplug("sda") })
		b.run()
		b.wait(time.Minute)
		if notes := b.m.Snapshot().Notes; len(notes) != 1 || !strings.Contains(notes[0], "no disk with S.M.A.R.T. found") {
			t.Errorf("notes %q", notes)
		}
		b.plug("sdb", "OTHER", "S2")
		b.wait(time.Minute)
		if notes := b.m.Snapshot().Notes; len(notes) != 0 {
			t.Errorf("notes %q", notes)
		}
		b.stop()
	})
}

func TestRatings(t *testing.T) {
	configured := []Rating{{Model: "testdisk*", Bytes: 5, Term: year}, {Model: "TESTDISK 1", Bytes: 6}}
	if r := rating(configured, "TestDisk 1 "); r == nil || r.Bytes != 5 || r.Term != year {
		t.Errorf("the first match wins, whatever its case: %+v", r)
	}
	if r := rating(configured, "no such model"); r != nil {
		t.Errorf("invented: %+v", r)
	}
	if r := rating([]Rating{{Model: "*", Bytes: 1}}, ""); r != nil {
		t.Errorf("a disk without a model: %+v", r)
	}
}

func TestAllowance(t *testing.T) {
	g := Guards{}.withDefaults()
	used := func(x float64) *smart.Health { return &smart.Health{Wear: smart.Wear{Used: &x}} }
	for name, c := range map[string]struct {
		leaf   leafDisk
		rated  *Rating
		perDay *int64
		want   int64
	}{
		"nothing known":            {leaf: leafDisk{}, want: 2_000_000_000},
		"half a percent of 240 GB": {leaf: leafDisk{info: &blockdev.Disk{Capacity: 240e9}}, want: 1_200_000_000},
		"large and rated low":      {leaf: leafDisk{info: &blockdev.Disk{Capacity: 4e12}}, rated: &Rating{Bytes: 91_300_000_000_000}, want: 1_000_000_000},
		"given":                    {leaf: leafDisk{info: &blockdev.Disk{Capacity: 1e9}}, perDay: new(int64(7)), want: 7},
		"given negative":           {perDay: new(int64(-7)), want: 0},
		"eMMC, whatever is given":  {leaf: leafDisk{mmc: true}, perDay: new(int64(7)), want: 0},
		"worn, whatever is given":  {leaf: leafDisk{known: used(0.9)}, perDay: new(int64(7)), want: 0},
		"not yet worn":             {leaf: leafDisk{known: used(0.89)}, want: 2_000_000_000},
	} {
		t.Run(name, func(t *testing.T) {
			if got := allowance(c.leaf, c.rated, g, c.perDay); got != c.want {
				t.Errorf("%d, want %d", got, c.want)
			}
		})
	}
}
