package engine

import (
	"math"
	"sync/atomic"
	"time"
)

// phase is one timed part of a run, the warm-up or the run proper: what all its threads share. Its limits are over all
// streams and threads together.
type phase struct {
	name     string // for Progress
	warmUp   bool   // only reads, in a closed loop
	limits   Limits
	now      func() int64 // ns on the run's clock, always above 0
	begin    int64
	deadline int64
	minEnd   int64
	lanes    int64
	sources  []*source
	claims   *claims // nil when nothing is written
	step     int64   // ns, width of the interval series
	steps    int

	// Hot counters, apart from what is only read, and from each other by who changes them when.
	_           [64]byte
	issued      atomic.Int64 // I/Os admitted
	paid        atomic.Int64 // bytes of writes admitted
	_           [48]byte
	outstanding atomic.Int64
	lastDone    atomic.Int64 // when something completed last, or when the first became outstanding
	written     atomic.Int64 // bytes handed to the kernel for writing
	done        [2]doneCounter
	_           [16]byte
	fullLanes   atomic.Int64
	fullAt      atomic.Int64 // when every thread had its depth outstanding; 0 not yet
	stopAt      atomic.Int64 // when issuing ended; 0 not yet
	ended       atomic.Pointer[ending]
}

// doneCounter is Traffic that many threads add to.
type doneCounter struct{ ios, bytes atomic.Int64 }

// ending is why a phase ended. err is set when the run cannot go on.
type ending struct {
	why string
	err error
}

// Bounds of the interval series: it starts at minStep and doubles its step to hold at most maxSteps.
const (
	minStep  = 100 * time.Millisecond
	maxSteps = 600
)

func newPhase(name string, l Limits, now func() int64, lanes int) *phase {
	p := &phase{name: name, limits: l, now: now, lanes: int64(lanes)}
	step := minStep
	for l.MaxTime > step*maxSteps {
		step *= 2
	}
	p.step, p.steps = int64(step), int(l.MaxTime/step)+1
	return p
}

// start sets the clock of the phase.
func (p *phase) start() {
	p.begin = p.now()
	p.deadline, p.minEnd = math.MaxInt64, p.begin+int64(p.limits.MinTime)
	if p.limits.MaxTime > 0 {
		p.deadline = p.begin + int64(p.limits.MaxTime)
	}
}

// admit says whether one more I/O may be issued, and counts it. The answer no ends the phase.
func (p *phase) admit(now int64) bool {
	if p.stopped(now) {
		return false
	}
	n := p.issued.Add(1)
	if p.limits.MaxIOs > 0 && n > p.limits.MaxIOs && n > p.limits.MinIOs && now >= p.minEnd {
		p.issued.Add(-1)
		p.halt(now, ending{why: StoppedMaxIOs})
		return false
	}
	return true
}

// pay charges a write of size bytes to MaxWriteBytes. The answer no ends the phase, whatever its minimums say.
func (p *phase) pay(now, size int64) bool {
	if p.paid.Add(size) <= p.limits.MaxWriteBytes || p.limits.MaxWriteBytes == 0 {
		return true
	}
	p.paid.Add(-size)
	p.issued.Add(-1)
	p.halt(now, ending{why: StoppedMaxWriteBytes})
	return false
}

// stopped says whether issuing has ended, and ends it when the time is up.
func (p *phase) stopped(now int64) bool {
	if p.stopAt.Load() != 0 {
		return true
	}
	if now >= p.deadline {
		p.halt(p.deadline, ending{why: StoppedMaxTime}) // however late it is noticed
		return true
	}
	return false
}

// halt ends issuing. The first reason stays, but an error is never lost behind it.
func (p *phase) halt(now int64, e ending) {
	if !p.ended.CompareAndSwap(nil, &e) && e.err != nil {
		for old := p.ended.Load(); old.err == nil && !p.ended.CompareAndSwap(old, &e); old = p.ended.Load() {
		}
	}
	p.stopAt.CompareAndSwap(0, now)
}

// laneFull notes that one more thread has its depth outstanding.
func (p *phase) laneFull(now int64) {
	if p.fullLanes.Add(1) == p.lanes {
		p.fullAt.Store(now)
	}
}

// rated says whether what completes now lies between full depth and the last issue.
func (p *phase) rated(now int64) bool {
	full, stop := p.fullAt.Load(), p.stopAt.Load()
	if stop == 0 {
		stop = p.deadline
	}
	return full != 0 && now > full && now <= stop
}

// elapsed is the time that rates are computed over; 0 when full depth was never reached.
func (p *phase) elapsed() time.Duration {
	full, stop := p.fullAt.Load(), p.stopAt.Load()
	if full == 0 || stop <= full {
		return 0
	}
	return time.Duration(stop - full)
}

// handedOver counts n I/Os that go to the kernel now, with size bytes of writes among them.
func (p *phase) handedOver(now, n, size int64) {
	if p.outstanding.Add(n) == n {
		p.lastDone.Store(now) // idle until now: no gap
	}
	if size > 0 {
		p.written.Add(size)
	}
}

// cameBack counts completions and returns the time since the ones before, in ns.
func (p *phase) cameBack(now int64, came [2]Traffic) int64 {
	for op, c := range came {
		if c.IOs > 0 {
			p.done[op].ios.Add(c.IOs)
			p.done[op].bytes.Add(c.Bytes)
		}
	}
	gap := now - p.lastDone.Swap(now)
	p.outstanding.Add(-came[Read].IOs - came[Write].IOs)
	return gap
}

func (p *phase) progress() Progress {
	pr := Progress{Phase: p.name, Written: p.written.Load(), Elapsed: time.Duration(p.now() - p.begin)}
	for op := range pr.Ops {
		pr.Ops[op] = Traffic{IOs: p.done[op].ios.Load(), Bytes: p.done[op].bytes.Load()}
		pr.IOs += pr.Ops[op].IOs
	}
	if p.stopAt.Load() != 0 && !p.warmUp {
		pr.Phase = phaseDrain
	}
	return pr
}

// Names of phases in Progress.
const (
	phaseWarmUp = "warm-up"
	phaseRun    = "run"
	phaseDrain  = "drain"
)
