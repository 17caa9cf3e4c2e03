package monitor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"ssd_exporter/blockdev"
	"ssd_exporter/engine/worker"
	"ssd_exporter/monitor/history"
)

// pass runs all workloads that are due: look at the place, wait for its disks, fill the file when there is none yet, and then
// guard, budget, probe, judge and record each.
func (t *target) pass(ctx context.Context) {
	select {
	case t.turn <- struct{}{}:
	case <-ctx.Done():
		return
	}
	defer func() { <-t.turn }()
	if ctx.Err() != nil {
		return
	}
	defer t.m.change(func() { t.phase = t.restingPhase() })
	if err := t.m.gates.stuck(t.gateKeys()...); err != nil {
		t.refuseAll(refuse(SkipUnfinished, "%v", err))
		return
	}
	if t.isReady() && (t.hold() || !t.anyDue()) {
		return
	}
	if r := t.asleep(); r != nil {
		t.refuseAll(r)
		return
	}
	if !t.inspect(ctx) || t.hold() {
		return
	}
	t.setPhase(phaseWaiting)
	keys := t.probeKeys()
	turn, err := t.m.gates.acquire(ctx, t.options.Name, keys...)
	if err != nil {
		if errors.Is(err, errStuck) {
			t.refuseAll(refuse(SkipUnfinished, "%v", err))
		}
		return
	}
	defer turn.release()
	if !t.isReady() && !t.fill(ctx, turn) {
		return
	}
	t.probeDue(ctx, turn)
}

// probeDue runs what is due now that the disks are ours.
func (t *target) probeDue(ctx context.Context, turn *permit) {
	var due []*workload
	t.m.change(func() { due, t.phase = t.due(time.Now()), phaseProbing })
	done := map[string]*history.Run{}
	var refused *refusal
	sampled := false
	for _, w := range due {
		if ctx.Err() != nil {
			return
		}
		run, r := t.runOne(ctx, turn, w, &sampled)
		if run != nil {
			done[w.Name] = run
		}
		if r != nil && refused == nil {
			refused = r
		}
	}
	t.m.change(func() {
		t.compareCold(done)
		if len(done) == 0 && refused != nil {
			t.setProblem(refused)
		} else if len(done) > 0 {
			t.setProblem(nil)
		}
	})
}

// runOne takes one workload through guard, budget, probe, judge and record. It returns the run, or why there was none. sampled
// says whether this pass has already measured a busy disk.
func (t *target) runOne(ctx context.Context, turn *permit, w *workload, sampled *bool) (run *history.Run, r *refusal) {
	t.m.change(func() { w.next = t.schedule.next(w.index, time.Now()) })
	fs, leaves := t.place()
	guards := t.m.currentOptions().Guards
	p := probe{t: t, turn: turn, w: w, fs: fs, leaves: leaves, guards: guards, workload: w.Workload}
	r = t.wouldMeetHold(guards.Window + p.patience().work)
	if r == nil {
		r = guards.atRest(fs, leaves, w.Writes(), t.m.currentOptions().Roots)
	}
	if r == nil {
		r = guards.busy(ctx, t.m.currentOptions().Roots, leaves)
	}
	if ctx.Err() != nil {
		return nil, nil
	}
	if r != nil && r.reason == SkipBusy && t.wantsSample(w) && !*sampled {
		*sampled, r = true, nil
		p.sample()
	}
	if r == nil {
		run, r = p.do(ctx)
	}
	if r != nil {
		t.m.change(func() { t.skip(w, r) })
	}
	return run, r
}

// busyBeforeSample is how many runs in a row a busy disk costs before a short read-only sample is taken all the same, marked
// contended: a host that is always busy would otherwise show nothing.
const busyBeforeSample = 8

func (t *target) wantsSample(w *workload) bool { return !w.Writes() && w.busy >= busyBeforeSample }

// inspect asks a child about the place and the probe file. It is false when nothing can be probed there; the problem is set then.
func (t *target) inspect(ctx context.Context) bool {
	if !t.isReady() {
		t.setPhase(phaseInspecting)
	}
	o := t.m.currentOptions()
	a, err := t.child(ctx, worker.Request{Dir: t.options.Dir, Roots: o.Roots, Inspect: true},
		patience{open: t.m.pace.inspect, work: t.m.pace.inspect}, nil, nil)
	switch {
	case err != nil:
		t.refuseAll(refuse(SkipOther, "%v", err))
		return false
	case ctx.Err() != nil:
		return false
	case a.stuck, a.cause == AbortTimeout:
		t.refuseAll(refuse(SkipUnfinished, "%s does not answer: the disk or file system hangs", t.options.Dir))
		return false
	case a.reply.Error != nil:
		if fs := a.reply.Filesystem; fs != nil { // a place that cannot be probed has its disks all the same
			t.m.knowLeaves(fs)
			t.m.change(func() { t.fs, t.file, t.ready = fs, nil, false })
		}
		t.refuseAll(refusalOf(a.reply.Error))
		return false
	case a.reply.Filesystem == nil:
		t.refuseAll(refuse(SkipOther, "%s could not be looked at: the child said nothing", t.options.Dir))
		return false
	}
	fs, file := a.reply.Filesystem, a.reply.File
	if text := unfit(t.options.Dir, fs, t.writesAnything()); text != "" {
		t.m.change(func() { t.fs, t.file, t.ready = fs, file, false })
		t.refuseAll(refuse(SkipOther, "%s", text))
		return false
	}
	t.m.knowLeaves(fs)
	t.m.change(func() {
		t.fs, t.file = fs, file
		was := t.ready
		t.ready = isRaw(fs) || file != nil && file.Filled
		if t.ready && !was {
			t.makeDue(time.Now())
		}
	})
	return true
}

// isRaw says that the place is a disk's node, which is only read.
func isRaw(fs *blockdev.Filesystem) bool { return fs.Type == "" && fs.Source != "" }

// unfit says in words why a place cannot be probed at all; "" when it can.
func unfit(dir string, fs *blockdev.Filesystem, writes bool) string {
	const choose = "choose a folder on a disk with targets[].path"
	switch {
	case isRaw(fs) && writes:
		return fmt.Sprintf("%s is a disk, which is never written to; choose the profile read_only, or a folder on its file system", dir)
	case fs.Memory:
		return fmt.Sprintf("%s lies on %s (RAM): nothing to measure; %s", dir, fs.Type, choose)
	case fs.Network:
		return fmt.Sprintf("%s lies on %s, which is on another machine: nothing to measure here; %s", dir, fs.Type, choose)
	case len(fs.Leaves) == 0:
		return fmt.Sprintf("which disks %s lies on is unknown (%s), so whether they are busy and what they may be written cannot be told; %s", dir, orUnknown(fs.Why), choose)
	}
	return ""
}

func orUnknown(s string) string {
	if s == "" {
		return "no reason given"
	}
	return s
}

func (t *target) writesAnything() bool {
	return slices.ContainsFunc(t.workloads, func(w *workload) bool { return w.Writes() })
}

// refusalOf is why a request that touched nothing failed, as a reason to skip.
func refusalOf(e *worker.Error) *refusal {
	reason := SkipOther
	switch e.Kind {
	case worker.NoSpace:
		reason = SkipNoSpace
	case worker.ReadOnly:
		reason = SkipReadOnly
	case worker.Busy:
		reason = SkipUnfinished
	}
	return &refusal{reason: reason, text: e.Message}
}

// refuseAll skips every due workload for one reason, which is the target's problem then.
func (t *target) refuseAll(r *refusal) {
	t.m.change(func() {
		for _, w := range t.due(time.Now()) {
			t.skip(w, r)
		}
		t.setProblem(r)
	})
}

// skip counts a due run that is not started. It is due again at the target's next pass, whatever its own interval: what is wanted
// every six hours must not be missing for twelve because of one busy second. After a hold it is due at its end. Monitor.mu is held.
func (t *target) skip(w *workload, r *refusal) {
	now := time.Now()
	t.events.Skipped[r.reason]++
	w.skipped, w.skippedAt = r, now
	w.next = t.schedule.Next(now)
	if r.held() {
		w.next, w.owed = r.until.Add(t.schedule.phase), t.schedule.next(w.index, now)
	}
	if r.reason == SkipBusy {
		w.busy++
	}
	t.m.log.Debug("probe skipped", "target", t.options.Name, "workload", w.Name, "reason", r.reason, "why", r.text)
}

// setProblem says why nothing is measured, or nil when something is; it is logged once per change of the reason. Monitor.mu is held.
func (t *target) setProblem(r *refusal) {
	var reason Skip
	text := ""
	if r != nil {
		reason, text = r.reason, t.options.Name+": "+r.text
	}
	t.m.logChange(cmp.Or(reason, t.reason).level(), "probing", t.options.Name, string(t.reason), string(reason), text)
	t.problem, t.reason = text, reason
}

func (t *target) setPhase(p string) { t.m.change(func() { t.phase = p }) }

func (t *target) restingPhase() string {
	switch {
	case t.stuck:
		return phaseStuck
	case t.ready:
		return phaseIdle
	default:
		return phaseWaiting
	}
}

// place is where the target lies, with its disks as they are now.
func (t *target) place() (*blockdev.Filesystem, []leafDisk) {
	t.m.mu.Lock()
	defer t.m.mu.Unlock()
	return t.fs, t.m.leaves(t.fs)
}

func (t *target) probeKeys() []string {
	_, leaves := t.place()
	keys := make([]string, len(leaves))
	for i, l := range leaves {
		keys[i] = probeGate(l.kernel)
	}
	return keys
}

func (t *target) commandKeys() []string {
	_, leaves := t.place()
	keys := make([]string, len(leaves))
	for i, l := range leaves {
		keys[i] = commandGate(l.kernel)
	}
	return keys
}

// gateKeys are all gates at which a hung request of any kind would stand, the target's own inspection included.
func (t *target) gateKeys() []string {
	return append(append(t.probeKeys(), t.commandKeys()...), t.ownGate())
}

func (t *target) ownGate() string { return "target:" + t.options.Name }
