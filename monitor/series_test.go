package monitor

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"ssd_exporter/engine"
	"ssd_exporter/monitor/history"
)

// state of one series in the snapshot; nil when there is none.
func (b *bench) series(workload, op, signal string) *SeriesState {
	for _, s := range b.target("data").workload(workload).Series {
		if s.Op == op && s.Signal == signal {
			return &s
		}
	}
	return nil
}

// slowTail makes a share of all I/Os take a hundred times as long; the median stays.
func slowTail(permille int64) func(engine.Workload, *engine.Result) {
	return func(_ engine.Workload, r *engine.Result) {
		for op := range r.Ops {
			n := r.Ops[op].IOs
			h := engine.NewHist()
			for i := range n {
				if i < n*permille/1000 {
					h.Record(100 * latency)
				} else {
					h.Record(latency)
				}
			}
			r.Ops[op].Response = h
		}
	}
}

func TestTheTailIsTheShareBeyondTheBaselinesP99(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, quietSmart)
		b.begin(0)
		b.wait(time.Minute)
		for b.series("read_4k_q1", "read", "p99").Runs < 8 {
			if s := b.series("read_4k_q1", "read", "tail"); s == nil || s.Degradation != nil {
				t.Fatalf("while learning: %+v", s)
			}
			b.wait(15 * time.Minute)
		}
		b.wait(15 * time.Minute)
		expect := func(when string, want float64) {
			t.Helper()
			s := b.series("read_4k_q1", "read", "tail")
			if s.Degradation == nil || math.Abs(*s.Degradation-want) > 1e-6 || s.Baseline != nil {
				t.Errorf("%s: %+v, want a degradation of %v", when, s, want)
			}
			if p99 := b.series("read_4k_q1", "read", "p99"); p99.Degradation != nil || p99.Baseline == nil {
				t.Errorf("%s: the p99 is %+v, want a baseline and no verdict", when, p99)
			}
		}
		expect("nothing beyond", -1)
		for _, c := range []struct {
			permille int64
			want     float64
		}{{10, 0}, {20, 1}, {50, 4}} {
			b.world.change(func() { b.world.shape = slowTail(c.permille) })
			b.wait(15 * time.Minute)
			expect("with a tail", c.want)
			if d := b.series("read_4k_q1", "read", "p50").Degradation; d == nil || *d != 0 {
				t.Errorf("the median moved by %v", d)
			}
		}
		b.stop()
		b.closeStore()
		b.store = nil
		b.world.change(func() { b.world.free = make(chan struct{}) })
		b.begin(time.Minute)
		expect("after a restart", 4)
		b.stop()
		b.closeStore()
	})
}

func TestATailNeedsAThousandIOs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, quietSmart)
		b.run()
		b.wait(10 * time.Hour)
		for name, has := range map[string][2]bool{
			"read_4k_q1": {true, false}, "read_1m_q2": {}, "sync_4k_q1": {}, "mixed80_4k_q4": {true, true}, "open80_4k": {true, false},
		} {
			for op, want := range has {
				s := b.series(name, opName(engine.Op(op)), "tail")
				if (s != nil) != want || want && s.Degradation == nil {
					t.Errorf("%s %s: %+v", name, opName(engine.Op(op)), s)
				}
			}
		}
		b.stop()
	})
}

// A run under another engine is compared with what that engine once learned, or with nothing.
func TestATailIsOfItsOwnFingerprint(t *testing.T) {
	w := &workload{Scheduled: Light()[0], series: map[series]history.Series{}}
	uring, pread := engine.Fingerprint{Engine: engine.URing}, engine.Fingerprint{Engine: engine.Pread}
	result := engine.Result{}
	result.Ops[engine.Read].Response = engine.NewHist()
	for range 1000 {
		result.Ops[engine.Read].Response.Record(3 * time.Millisecond)
	}
	run := func(f engine.Fingerprint, p99 time.Duration) *history.Run {
		return &history.Run{Fingerprint: f, Ops: [2]*history.OpStats{{IOs: 1000, IOPS: 1, Latency: history.Quantiles{P99: &p99}}}}
	}
	for range 8 {
		w.learn("data", run(uring, time.Millisecond))
	}
	for range 8 {
		w.learn("data", run(pread, 5*time.Millisecond))
	}
	for _, c := range []struct {
		f    engine.Fingerprint
		want float64
		over time.Duration
	}{{uring, 1, time.Millisecond}, {pread, 0, 5 * time.Millisecond}} {
		r := run(c.f, 3*time.Millisecond)
		w.takeTails(r, &result)
		if tail := r.Ops[0].Tail; tail == nil || tail.Share != c.want || tail.Over != c.over {
			t.Errorf("%s: %+v", c.f.Engine, tail)
		}
	}
	r := run(engine.Fingerprint{Engine: engine.AIO}, time.Millisecond)
	w.takeTails(r, &result)
	if r.Ops[0].Tail != nil {
		t.Errorf("an engine without a baseline: %+v", r.Ops[0].Tail)
	}
}
