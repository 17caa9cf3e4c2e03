package monitor

import (
	"math"
	"slices"
	"time"

	"ssd_exporter/engine"
	"ssd_exporter/monitor/history"
	"ssd_exporter/monitor/trend"
)

// series is one series of a workload that has a baseline.
type series struct{ op, signal string }

// Signals. Judged are the rate (once for both operations, which a closed loop ties together), the median, and the tail: the share
// of I/Os slower than the baseline's p99. The p99 itself is learned for that, and not judged: that of 1,000 I/Os is far too noisy.
const (
	signalRate = "rate"
	signalP50  = "p50"
	signalP99  = "p99"
	signalTail = "tail"
)

// allSeries are the series of a workload that learn, in the order in which they are shown. Of a rate the op is "all".
func allSeries() []series {
	return []series{{"all", signalRate}, {"read", signalP50}, {"read", signalP99}, {"write", signalP50}, {"write", signalP99}}
}

func (s series) key(target, workload string) history.Key {
	return history.Key{Target: target, Workload: workload, Op: s.op, Signal: s.signal}
}

// of is what a run measured in the series' direction; nil when nothing.
func (s series) of(r *history.Run) *history.OpStats {
	if s.op == "write" {
		return r.Ops[engine.Write]
	}
	return r.Ops[engine.Read]
}

// sample is what a run says to a series: seconds per I/O, or seconds; larger is worse.
func (s series) sample(r *history.Run) (float64, bool) {
	if s.signal == signalRate {
		iops := 0.0
		for _, o := range r.Ops {
			if o != nil {
				iops += o.IOPS
			}
		}
		return 1 / iops, iops > 0
	}
	o := s.of(r)
	if o == nil {
		return 0, false
	}
	d := o.Latency.P50
	if s.signal == signalP99 {
		d = o.Latency.P99
	}
	if d == nil {
		return 0, false
	}
	return d.Seconds(), true
}

// takeTails notes in a run which share of its I/Os was slower than the baseline's p99, as long as its histograms are at hand.
func (w *workload) takeTails(r *history.Run, res *engine.Result) {
	for op := range r.Ops {
		s := series{opName(engine.Op(op)), signalP99}
		o := r.Ops[op]
		if o == nil || o.IOs < trend.TailIOs {
			continue
		}
		p99, ok := withFingerprint(w.series[s], r.Fingerprint).Baseline.Centre()
		if !ok {
			continue
		}
		over := time.Duration(math.Round(p99 * float64(time.Second)))
		o.Tail = &history.Tail{Over: over, Share: res.Ops[op].Response.ShareAbove(over)}
	}
}

func opName(op engine.Op) string {
	if op == engine.Write {
		return "write"
	}
	return "read"
}

// learn takes a clean run into the baselines and returns what changed. A changed fingerprint starts a new baseline beside the old
// one, which is taken up again when the fingerprint comes back.
func (w *workload) learn(target string, r *history.Run) map[history.Key]history.Series {
	changed := map[history.Key]history.Series{}
	for _, s := range allSeries() {
		x, ok := s.sample(r)
		if !ok {
			continue
		}
		old := w.series[s]
		now := withFingerprint(old, r.Fingerprint)
		learned := now.Baseline.Learn(x)
		if !learned && old.Fingerprint == now.Fingerprint {
			continue
		}
		w.series[s] = now
		changed[s.key(target, w.Name)] = now
	}
	return changed
}

// earlierSeries is how many baselines of other fingerprints, and replaced ones, are kept beside the one in use.
const earlierSeries = 4

func withFingerprint(s history.Series, f engine.Fingerprint) history.Series {
	if s.Baseline.Runs() == 0 && len(s.Earlier) == 0 {
		return history.Series{Fingerprint: f}
	}
	if s.Fingerprint == f {
		return s
	}
	n := history.Series{Fingerprint: f}
	earlier := s.Earlier
	for i, e := range earlier {
		if e.Fingerprint == f && e.Replaced.IsZero() {
			n.Baseline, n.Since = e.Baseline, e.Since
			earlier = slices.Delete(slices.Clone(earlier), i, i+1)
			break
		}
	}
	n.Earlier = keptBeside(earlier, s)
	return n
}

// keptBeside are the earlier baselines with one more, unless it has learned nothing.
func keptBeside(earlier []history.Series, old history.Series) []history.Series {
	old.Earlier = nil
	if old.Baseline.Runs() > 0 {
		earlier = append([]history.Series{old}, earlier...)
	}
	return earlier[:min(len(earlier), earlierSeries)]
}

// judgeSeries compares the last measured run with the baselines, once per run: medians are not for every Snapshot.
func (w *workload) judgeSeries() {
	w.judged = nil
	for _, s := range allSeries() {
		saved, ok := w.series[s]
		if !ok {
			continue
		}
		st := SeriesState{Op: s.op, Signal: s.signal, Runs: saved.Baseline.Runs()}
		if centre, ok := saved.Baseline.Centre(); ok {
			st.Baseline = &centre
		}
		if s.signal != signalP99 {
			st.Degradation = degradation(saved, s, w.measured)
			w.judged = append(w.judged, st)
			continue
		}
		tail := SeriesState{Op: s.op, Signal: signalTail, Runs: st.Runs, Degradation: tailDegradation(saved, s, w.measured)}
		w.judged = append(w.judged, st, tail)
	}
}

// degradation of the last measured run; nil while learning, and for a run of another fingerprint than the baseline's.
func degradation(saved history.Series, s series, r *history.Run) *float64 {
	if r == nil || r.Fingerprint != saved.Fingerprint {
		return nil
	}
	x, ok := s.sample(r)
	if !ok {
		return nil
	}
	d, ok := saved.Baseline.Degradation(x)
	if !ok {
		return nil
	}
	return &d
}

// tailDegradation is the same for the tail of the last measured run, beyond the p99 that saved has learned. A share beyond the p99
// of a baseline that was replaced since says nothing.
func tailDegradation(saved history.Series, s series, r *history.Run) *float64 {
	if _, ok := saved.Baseline.Centre(); !ok || r == nil || r.Fingerprint != saved.Fingerprint || r.Start.Before(saved.Since) {
		return nil
	}
	o := s.of(r)
	if o == nil || o.Tail == nil {
		return nil
	}
	d := trend.TailDegradation(o.Tail.Share)
	return &d
}
