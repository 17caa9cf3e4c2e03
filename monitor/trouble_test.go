package monitor

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"ssd_exporter/engine"
	"ssd_exporter/engine/ledger"
	"ssd_exporter/engine/worker"
	"ssd_exporter/monitor/history"
)

func (b *bench) charged() int64 {
	a, err := b.ledger.Account(b.id("sda"), 2_000_000_000, time.Now())
	if err != nil {
		b.t.Fatal(err)
	}
	return a.Written[ledger.Probe] + a.Reserved[ledger.Probe]
}

func TestAHungDiskCostsItsOwnTargetOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(b *bench, o *Options, _ *pace) {
			b.plug("sdb", "OTHER", "S2")
			b.world.place("/other", "sdb")
			b.world.place("/neighbour", "sda")
			o.Targets = append(o.Targets,
				Target{Name: "other", Dir: "/other", FileSize: 1 << 30, Workloads: Light()},
				Target{Name: "neighbour", Dir: "/neighbour", FileSize: 1 << 30, Workloads: ReadOnly()})
		})
		b.run()
		b.wait(20 * time.Minute)
		b.world.change(func() {
			b.world.hang = func(r worker.Request) bool { return r.Dir == "/data" && r.Run != nil }
		})
		charged, children, other := b.charged(), len(b.world.ran("")), b.target("other").Events.Runs[history.Success]
		b.wait(3 * time.Hour)
		data := b.target("data")
		if !data.Stuck || data.Phase != phaseStuck || data.Events.Runs[history.Stuck] != 1 {
			t.Errorf("stuck %v, phase %q, outcomes %v", data.Stuck, data.Phase, data.Events.Runs)
		}
		if data.Events.Skipped[SkipUnfinished] == 0 || b.target("neighbour").Events.Skipped[SkipUnfinished] == 0 {
			t.Error("the targets of the hung disk do not say that they are skipped")
		}
		onHung := 0
		for _, e := range b.world.ran("")[children:] {
			if e.dir != "/other" && !e.end.IsZero() {
				continue // ended before the disk hung
			}
			if e.dir != "/other" {
				onHung++
			}
		}
		if onHung != 1 {
			t.Errorf("%d children hang on one disk", onHung)
		}
		if n := b.target("other").Events.Runs[history.Success] - other; n < 40 {
			t.Errorf("the other disk was probed %d times in three hours", n)
		}
		if d := b.disk(b.id("sda")); d.Health != nil || d.Smart.Reason != "timeout" {
			t.Errorf("S.M.A.R.T. of the hung disk: %+v", d.Smart)
		}
		if d := b.disk(b.id("sdb")); d.Health == nil || !d.Smart.Success {
			t.Errorf("S.M.A.R.T. of the other disk: %+v", d.Smart)
		}
		_ = charged
		b.world.change(func() { b.world.hang = nil })
		b.world.release()
		b.wait(20 * time.Minute)
		if data := b.target("data"); data.Stuck || data.Problem != "" || data.Phase != phaseIdle {
			t.Errorf("after the disk came back: stuck %v, problem %q, phase %q", data.Stuck, data.Problem, data.Phase)
		}
		b.stop()
	})
}

func TestWhatAHungChildMayWriteStaysCharged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, quietSmart)
		b.world.hang = func(r worker.Request) bool { return r.Run != nil && r.Run.Workload.Name == "mixed20_4k_q4" }
		b.run()
		b.wait(5 * time.Minute)
		want := int64(0)
		for _, w := range Light() {
			if w.Name != "write_1m_q2" { // comes after the one that hangs, and is not started
				want += w.MaxWritten()
			}
		}
		if got := b.charged(); got != want {
			data := b.target("data")
			t.Errorf("charged %d, want %d; ran %v, outcomes %v", got, want, b.world.names(0), data.Events.Runs)
		}
		b.world.release()
		b.wait(time.Second)
		if a, err := b.ledger.Account(b.id("sda"), 2_000_000_000, time.Now()); err != nil || a.Written[ledger.Probe] != want {
			t.Errorf("once it is gone %v is booked, %v", a, err)
		}
		b.stop()
	})
}

func TestHowRunsEnd(t *testing.T) {
	result := func(w engine.Workload, f func(*engine.Result)) *engine.Result {
		r := newWorld().result(w)
		f(r)
		return r
	}
	type ending struct {
		outcome history.Outcome
		reason  string
		learned bool
		written func(reserved int64) int64
	}
	all := func(n int64) int64 { return n }
	half := func(n int64) int64 { return n / 2 }
	for name, c := range map[string]struct {
		answer func(engine.Workload) worker.Reply
		want   ending
	}{
		"good": {
			func(w engine.Workload) worker.Reply { return worker.Reply{Result: result(w, func(*engine.Result) {})} },
			ending{history.Success, "", true, all},
		},
		"wrote less than reserved": {func(w engine.Workload) worker.Reply {
			return worker.Reply{Result: result(w, func(r *engine.Result) { r.Written /= 2 })}
		}, ending{history.Success, "", true, half}},
		"contended": {func(w engine.Workload) worker.Reply {
			return worker.Reply{Result: result(w, func(r *engine.Result) { r.ForeignIOs, r.ForeignIOPS = new(int64(250)), new(250.0) })}
		}, ending{history.Contended, "", false, all}},
		"foreign I/O unknown": {func(w engine.Workload) worker.Reply {
			return worker.Reply{Result: result(w, func(r *engine.Result) { r.ForeignIOs, r.ForeignIOPS = nil, nil })}
		}, ending{history.Success, "", true, all}},
		"invalid": {func(w engine.Workload) worker.Reply {
			return worker.Reply{Result: result(w, func(r *engine.Result) { r.Valid, r.Reasons = false, []engine.Invalid{"cache", "sparse", "what?"} })}
		}, ending{history.Invalid, "cache", false, all}},
		"corrupt": {func(w engine.Workload) worker.Reply {
			return worker.Reply{Result: result(w, func(r *engine.Result) { r.Ops[0].Corrupt = 3 })}
		}, ending{history.Corrupt, "", false, all}},
		"others came": {func(w engine.Workload) worker.Reply {
			return worker.Reply{Error: &worker.Error{Kind: worker.ForeignIO, Message: "others"}, Result: result(w, func(r *engine.Result) { r.Written /= 2 })}
		}, ending{history.Aborted, "foreign_io", false, half}},
		"I/O error half-way": {func(w engine.Workload) worker.Reply {
			return worker.Reply{Error: &worker.Error{Kind: worker.IO, Message: "EIO"}, Result: result(w, func(r *engine.Result) {
				r.Ops[0].Errors = map[string]int64{"EIO": 2}
			})}
		}, ending{history.Aborted, "io_error", false, all}},
		"refused": {func(engine.Workload) worker.Reply {
			return worker.Reply{Error: &worker.Error{Kind: worker.Refused, Message: "not ours"}}
		}, ending{history.Failed, "refused", false, half}}, // the last beat said half
		"crashed": {func(engine.Workload) worker.Reply {
			return worker.Reply{Error: &worker.Error{Kind: worker.Crashed, Message: "killed"}}
		}, ending{history.Failed, "crashed", false, all}}, // it wrote on for up to 100 ms after the last beat
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, quietSmart)
				b.world.answer = func(r worker.Request) (worker.Reply, bool) {
					if r.Run == nil {
						return worker.Reply{}, false
					}
					return c.answer(r.Run.Workload), true
				}
				b.run()
				b.wait(5 * time.Minute)
				data := b.target("data")
				want := int64(0)
				for _, w := range Light() {
					want += c.want.written(w.MaxWritten())
				}
				if got := b.charged(); got != want {
					t.Errorf("charged %d, want %d", got, want)
				}
				if n := data.Events.Runs[c.want.outcome]; n != 9 {
					t.Errorf("outcomes %v, want 9 %s", data.Events.Runs, c.want.outcome)
				}
				w := data.workload("mixed80_4k_q4")
				if w.Last.Outcome != c.want.outcome || w.Last.Reason != c.want.reason {
					t.Errorf("%s %q (%s)", w.Last.Outcome, w.Last.Reason, w.Last.Detail)
				}
				if (w.Measured != nil) != w.Last.Measured() || (len(w.Series) > 0) != c.want.learned {
					t.Errorf("measured %v, series %v", w.Measured, w.Series)
				}
				switch name {
				case "invalid":
					if d := cmp.Diff(uint64(9), data.Events.Invalid["cache"]+data.Events.Invalid["sparse"]-data.Events.Invalid["other"]); d != "" {
						t.Errorf("invalid %v", data.Events.Invalid)
					}
				case "corrupt":
					if data.Events.Verify != 27 {
						t.Errorf("%d verify failures", data.Events.Verify)
					}
				case "I/O error half-way":
					if data.Events.IOErrors["EIO"] != 18 || data.Events.Aborted[AbortIOError] != 9 {
						t.Errorf("errors %v, aborted %v", data.Events.IOErrors, data.Events.Aborted)
					}
				}
				b.stop()
			})
		})
	}
}

func TestAPanicInARunDoesNotStopTheSchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, quietSmart)
		b.run()
		b.wait(5 * time.Minute)
		b.world.change(func() {
			b.world.refuse = func(r worker.Request) error {
				if r.Run != nil && r.Run.Workload.Name == "cold_4k_q1" {
					panic("boom")
				}
				return nil
			}
		})
		before := len(b.world.ran("read_4k_q1"))
		b.wait(75 * time.Minute)
		if n := len(b.world.ran("read_4k_q1")) - before; n != 5 {
			t.Errorf("%d runs of the workload before it in five passes", n)
		}
		data := b.target("data")
		if n := data.Events.Runs[history.Failed]; n != 5 {
			t.Errorf("%d failed runs, want 5: %v", n, data.Events.Runs)
		}
		b.stop()
	})
}

func TestAStarterThatFailsIsAFailedRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, quietSmart)
		b.run()
		b.wait(5 * time.Minute)
		charged := b.charged()
		b.world.change(func() {
			b.world.refuse = func(r worker.Request) error {
				if r.Run != nil {
					return errors.New("fork: out of memory")
				}
				return nil
			}
		})
		b.wait(time.Hour)
		data := b.target("data")
		if data.Events.Runs[history.Failed] == 0 || !strings.Contains(data.workload("read_4k_q1").Last.Detail, "out of memory") {
			t.Errorf("outcomes %v, last %+v", data.Events.Runs, data.workload("read_4k_q1").Last)
		}
		if got := b.charged(); got != charged {
			t.Errorf("charged %d for runs that never were", got-charged)
		}
		b.stop()
	})
}

func TestAChangedFingerprintStartsANewBaselineBeside(t *testing.T) {
	x, y := engine.Fingerprint{Engine: engine.Pread}, engine.Fingerprint{Engine: engine.URing}
	w := &workload{Scheduled: Light()[0], series: map[series]history.Series{}}
	run := func(f engine.Fingerprint, iops float64) map[history.Key]history.Series {
		return w.learn("data", &history.Run{Outcome: history.Success, Fingerprint: f, Ops: [2]*history.OpStats{{IOs: 1, IOPS: iops}}})
	}
	for range 10 {
		run(x, 1000)
	}
	for range 3 {
		run(y, 2000)
	}
	s := w.series[series{"all", "rate"}]
	if s.Fingerprint != y || s.Baseline.Runs() != 3 || len(s.Earlier) != 1 || s.Earlier[0].Baseline.Runs() != 10 {
		t.Errorf("after the change: %+v", s)
	}
	changed := run(x, 1000)
	s = w.series[series{"all", "rate"}]
	if s.Fingerprint != x || s.Baseline.Runs() != 11 || len(s.Earlier) != 1 || s.Earlier[0].Fingerprint != y {
		t.Errorf("after it came back: %+v", s)
	}
	if len(changed) != 1 {
		t.Errorf("%d series to store, want the rate alone", len(changed))
	}
}
