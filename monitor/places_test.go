package monitor

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ssd_exporter/blockdev"
	"ssd_exporter/engine/ledger"
	"ssd_exporter/engine/probefile"
	"ssd_exporter/engine/worker"
	"ssd_exporter/monitor/history"
)

func TestPlacesThatCannotBeProbed(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(*bench, *Options)
		problem string
		reason  Skip
	}{
		"tmpfs": {func(b *bench, _ *Options) {
			p := b.world.places["/data"]
			p.fs.Type, p.fs.Memory, p.fs.Leaves = "tmpfs", true, nil
		}, "data: /data lies on tmpfs (RAM): nothing to measure; choose a folder on a disk with targets[].path", SkipOther},
		"NFS": {func(b *bench, _ *Options) {
			p := b.world.places["/data"]
			p.fs.Type, p.fs.Network, p.fs.Leaves = "nfs4", true, nil
		}, "on another machine", SkipOther},
		"disks unknown": {func(b *bench, _ *Options) {
			p := b.world.places["/data"]
			p.fs.Leaves, p.fs.Why = nil, "ZFS does not tell"
		}, "unknown (ZFS does not tell)", SkipOther},
		"a disk, but a profile that writes": {func(b *bench, _ *Options) {
			b.world.places["/data"].fs.Type = ""
		}, "never written to; choose the profile read_only", SkipOther},
		"missing": {func(b *bench, _ *Options) { delete(b.world.places, "/data") }, "no such folder", SkipOther},
		"no space": {func(b *bench, _ *Options) {
			b.world.places["/data"].fs.FreeBytes = 25 << 30
			b.world.places["/data"].fs.SizeBytes = 5 << 40
		}, "", SkipNoSpace},
		"file too small": {func(b *bench, _ *Options) {
			b.world.places["/data"].fs.FreeBytes = 2 << 30
			b.world.places["/data"].fs.SizeBytes = 20 << 30
		}, "free", SkipNoSpace},
		"no writing at all": {func(_ *bench, o *Options) { o.PerDay = new(int64(0)) }, "budget.bytes_per_day is 0", SkipBudget},
		"worn":              {func(b *bench, _ *Options) { b.says(wear(93)) }, "used 93 % of its rated life", SkipWorn},
		"filled twice in a month": {func(b *bench, _ *Options) {
			r, err := b.ledger.ReserveFill([]blockdev.ID{b.id("sda")}, "data", 1<<30, time.Now())
			if err != nil {
				b.t.Fatal(err)
			}
			if err := r.Settle(1<<30, time.Now()); err != nil {
				b.t.Fatal(err)
			}
		}, "filled within 30 days", SkipBudget},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, func(b *bench, o *Options, _ *pace) { c.change(b, o) })
				b.run()
				b.wait(90 * time.Minute)
				data := b.target("data")
				if !strings.Contains(data.Problem, c.problem) || data.Problem == "" {
					t.Errorf("problem %q", data.Problem)
				}
				if data.Events.Skipped[c.reason] < 9 {
					t.Errorf("skips %v", data.Events.Skipped)
				}
				if n := len(b.world.ran("")) + len(b.world.ran("prepare")); n != 0 {
					t.Errorf("%d children touched the place", n)
				}
				b.stop()
			})
		})
	}
}

func TestAFirstRunThatMetABusyDiskIsTriedAgainSoon(t *testing.T) {
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
		b.wait(50 * time.Second)
		if data := b.target("data"); data.Events.Skipped[SkipBusy] != 9 || !strings.Contains(data.Problem, "999 I/Os per second") {
			t.Errorf("skipped %v, problem %q", data.Events.Skipped, data.Problem)
		}
		close(stop)
		b.wait(time.Minute)
		if data := b.target("data"); data.Events.Runs[history.Success] != 9 || data.Problem != "" {
			t.Errorf("outcomes %v, problem %q", data.Events.Runs, data.Problem)
		}
		b.stop()
	})
}

func TestASkippedRunIsDueAtTheNextPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, quietSmart, func(_ *bench, o *Options, _ *pace) { o.PerDay = new(int64(1e12)) })
		b.run()
		b.wait(5 * time.Minute)
		due := b.target("data").workload("write_1m_q2").Next
		time.Sleep(time.Until(due) - time.Minute)
		b.world.change(func() { b.world.places["/data"].fs.Rebuild = true })
		b.wait(5 * time.Minute)
		b.world.change(func() { b.world.places["/data"].fs.Rebuild = false })
		if w := b.target("data").workload("write_1m_q2"); w.Skipped != SkipRebuilding || !w.Next.Equal(due.Add(15*time.Minute)) {
			t.Errorf("skipped %q, next %v, was due %v", w.Skipped, w.Next, due)
		}
		b.wait(15 * time.Minute)
		if w := b.target("data").workload("write_1m_q2"); w.Last.Start.Before(due) || !w.Next.Equal(due.Add(6*time.Hour)) {
			t.Errorf("last run %v, next %v, was due %v", w.Last.Start, w.Next, due)
		}
		b.stop()
	})
}

func TestAProblemThatIsSolvedEndsByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, quietSmart, func(b *bench, _ *Options, _ *pace) { b.world.places["/data"].fs.Memory = true })
		b.run()
		b.wait(10 * time.Minute)
		b.world.change(func() { b.world.places["/data"].fs.Memory = false })
		b.wait(16 * time.Minute)
		if data := b.target("data"); data.Problem != "" || data.Events.Runs[history.Success] != 9 {
			t.Errorf("problem %q, outcomes %v", data.Problem, data.Events.Runs)
		}
		b.stop()
	})
}

func TestAFillThatWasCutShortIsContinued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, quietSmart)
		first := true
		b.world.answer = func(r worker.Request) (worker.Reply, bool) {
			if r.Prepare != nil && first {
				first = false
				b.world.change(func() { b.world.places["/data"].file = &probefile.State{Size: 1 << 30} })
				return worker.Reply{Error: &worker.Error{Kind: worker.Crashed, Message: "killed"}}, true
			}
			return worker.Reply{}, false
		}
		b.run()
		b.wait(5 * time.Minute)
		if n := len(b.world.ran("prepare")); n != 2 || b.target("data").Events.Runs[history.Success] != 9 {
			t.Errorf("%d fills, problem %q", n, b.target("data").Problem)
		}
		b.stop()
	})
}

func TestTheBudgetStopsWritesAndNotReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, quietSmart, func(_ *bench, o *Options, _ *pace) { o.PerDay = new(int64(40_000_000)) })
		b.run()
		b.wait(24 * time.Hour)
		data := b.target("data")
		if got := b.charged(); got > 50_000_000 || got < 30_000_000 {
			t.Errorf("%d bytes charged on a day with an allowance of 40 MB", got)
		}
		if data.Events.Skipped[SkipBudget] == 0 || len(b.world.ran("write_1m_q2")) != 0 || len(b.world.ran("read_4k_q1")) < 96 || data.Problem != "" {
			t.Errorf("skipped %v, %d large writes, %d reads, problem %q", data.Events.Skipped, len(b.world.ran("write_1m_q2")), len(b.world.ran("read_4k_q1")), data.Problem)
		}
		if d := b.disk(b.id("sda")); d.Budget == nil || d.Budget.PerDay != 40_000_000 || d.Written[ledger.Probe] != b.charged() {
			t.Errorf("the disk's account: %+v, written %v", d.Budget, d.Written)
		}
		b.stop()
	})
}

func TestARawDiskIsOnlyRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, quietSmart, func(b *bench, o *Options, _ *pace) {
			fs := &b.world.places["/data"].fs
			fs.Type, fs.MountPoint, fs.ReadOnly = "", "", true
			o.Targets[0].Workloads = ReadOnly()
		})
		b.run()
		b.wait(20 * time.Minute)
		if data := b.target("data"); data.Events.Runs[history.Success] != 8 || len(b.world.ran("prepare")) != 0 {
			t.Errorf("outcomes %v, problem %q, %d fills", data.Events.Runs, data.Problem, len(b.world.ran("prepare")))
		}
		b.stop()
	})
}
