package monitor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ssd_exporter/blockdev"
	"ssd_exporter/engine"
	"ssd_exporter/engine/ledger"
	"ssd_exporter/engine/worker"
	"ssd_exporter/monitor/history"
)

// probe is one run in the making: what is to be done, where, under which guards.
type probe struct {
	t        *target
	turn     *permit // of the pass
	w        *workload
	fs       *blockdev.Filesystem
	leaves   []leafDisk
	guards   Guards
	workload engine.Workload
	sampling bool // the disk is known to be busy: do not abort, and mark as contended
}

// sample cuts the run short: it burdens a disk that others need.
func (p *probe) sample() {
	p.sampling = true
	p.workload.Warmup = engine.Limits{}
	p.workload.Stop = engine.Limits{MaxTime: 500 * time.Millisecond, MaxIOs: 1_000}
}

// do waits for a S.M.A.R.T. read to end, charges the ledger, runs the child, settles and records.
func (p *probe) do(ctx context.Context) (run *history.Run, r *refusal) {
	m := p.t.m
	turn, cancel := context.WithTimeout(ctx, m.pace.commandWait)
	defer cancel()
	commands, err := m.gates.acquire(turn, p.t.options.Name, p.t.commandKeys()...)
	if err != nil {
		if ctx.Err() != nil {
			return nil, nil
		}
		return nil, refuse(SkipUnfinished, "%v", err)
	}
	defer commands.release()
	if r := p.t.wouldMeetHold(p.patience().work); r != nil { // one may have begun while we waited
		return nil, r
	}
	reserved, r := p.reserve(ctx)
	if r != nil {
		return nil, r
	}
	defer func() {
		if v := recover(); v != nil { // a run that panics is a failed run, and the schedule goes on; its charge stays
			m.log.Error("panic in a run", "target", p.t.options.Name, "workload", p.w.Name, "panic", v)
			run = p.record(time.Now(), 0, answer{}, judgement{outcome: history.Failed, reason: string(worker.Internal), detail: fmt.Sprintf("panic: %v", v)})
			r = nil
		}
	}()
	start := time.Now()
	m.change(func() { p.t.lastAttempt = start; p.w.skipped, p.w.busy = nil, 0 })
	a, err := p.t.child(ctx, p.request(), p.patience(), []*permit{p.turn, commands}, nil)
	took := time.Since(start)
	if err != nil {
		p.settle(a, reserved, 0)
		return p.record(start, took, answer{}, judgement{outcome: history.Failed, reason: string(worker.Internal), detail: err.Error()}), nil
	}
	p.settle(a, reserved, p.written(a))
	if e := a.reply.Error; e != nil && a.reply.Result == nil && a.cause == "" {
		if r := refusalOf(e); r.reason != SkipOther {
			return nil, r // nothing was issued
		}
	}
	return p.record(start, took, a, p.judge(a)), nil
}

func (p *probe) request() worker.Request {
	o := p.t.m.currentOptions()
	run := &worker.Run{Workload: p.workload, Backend: p.t.options.Backend}
	if !p.sampling {
		run.Abort.ForeignIOPS = p.guards.ForeignIOPS
	}
	return worker.Request{Dir: p.t.options.Dir, Roots: o.Roots, Run: run}
}

// slack is what a run may take beyond its own limits: the drain, and the check of what was read.
const slack = 10 * time.Second

func (p *probe) patience() patience {
	return patience{open: p.t.m.pace.open, work: p.workload.Warmup.MaxTime + p.workload.Stop.MaxTime + slack}
}

// reserve charges what the run may write to every disk below; nothing for a run that only reads.
func (p *probe) reserve(ctx context.Context) (reservation, *refusal) {
	bytes := p.workload.MaxWritten()
	if bytes <= 0 {
		return nil, nil
	}
	m := p.t.m
	if m.accounts == nil {
		return nil, refuse(SkipOther, "%v", errNoLedger)
	}
	o := m.currentOptions()
	charges := make([]ledger.Charge, len(p.leaves))
	for i, l := range p.leaves {
		charges[i] = ledger.Charge{Disk: l.id, PerDay: allowance(l, m.ratingOf(l), o.Guards, o.PerDay)}
	}
	res, err := reserveInTime(ctx, func() (reservation, error) { return m.accounts.reserve(charges, bytes, time.Now()) })
	switch {
	case errors.Is(err, ledger.ErrBudget):
		return nil, refuse(SkipBudget, "%v", err)
	case err != nil:
		return nil, refuse(SkipOther, "nothing is written that cannot be charged: %v", err)
	}
	return res, nil
}

// written is what the run wrote: what its child says at its end, or else all that was reserved. The last sign of life of a
// child that was killed is no witness: up to 100 ms of writes came after it.
func (p *probe) written(a answer) int64 {
	switch {
	case a.reply.Result != nil:
		return a.reply.Result.Written
	case a.orderly():
		return a.lastWritten()
	default:
		return p.workload.MaxWritten()
	}
}

func (p *probe) settle(a answer, r reservation, written int64) {
	if r != nil {
		p.t.m.settle(a, r, written, p.workload.MaxWritten(), "target", p.t.options.Name, "what", p.w.Name)
	}
}
