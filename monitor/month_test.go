package monitor

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"ssd_exporter/engine/ledger"
	"ssd_exporter/monitor/history"
)

func quietSmart(_ *bench, o *Options, _ *pace) { o.Smart = SmartOptions{} }

func TestThirtyDaysOfTheDefaultProfile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, quietSmart, func(_ *bench, o *Options, p *pace) {
			p.publish = 6 * time.Hour
			o.Smart.NVMeInterval, o.Smart.Interval = 24*time.Hour, 24*time.Hour
		})
		const days = 30
		// The middle between two slots: the first pass runs everything once more.
		p := b.m.options.Targets[0]
		begin := newPasses("testhost", p).Next(time.Now().Add(6 * time.Hour))
		time.Sleep(time.Until(begin) + 7*time.Minute)
		b.run()
		b.wait(days * 24 * time.Hour)
		want := map[string]int{}
		for _, w := range Light() {
			want[w.Name] = 1 + int(days*24*time.Hour/w.Interval)
		}
		got := map[string]int{}
		for _, e := range b.world.ran("") {
			got[e.what]++
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("runs of each workload: %s", d)
		}
		a, err := b.ledger.Account(b.id("sda"), 2_000_000_000, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		most := int64(0)
		for _, w := range Light() {
			most += int64(want[w.Name]) * w.MaxWritten()
		}
		if a.Written[ledger.Probe] != most || most > days*2_000_000_000 {
			t.Errorf("%d bytes charged, want %d, within 2 GB a day", a.Written[ledger.Probe], most)
		}
		if a.Written[ledger.Fill] != 1<<30 || len(b.world.ran("prepare")) != 1 {
			t.Errorf("fill: %d bytes in %d goes", a.Written[ledger.Fill], len(b.world.ran("prepare")))
		}
		data := b.target("data")
		if n := data.Events.Runs[history.Success]; int(n) != len(b.world.ran("")) {
			t.Errorf("%d successes of %d runs; skipped %v", n, len(b.world.ran("")), data.Events.Skipped)
		}
		b.stop()
	})
}

func TestTheFirstPassRunsEverythingSmallestWritesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.run()
		b.wait(2 * time.Minute)
		want := []string{
			"read_4k_q1", "cold_4k_q1", "read_4k_q32", "read_1m_q2",
			"sync_4k_q1", "open80_4k", "mixed80_4k_q4", "mixed20_4k_q4", "write_1m_q2",
		}
		if d := cmp.Diff(want, b.world.names(0)); d != "" {
			t.Error(d)
		}
		data := b.target("data")
		if data.Phase != phaseIdle || data.Problem != "" || data.FileSize != 1<<30 || data.ColdSince.IsZero() {
			t.Errorf("phase %q, problem %q, file %d, cold since %v", data.Phase, data.Problem, data.FileSize, data.ColdSince)
		}
		if data.ColdRatio == nil || *data.ColdRatio != 1 {
			t.Errorf("cold ratio %v, want 1", data.ColdRatio)
		}
		for _, w := range data.Workloads {
			if w.Measured == nil || w.Last == nil || w.Next.IsZero() || w.Skipped != "" {
				t.Errorf("%s: measured %v, last %v, next %v, skipped %q", w.Workload.Name, w.Measured, w.Last, w.Next, w.Skipped)
			}
		}
		r := data.workload("read_4k_q1").Measured.Ops[0]
		if r.Latency.P50 == nil || r.Latency.P99 == nil || r.Latency.P999 != nil {
			t.Errorf("percentiles of 4,000 I/Os: %+v", r.Latency)
		}
		if h := data.workload("mixed80_4k_q4").Latency; h[0].Count() != 4000 || h[1].Count() != 1000 {
			t.Errorf("histograms hold %d and %d", h[0].Count(), h[1].Count())
		}
		b.stop()
	})
}

func TestBaselinesComeAfterEightCleanRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, quietSmart)
		b.run()
		state := func() SeriesState {
			for _, s := range b.target("data").workload("read_4k_q1").Series {
				if s.Op == "all" && s.Signal == "rate" {
					return s
				}
			}
			return SeriesState{}
		}
		b.wait(time.Minute)
		for state().Runs < 7 {
			if s := state(); s.Baseline != nil || s.Degradation != nil {
				t.Fatalf("after %d runs: %+v", s.Runs, s)
			}
			b.wait(15 * time.Minute)
		}
		b.wait(15 * time.Minute)
		if s := state(); s.Runs != 8 || s.Baseline == nil || *s.Baseline != 1.0/4000 || s.Degradation == nil || *s.Degradation != 0 {
			t.Fatalf("after 8 runs: %+v", s)
		}
		b.world.change(func() { b.world.shape = halved })
		b.wait(15 * time.Minute)
		if s := state(); s.Degradation == nil || *s.Degradation != 1 {
			t.Errorf("half the IOPS: degradation %v, want 1", s.Degradation)
		}
		var signals []string
		for _, s := range b.target("data").workload("mixed80_4k_q4").Series {
			signals = append(signals, s.Op+"/"+s.Signal)
		}
		if d := cmp.Diff([]string{"all/rate", "read/p50", "read/p99", "read/tail", "write/p50", "write/p99", "write/tail"}, signals); d != "" {
			t.Error(d)
		}
		b.stop()
	})
}

func TestTwoTargetsOnOneDiskNeverOverlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, quietSmart, func(b *bench, o *Options, _ *pace) {
			b.plug("sdb", "OTHER", "S2")
			b.world.place("/second", "sda")
			b.world.place("/array", "sda", "sdb")
			for _, name := range []string{"second", "array"} {
				o.Targets = append(o.Targets, Target{Name: name, Dir: "/" + name, FileSize: 1 << 30, Workloads: ReadOnly()})
			}
			// All at the same instants: the phase would keep them apart by luck.
			o.Host = "testhost"
			for i := range o.Targets {
				for j := range o.Targets[i].Workloads {
					o.Targets[i].Workloads[j].Schedule, o.Targets[i].Workloads[j].Interval = Every(time.Minute), time.Second
				}
			}
		})
		b.run()
		b.wait(30 * time.Minute)
		var all []event
		b.world.change(func() { all = slices.Clone(b.world.log) })
		all = slices.DeleteFunc(all, func(e event) bool { return e.what == "inspect" })
		seen := map[string]int{}
		for i, e := range all {
			seen[e.dir]++
			if i > 0 && e.begin.Before(all[i-1].end) {
				t.Errorf("%s of %s began at %v, before %s of %s ended", e.what, e.dir, e.begin, all[i-1].what, all[i-1].dir)
			}
		}
		if len(seen) != 3 || seen["/data"] < 20 || seen["/second"] < 20 || seen["/array"] < 20 {
			t.Errorf("children by target: %v", seen)
		}
		b.stop()
	})
}
