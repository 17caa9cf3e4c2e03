package monitor

import (
	"context"
	"slices"
	"time"

	"github.com/robfig/cron/v3"

	"ssd_exporter/blockdev"
	"ssd_exporter/engine"
	"ssd_exporter/engine/probefile"
	"ssd_exporter/monitor/history"
)

// target is one place that is probed: its schedule, and what is known of it. Monitor.mu guards what is below state.
type target struct {
	m        *Monitor
	options  Target
	schedule passes
	job      cron.Job // one pass; never two at a time, whoever starts it
	cancel   context.CancelFunc
	done     chan struct{} // closed when loop has ended
	turn     chan struct{} // holds one token while a pass runs

	// State.
	fs          *blockdev.Filesystem
	file        *probefile.State
	ready       bool // there is something to probe: a filled file, or a raw disk
	phase       string
	progress    float64
	problem     string
	reason      Skip // of problem
	stuck       bool
	lastAttempt time.Time
	lastSuccess time.Time
	workloads   []*workload
	events      Events
	cold        *coldRatio
	recent      []history.Run // newest first; replaced, never changed in place
}

// workload is one entry of a target's profile.
type workload struct {
	Scheduled
	index     int
	next      time.Time
	last      *history.Run
	measured  *history.Run
	success   time.Time       // when the last clean run began
	latency   [2]*engine.Hist // replaced, never changed in place
	since     time.Time
	series    map[series]history.Series
	judged    []SeriesState // of series and measured
	changed   time.Time     // when a reload changed the interval; zero: it did not
	skipped   *refusal      // why the last due run was not started; nil when it was
	skippedAt time.Time
	owed      time.Time // during a hold: when its schedule would have it due next
	busy      int       // skips in a row because others use the disk
	trouble   string    // how the last runs ended, when somebody should look at it; "" when all is well
}

type coldRatio struct {
	value float64
	at    time.Time
}

// Phases of TargetState.Phase.
const (
	phaseInspecting = "inspecting"
	phaseFilling    = "filling"
	phaseProbing    = "probing"
	phaseWaiting    = "waiting"
	phaseStuck      = "stuck"
	phaseIdle       = "idle"
)

// recentRuns is how many runs a TargetState shows.
const recentRuns = 50

// newTarget makes a target with what the store knows of it. Monitor.mu is held.
func (m *Monitor) newTarget(t Target, now time.Time) *target {
	n := &target{
		m: m, options: t, schedule: newPasses(m.host, t), phase: phaseInspecting, done: make(chan struct{}), turn: make(chan struct{}, 1),
		events: newEvents(), recent: m.recent[t.Name],
	}
	for i, s := range t.Workloads {
		key := [2]string{t.Name, s.Name}
		w := &workload{Scheduled: s, index: i, since: now, series: map[series]history.Series{}}
		if run, ok := m.saved.Last[key]; ok {
			w.last = &run
			n.lastAttempt = later(n.lastAttempt, run.Start)
		}
		if run, ok := m.saved.Measured[key]; ok {
			w.measured = &run
			if run.Outcome == history.Success { // of a store that did not keep the time by itself yet
				w.success = run.Start
			}
		}
		if at, ok := m.saved.Success[key]; ok {
			w.success = at
		}
		n.lastSuccess = later(n.lastSuccess, w.success)
		for _, s := range allSeries() {
			if saved, ok := m.saved.Series[s.key(t.Name, w.Name)]; ok {
				w.series[s] = saved
			}
		}
		w.judgeSeries()
		n.workloads = append(n.workloads, w)
	}
	n.restoreCold()
	n.makeDue(now)
	return n
}

// inherit takes over the counters and runs of the same target under other options: at once, so that nothing is missing for a
// moment, and again when the old one has ended, with its last words. Monitor.mu is held.
func (t *target) inherit(old *target, now time.Time) {
	t.events, t.recent, t.lastAttempt, t.lastSuccess, t.stuck = old.events, old.recent, old.lastAttempt, old.lastSuccess, old.stuck
	if t.options.Dir != old.options.Dir {
		t.forget()
		return
	}
	t.fs, t.file, t.cold = old.fs, old.file, old.cold
	for _, w := range t.workloads {
		for _, o := range old.workloads {
			if o.Name == w.Name {
				w.last, w.measured, w.success, w.latency, w.since, w.series, w.trouble = o.last, o.measured, o.success, o.latency, o.since, o.series, o.trouble
				w.changed = o.changed
				if w.Interval != o.Interval && w.measured != nil && !o.missed(w.measured.Start, now) {
					w.changed = now
				}
				w.judgeSeries()
			}
		}
	}
	t.phase = t.restingPhase()
}

// forget drops the figures of another place: they say nothing about this one. Monitor.mu is held.
func (t *target) forget() {
	t.cold, t.lastSuccess = nil, time.Time{}
	for _, w := range t.workloads {
		w.last, w.measured, w.success, w.series = nil, nil, time.Time{}, map[series]history.Series{}
		w.judgeSeries()
	}
}

// loop lives as long as the target. The schedule's passes come from cron; what loop adds is the first pass, as soon as
// there is something to probe.
func (t *target) loop(ctx context.Context, previous *target) {
	defer close(t.done)
	if previous != nil {
		<-previous.done // its child gets its time to end, which is bounded
		t.m.change(func() {
			now := time.Now()
			t.inherit(previous, now)
			t.makeDue(now)
		})
	}
	select {
	case <-t.m.firstPoll:
	case <-time.After(t.m.pace.firstPollWait):
	case <-ctx.Done():
		return
	}
	logger := cronLogger{t.m.log}
	t.job = cron.NewChain(cron.SkipIfStillRunning(logger), cron.Recover(logger)).Then(cron.FuncJob(func() { t.pass(ctx) }))
	entry := t.m.cron.Schedule(timetable{t}, t.job)
	defer t.m.cron.Remove(entry)
	t.prepare(ctx)
	<-ctx.Done()
	t.turn <- struct{}{} // a pass that cron started bounds itself once its context has ended
}

// prepare runs passes, ever more rarely, until there is something to probe and every workload has been run once. After a while a
// disk that is busy again and again is left to the schedule.
func (t *target) prepare(ctx context.Context) {
	wait := t.m.pace.retry
	for tries := 0; ; {
		t.job.Run()
		ready, missing := t.progressOf()
		if ready {
			tries++
		}
		if ready && (!missing || tries > firstTries) {
			return
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		wait = min(2*wait, t.m.pace.retryMost)
		t.m.change(func() { t.makeFirstDue(time.Now()) })
	}
}

// firstTries is how often a first run is tried outside of the schedule.
const firstTries = 5

// progressOf says whether there is something to probe, and whether the first run of a workload is missing only because others
// needed the disk just then.
func (t *target) progressOf() (ready, missing bool) {
	t.m.mu.Lock()
	defer t.m.mu.Unlock()
	for _, w := range t.workloads {
		if w.last == nil && w.skipped != nil && (w.skipped.reason == SkipBusy || w.skipped.reason == SkipUnfinished) {
			missing = true
		}
	}
	return t.ready, missing
}

func (t *target) isReady() bool {
	ready, _ := t.progressOf()
	return ready
}

// makeFirstDue makes due what has never been run.
func (t *target) makeFirstDue(now time.Time) {
	for _, w := range t.workloads {
		if w.last == nil && t.ready {
			w.next = now
		}
	}
}

// makeDue sets when each workload is due: at once when its last attempt is older than its interval, else by the schedule.
func (t *target) makeDue(now time.Time) {
	for _, w := range t.workloads {
		w.next = t.schedule.next(w.index, now)
		if w.last == nil || now.Sub(w.last.Start) >= w.Interval || w.last.Start.After(now) {
			w.next = now
		}
	}
}

// due are the workloads whose time has come, smallest writes first, in the profile's order among equals. Monitor.mu is held.
func (t *target) due(now time.Time) []*workload {
	var due []*workload
	for _, w := range t.workloads {
		if w.isDue(now) {
			due = append(due, w)
		}
	}
	slices.SortStableFunc(due, func(a, b *workload) int {
		return int(min(1, max(-1, a.MaxWritten()-b.MaxWritten())))
	})
	return due
}

func (w *workload) isDue(now time.Time) bool { return !w.next.IsZero() && !w.next.After(now) }

func (t *target) anyDue() bool {
	t.m.mu.Lock()
	defer t.m.mu.Unlock()
	return len(t.due(time.Now())) > 0
}

func newEvents() Events {
	e := Events{
		Runs: map[history.Outcome]uint64{}, Skipped: map[Skip]uint64{}, Aborted: map[Abort]uint64{},
		Invalid: map[engine.Invalid]uint64{}, IOErrors: map[string]uint64{},
	}
	for _, o := range history.Outcomes() {
		e.Runs[o] = 0
	}
	for _, s := range Skips() {
		e.Skipped[s] = 0
	}
	for _, a := range Aborts() {
		e.Aborted[a] = 0
	}
	for _, i := range Invalids() {
		e.Invalid[i] = 0
	}
	return e
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
