package monitor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ssd_exporter/blockdev"
	"ssd_exporter/engine/ledger"
	"ssd_exporter/engine/probefile"
	"ssd_exporter/engine/worker"
)

// child starts a child and stays with it. One that does not come back keeps the permits until it is gone, so that nothing else
// is sent to its disks, and marks the target as stuck meanwhile.
func (t *target) child(ctx context.Context, r worker.Request, p patience, permits []*permit, onBeat func(worker.Beat)) (answer, error) {
	own, err := t.m.gates.acquire(ctx, t.options.Name, t.ownGate())
	if err != nil {
		return answer{}, err
	}
	defer own.release() // unless it is kept
	// The child outlives ctx by the grace that supervise gives it.
	c, err := t.m.start(context.WithoutCancel(ctx), r)
	if err != nil {
		return answer{}, fmt.Errorf("starting the child that probes %s: %w", r.Dir, err)
	}
	a := supervise(ctx, c, p, onBeat)
	if !a.stuck {
		return a, nil
	}
	a.gone = make(chan struct{})
	permits = append([]*permit{own}, permits...)
	for _, x := range permits {
		x.keep()
	}
	t.m.change(func() {
		t.stuck, t.phase = true, phaseStuck
		t.m.log.Error("a probe does not end: the disk or its file system hangs", "target", t.options.Name, "path", r.Dir)
	})
	go func() {
		for range c.Replies() { // a child that comes to its senses must not block on its last words
		}
		<-c.Done()
		close(a.gone)
		for _, x := range permits {
			x.giveBack()
		}
		t.m.change(func() {
			t.unstick()
			if heir := t.m.targets[t.options.Name]; heir != nil { // a reload may have put another in its place
				heir.unstick()
			}
			t.m.log.Info("the probe that did not end is gone", "target", t.options.Name)
		})
	}()
	return a, nil
}

// unstick says that the hung child is gone. Monitor.mu is held.
func (t *target) unstick() {
	if t.stuck {
		t.stuck = false
		t.phase = t.restingPhase()
	}
}

// fill creates and fills the probe file, once. It is false when there is no filled file afterwards; the problem is set then.
func (t *target) fill(ctx context.Context, turn *permit) bool {
	fs, leaves := t.place()
	o := t.m.currentOptions()
	spec := probefile.Spec{Dir: t.options.Dir, MinSize: t.options.MinSize, FillRate: t.options.FillRate}
	r := t.wouldMeetHold(o.Guards.Window + fillTime(t.options))
	if r == nil {
		r = o.Guards.atRest(fs, leaves, true, o.Roots)
	}
	if r == nil { // a fill is the heaviest of all writes: a disk that others need does not get it on top
		r = o.Guards.busy(ctx, o.Roots, leaves)
	}
	if ctx.Err() != nil {
		return false
	}
	var reserved reservation
	if r == nil {
		reserved, r = t.reserveFill(ctx, o, fs, leaves, &spec)
	}
	if r != nil {
		t.refuseAll(r)
		return false
	}
	t.m.change(func() { t.phase, t.progress = phaseFilling, 0; t.setProblem(nil) })
	a, err := t.child(ctx, worker.Request{Dir: t.options.Dir, Roots: o.Roots, Prepare: &spec},
		patience{open: t.m.pace.open, idle: t.m.pace.fillIdle}, []*permit{turn}, t.showFill())
	if err != nil {
		t.m.settle(a, reserved, 0, 0, "target", t.options.Name, "what", "fill")
		t.refuseAll(refuse(SkipOther, "%v", err))
		return false
	}
	t.m.settle(a, reserved, filled(a, spec.Size), spec.Size-block4k, "target", t.options.Name, "what", "fill")
	return t.takeFill(ctx, a)
}

// fillTime is how long a fill takes by its rate, within reason: between two holds there must be room for one.
func fillTime(t Target) time.Duration {
	const most = 10 * time.Minute
	if t.FillRate <= 0 {
		return slack
	}
	return min(most, slack+time.Duration(float64(t.FileSize)/float64(t.FillRate)*float64(time.Second)))
}

// showFill publishes the progress, once a second.
func (t *target) showFill() func(worker.Beat) {
	var shown time.Time
	return func(b worker.Beat) {
		if b.Total <= 0 || time.Since(shown) < time.Second {
			return
		}
		shown = time.Now()
		t.m.change(func() { t.progress = min(1, float64(b.Done)/float64(b.Total)) })
	}
}

// filled is what a fill wrote. Of one whose child died without a word, all but a block counts, since its last sign of life is
// older than its last write: nearly the whole charge stays, yet the ledger sees a fill that was cut short and lets it be continued.
func filled(a answer, size int64) int64 {
	switch {
	case a.reply.File != nil:
		return a.reply.File.Written
	case a.orderly():
		return min(a.lastWritten(), size)
	default:
		return size - block4k
	}
}

func (t *target) takeFill(ctx context.Context, a answer) bool {
	switch {
	case ctx.Err() != nil:
		return false
	case a.stuck || a.cause == AbortTimeout:
		t.refuseAll(refuse(SkipUnfinished, "the probe file could not be filled: the disk does not answer"))
		return false
	case a.reply.Error != nil:
		t.refuseAll(refusalOf(a.reply.Error))
		return false
	case a.reply.File == nil || !a.reply.File.Filled:
		t.refuseAll(refuse(SkipOther, "the probe file was not filled, and the child did not say why"))
		return false
	}
	t.m.change(func() {
		t.file, t.ready, t.progress = a.reply.File, true, 1
		if a.reply.Filesystem != nil {
			t.fs = a.reply.Filesystem
		}
		t.makeDue(time.Now())
		t.m.log.Info("probe file filled", "target", t.options.Name, "bytes", a.reply.File.Size)
	})
	return true
}

// reserveFill plans the size and charges it. Disks that are never written to get no file.
func (t *target) reserveFill(ctx context.Context, o Options, fs *blockdev.Filesystem, leaves []leafDisk, spec *probefile.Spec) (reservation, *refusal) {
	var ids []blockdev.ID
	for _, l := range leaves {
		ids = append(ids, l.id)
		switch {
		case l.mmc:
			return nil, refuse(SkipBudget, "%s is an eMMC or SD card, which is never written to: no probe file; choose the profile read_only with the path %s", l.kernel, l.info.Device)
		case o.PerDay != nil && *o.PerDay == 0:
			return nil, refuse(SkipBudget, "budget.bytes_per_day is 0: no probe file is written; choose the profile read_only with the path of a disk")
		}
	}
	if t.file != nil && !t.file.Filled {
		spec.Size = t.file.Size // begun by an earlier start
	} else {
		size, err := probefile.PlannedSize(t.options.FileSize, t.options.MinSize, *fs)
		if err != nil {
			return nil, refuse(SkipNoSpace, "%v", err)
		}
		spec.Size = size
	}
	if t.m.accounts == nil {
		return nil, refuse(SkipOther, "%v", errNoLedger)
	}
	res, err := reserveInTime(ctx, func() (reservation, error) {
		return t.m.accounts.reserveFill(ids, t.options.Name, spec.Size, time.Now())
	})
	switch {
	case errors.Is(err, ledger.ErrBudget):
		return nil, refuse(SkipBudget, "the probe file may not be filled: %v", err)
	case err != nil:
		return nil, refuse(SkipOther, "the probe file may not be filled: %v", err)
	}
	return res, nil
}
