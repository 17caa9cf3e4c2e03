package engine

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// environment is what a run takes from the machine, and what tests replace.
type environment struct {
	open   opener
	nowait func(fd int, size int64) bool
	now    func() int64 // ns, above 0, never backwards
}

func machine() environment {
	base := time.Now().Add(-1)
	return environment{
		open:   openBackend,
		nowait: supportsNowait,
		now:    func() int64 { return int64(time.Since(base)) },
	}
}

// Run measures one workload on one target: warm-up, then the run proper, then the drain.
//
// It returns a Result whenever anything was issued, with Stopped telling why it ended. The error is nil when the
// workload ran to one of its limits or ctx was cancelled. It is beside a Result when an I/O error made going on
// pointless (any of a write but EAGAIN, EINTR and ENOMEM; of a read that the disk is gone, as ENODEV), and alone when nothing was issued: Validate's errors,
// ErrNotWritable, ErrUnfit, or that no backend works here.
//
// A cancelled ctx stops issuing at once. What is in flight drains; after 5 s without progress it is given up and
// counted in Abandoned. The kernel may then still write into its buffers, which are left to it: end the process soon.
func Run(ctx context.Context, w Workload, t Target, o Options) (*Result, error) {
	return run(ctx, w, t, o, machine())
}

func run(ctx context.Context, w Workload, t Target, o Options, e environment) (*Result, error) {
	pl, err := newPlan(w, t, o)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("workload %q: not started: %w", w.Name, context.Cause(ctx))
	}
	r := &runner{plan: pl, env: e, result: &Result{Workload: w.Name, Seed: pl.Seed, Start: time.Now()}}
	if err := r.open(ctx); err != nil {
		return nil, err
	}
	defer r.crew.dismiss()
	defer r.beat()()
	return r.measure(ctx)
}

// runner is one run under way.
type runner struct {
	*plan
	env    environment
	crew   *crew
	result *Result
	began  int64
}

// open chooses and opens a backend. The test read hangs when the disk does, so it does not stand in the way of ctx.
func (r *runner) open(ctx context.Context) error {
	type opened struct {
		crew *crew
		kind Backend
		why  string
		err  error
	}
	ch := make(chan opened, 1)
	go func() {
		var o opened
		o.crew, o.kind, o.why, o.err = r.assembleBest(r.env)
		ch <- o
	}()
	var o opened
	select {
	case o = <-ch:
	case <-ctx.Done():
		select {
		case o = <-ch:
		case <-time.After(drainPatience):
			go func() {
				if late := <-ch; late.crew != nil {
					late.crew.dismiss()
				}
			}()
			return fmt.Errorf("workload %q: the disk did not answer the first read: %w", r.Name, context.Cause(ctx))
		}
	}
	if o.err != nil {
		return o.err
	}
	r.crew = o.crew
	r.result.EngineWhy = o.why
	r.result.Fingerprint = r.fingerprint(o.kind)
	return nil
}

// measure runs both phases and makes the result.
func (r *runner) measure(ctx context.Context) (*Result, error) {
	r.began = r.env.now()
	if r.Warmup.MaxIOs > 0 {
		p := r.phase(r.crew, true, r.env.now)
		all := r.crew.phase(ctx, p)
		if end := p.ended.Load(); end.err != nil || ctx.Err() != nil || r.crew.unusable(all) {
			return r.report(p, all, nil)
		}
	}
	p := r.phase(r.crew, false, r.env.now)
	before, cpu := r.counters(), cpuTime()
	all := r.crew.phase(ctx, p)
	r.result.CPU = cpuTime() - cpu
	return r.report(p, all, func() { r.result.compare(r.plan, before, r.counters()) })
}

// report fills the result from a phase. device is nil when only the warm-up took place: it is not reported, except for
// its errors.
func (r *runner) report(p *phase, all []*stats, device func()) (*Result, error) {
	res, end := r.result, p.ended.Load()
	res.Stopped = end.why
	mismatch := res.gather(p, all)
	res.Total = time.Duration(r.env.now() - r.began)
	if device != nil {
		device()
	}
	res.judge(r.plan, mismatch)
	if end.err != nil {
		return res, fmt.Errorf("workload %q, %s: %w", r.Name, p.name, end.err)
	}
	return res, nil
}

// gather sums what the threads measured and returns what Codec.Check said first.
func (r *Result) gather(p *phase, all []*stats) (mismatch string) {
	var lag Hist
	var inService, first, last int64
	for _, st := range all {
		for op := range st.ops {
			o := &st.ops[op]
			if p.warmUp {
				// A warm-up is not reported, but that it failed is.
				*o = opStats{errors: o.errors, short: o.short, corrupt: o.corrupt}
			}
			o.fold(&r.Ops[op])
		}
		st.lag.fold(&lag)
		inService += st.inService
		r.LongestGap = max(r.LongestGap, time.Duration(st.gap))
		r.Abandoned += st.abandoned
		if first == 0 || st.first != 0 && st.first < first {
			first = st.first
		}
		last = max(last, st.last)
		if mismatch == "" {
			mismatch = st.mismatch
		}
	}
	r.Written = p.written.Load()
	if p.warmUp {
		return mismatch
	}
	r.Elapsed = p.elapsed()
	if last > first {
		r.Depth = float64(inService) / float64(last-first)
	}
	r.IssueLagP99 = lag.Quantile(0.99)
	r.Intervals = intervals(all, p.step)
	return mismatch
}

// unusable says whether a thread is lost or has I/Os in flight for ever.
func (c *crew) unusable(all []*stats) bool {
	for _, st := range all {
		if st.abandoned > 0 {
			return true
		}
	}
	return len(c.lost) > 0
}

const defaultBeat = 100 * time.Millisecond

// beat calls Options.Beat until the function that it returns has been called, and has returned.
func (r *runner) beat() (stop func()) {
	if r.opts.Beat == nil {
		return func() {}
	}
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		every := r.opts.BeatEvery
		if every <= 0 {
			every = defaultBeat
		}
		t := time.NewTicker(every)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				if p := r.crew.current.Load(); p != nil {
					r.opts.Beat(p.progress())
				}
			case <-done:
				return
			}
		}
	})
	return func() {
		close(done)
		wg.Wait()
	}
}

// cpuTime is the user and system time of the process so far.
func cpuTime() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0 // cannot fail for these arguments
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
