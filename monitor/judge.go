package monitor

import (
	"maps"
	"slices"
	"strings"
	"time"

	"ssd_exporter/blockdev"
	"ssd_exporter/engine"
	"ssd_exporter/engine/worker"
	"ssd_exporter/monitor/history"
)

// judgement is how a run ended.
type judgement struct {
	outcome history.Outcome
	reason  string // of the closed set that belongs to outcome
	detail  string
}

// judge classifies what a child said.
func (p *probe) judge(a answer) judgement {
	e, res := a.reply.Error, a.reply.Result
	detail := ""
	if e != nil {
		detail = e.Message
	}
	switch {
	case a.stuck:
		return judgement{history.Stuck, "", "the child does not end: the disk or its file system hangs"}
	case a.cause != "":
		return judgement{history.Aborted, string(a.cause), detail}
	case e != nil:
		return failure(e, res != nil)
	case res == nil:
		return judgement{history.Failed, string(worker.Crashed), "the child ended without an answer"}
	case corrupt(res) > 0:
		return judgement{history.Corrupt, "", res.Detail}
	case !res.Valid:
		return judgement{history.Invalid, string(firstInvalid(res)), res.Detail}
	case p.sampling:
		return judgement{history.Contended, "", "a short sample: the disk has been busy with others for a long time"}
	case p.guards.contended(res):
		return judgement{history.Contended, "", "others used the disk"}
	}
	return judgement{history.Success, "", ""}
}

// failure is how a run ended that says itself why.
func failure(e *worker.Error, measured bool) judgement {
	switch {
	case e.Kind == worker.ForeignIO:
		return judgement{history.Aborted, string(AbortForeignIO), e.Message}
	case e.Kind == worker.Aborted:
		return judgement{history.Aborted, string(AbortOther), e.Message}
	case e.Kind == worker.IO && measured:
		return judgement{history.Aborted, string(AbortIOError), e.Message}
	}
	return judgement{history.Failed, string(e.Kind), e.Message}
}

func corrupt(r *engine.Result) int64 { return r.Ops[engine.Read].Corrupt + r.Ops[engine.Write].Corrupt }

func firstInvalid(r *engine.Result) engine.Invalid {
	if len(r.Reasons) == 0 {
		return engine.InvalidOther
	}
	return known(r.Reasons[0], Invalids(), engine.InvalidOther)
}

// known keeps label values within their closed set.
func known[T comparable](v T, set []T, other T) T {
	if slices.Contains(set, v) {
		return v
	}
	return other
}

// record makes the Run, counts it, learns from it, publishes and stores it.
func (p *probe) record(start time.Time, took time.Duration, a answer, j judgement) *history.Run {
	run := p.run(start, took, a, j)
	t, w, res := p.t, p.w, a.reply.Result
	t.m.change(func() {
		t.count(j, res)
		w.logRun(t.m, run)
		t.lastAttempt, w.last = start, run
		w.skipped, w.busy = nil, 0
		if run.Outcome == history.Success {
			t.lastSuccess, w.success = start, start
		}
		changed := map[history.Key]history.Series{}
		if run.Measured() {
			w.takeTails(run, res)
			w.measured = run
			for op := range w.latency {
				w.latency[op] = merged(w.latency[op], res.Ops[op].Response)
			}
		}
		if run.Outcome == history.Success {
			changed = w.learn(t.options.Name, run)
		}
		w.judgeSeries()
		t.recent = slices.Insert(slices.Clone(t.recent), 0, *run)
		t.recent = t.recent[:min(len(t.recent), recentRuns)]
		t.m.record(history.Commit{Runs: []history.Run{*run}, Series: changed})
	})
	return run
}

// count moves the counters of the target. Monitor.mu is held.
func (t *target) count(j judgement, res *engine.Result) {
	t.events.Runs[known(j.outcome, history.Outcomes(), history.Other)]++
	if j.outcome == history.Aborted {
		t.events.Aborted[known(Abort(j.reason), Aborts(), AbortOther)]++
	}
	if res == nil {
		return
	}
	if j.outcome == history.Invalid {
		reasons := map[engine.Invalid]bool{}
		for _, r := range res.Reasons {
			reasons[known(r, Invalids(), engine.InvalidOther)] = true
		}
		if len(reasons) == 0 {
			reasons[engine.InvalidOther] = true
		}
		for r := range reasons {
			t.events.Invalid[r]++
		}
	}
	t.events.Verify += uint64(max(0, corrupt(res)))
	for _, op := range res.Ops {
		for errno, n := range op.Errors {
			t.events.IOErrors[errno] += uint64(max(0, n))
		}
	}
}

// run is the Run of a Result, or of its absence.
func (p *probe) run(start time.Time, took time.Duration, a answer, j judgement) *history.Run {
	r := &history.Run{
		Target: p.t.options.Name, Workload: p.w.Name, Start: start.Round(0), Duration: took,
		Outcome: j.outcome, Reason: j.reason, Detail: strings.TrimSpace(j.detail), Contended: j.outcome == history.Contended,
		Disks: ids(p.leaves),
	}
	if p.t.file != nil && p.t.file.Filled && p.t.file.Created > 0 {
		r.DataAge = max(0, start.Sub(time.Unix(p.t.file.Created, 0)))
	}
	res := a.reply.Result
	if res == nil {
		r.Written = 0
		if a.beat != nil {
			r.Written = a.beat.Written
		}
		return r
	}
	r.Contended = r.Contended || j.reason == string(AbortForeignIO)
	r.ForeignIOPS, r.LongestGap, r.Written = res.ForeignIOPS, res.LongestGap, res.Written
	r.Fingerprint, r.EngineWhy = res.Fingerprint, res.EngineWhy
	r.Fingerprint.Disks = diskNames(r.Disks) // a target that moved to another disk learns anew
	r.Errors = map[string]int64{}
	for op := range res.Ops {
		r.Ops[op] = stats(res, engine.Op(op))
		for errno, n := range res.Ops[op].Errors {
			r.Errors[errno] += n
		}
	}
	if len(r.Errors) == 0 {
		r.Errors = nil
	}
	return r
}

func ids(leaves []leafDisk) []blockdev.ID {
	var all []blockdev.ID
	for _, l := range leaves {
		all = append(all, l.id)
	}
	return all
}

func stats(res *engine.Result, op engine.Op) *history.OpStats {
	o := &res.Ops[op]
	if o.IOs == 0 {
		return nil
	}
	quantile := func(q float64) *time.Duration {
		if !o.Response.Trusted(q) {
			return nil
		}
		v := o.Response.Quantile(q)
		return &v
	}
	return &history.OpStats{
		IOs: o.IOs, IOPS: res.IOPS(op), BytesPerSecond: res.BytesPerSecond(op),
		Latency: history.Quantiles{P50: quantile(0.5), P90: quantile(0.9), P99: quantile(0.99), P999: quantile(0.999)},
		Mean:    o.Response.Mean(), Max: o.Response.Max(),
	}
}

// merged is a new histogram with the counts of both; the old one is left as readers hold it.
func merged(old *engine.Hist, add engine.Hist) *engine.Hist {
	if add.Count() == 0 {
		return old
	}
	h := add.Clone()
	if old != nil {
		h.Merge(*old)
	}
	return &h
}

// Names of the workloads whose medians are compared: old data against fresh data.
const (
	coldWorkload = "cold_4k_q1"
	hotWorkload  = "read_4k_q1"
)

// compareCold takes the ratio of old to fresh data from the clean runs of one pass: only what was measured within seconds of each
// other is comparable. Monitor.mu is held.
func (t *target) compareCold(done map[string]*history.Run) {
	if ratio, ok := coldOverHot(done[coldWorkload], done[hotWorkload]); ok {
		t.cold = &coldRatio{ratio, done[coldWorkload].Start}
	}
}

// restoreCold takes the ratio from the last runs of an earlier start, when they were of one pass.
func (t *target) restoreCold() {
	last := map[string]*history.Run{}
	for _, w := range t.workloads {
		last[w.Name] = w.measured
	}
	cold, hot := last[coldWorkload], last[hotWorkload]
	if cold != nil && hot != nil && cold.Start.Sub(hot.Start).Abs() < time.Minute {
		t.compareCold(maps.Clone(last))
	}
}

func coldOverHot(cold, hot *history.Run) (float64, bool) {
	for _, r := range []*history.Run{cold, hot} {
		if r == nil || r.Outcome != history.Success || r.Ops[engine.Read] == nil || r.Ops[engine.Read].Latency.P50 == nil {
			return 0, false
		}
	}
	c, h := *cold.Ops[engine.Read].Latency.P50, *hot.Ops[engine.Read].Latency.P50
	if c <= 0 || h <= 0 {
		return 0, false
	}
	return c.Seconds() / h.Seconds(), true
}

// diskNames is the disks of a run as one comparable value.
func diskNames(disks []blockdev.ID) string {
	names := make([]string, len(disks))
	for i, d := range disks {
		names[i] = string(d)
	}
	return strings.Join(names, " ")
}
