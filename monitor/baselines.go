package monitor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"ssd_exporter/monitor/history"
	"ssd_exporter/monitor/trend"
)

// ErrUnknown says that a person named a target or workload that there is none of.
var ErrUnknown = errors.New("not known")

// Units of BaselineState.
const (
	UnitIOPS    = "iops"    // larger is better
	UnitSeconds = "seconds" // larger is worse
	UnitRatio   = "ratio"   // share of I/Os, 0 to 1; larger is worse
)

// BaselineState is one series as it is shown to a person who decides over its baseline.
type BaselineState struct {
	Target, Workload string
	Op, Signal       string // as in SeriesState
	Unit             string // of Baseline and Last
	Runs             int    // clean runs learned
	Baseline         *float64
	Last             *float64  // of the last measured run, however old
	Degradation      *float64  // as in SeriesState
	Since            time.Time // when a person accepted or reset it; zero: it is the first
	Earlier          int       // baselines kept beside it
}

// BaselineChange is what became of the baseline of one workload.
type BaselineChange struct {
	Target, Workload string
	Runs             int    // that the new baseline is made of; 0 after a reset
	Kept             string // why the old one was kept, in words; "" when it was not
}

// Baselines are all series of all targets, by target, in the profile's order.
func (m *Monitor) Baselines() []BaselineState {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []BaselineState
	for _, name := range slices.Sorted(maps.Keys(m.targets)) {
		for _, w := range m.targets[name].workloads {
			all = append(all, w.baselines(name)...)
		}
	}
	return all
}

func (w *workload) baselines(target string) []BaselineState {
	var all []BaselineState
	for _, st := range w.judged {
		s := series{st.Op, st.Signal}
		learned := s
		if s.signal == signalTail {
			learned.signal = signalP99
		}
		saved := w.series[learned]
		b := BaselineState{
			Target: target, Workload: w.Name, Op: s.op, Signal: s.signal, Unit: UnitSeconds, Runs: st.Runs,
			Baseline: st.Baseline, Degradation: st.Degradation, Since: saved.Since, Earlier: len(saved.Earlier),
		}
		b.show(s, saved, w.measured)
		all = append(all, b)
	}
	return all
}

// show fills in the last value, in the unit that people know.
func (b *BaselineState) show(s series, saved history.Series, r *history.Run) {
	if s.signal == signalTail {
		b.Unit = UnitRatio
		if _, learned := saved.Baseline.Centre(); learned {
			b.Baseline = new(trend.TailShare)
		}
		if b.Degradation != nil {
			b.Last = new(s.of(r).Tail.Share)
		}
		return
	}
	if r != nil {
		if x, ok := s.sample(r); ok {
			b.Last = &x
		}
	}
	if s.signal == signalRate {
		b.Unit, b.Baseline, b.Last = UnitIOPS, inverse(b.Baseline), inverse(b.Last)
	}
}

func inverse(x *float64) *float64 {
	if x == nil || *x <= 0 {
		return nil
	}
	return new(1 / *x)
}

// acceptRuns is how many of the newest clean runs an accepted baseline is made of at most: enough for a median that holds, few
// enough to be of the time after what has changed. Later clean runs go on to be learned.
const acceptRuns = 24

// acceptWithin is how old they may be.
const acceptWithin = history.KeepRuns

// AcceptBaseline makes the newest clean runs of a workload its baseline; of all workloads of the target when name is "". What
// it replaces is kept beside it. The error is ErrUnknown, or says that the store does not answer.
func (m *Monitor) AcceptBaseline(ctx context.Context, target, name string) ([]BaselineChange, error) {
	if err := m.known(target, name); err != nil {
		return nil, err
	}
	runs, err := m.cleanRuns(ctx, target)
	if err != nil {
		return nil, err
	}
	return m.changeBaselines(ctx, target, name, func(w *workload, now time.Time) (map[series]history.Series, BaselineChange) {
		newest := sameKind(runs[w.Name])
		change := BaselineChange{Target: target, Workload: w.Name, Runs: len(newest)}
		if len(newest) < trend.MinRuns {
			change.Runs = 0
			change.Kept = fmt.Sprintf("%d clean runs alike are known, and a baseline needs %d", len(newest), trend.MinRuns)
			return nil, change
		}
		accepted := map[series]history.Series{}
		for _, s := range allSeries() {
			n := history.Series{Fingerprint: newest[0].Fingerprint, Since: now}
			for _, r := range newest {
				if x, ok := s.sample(&r); ok {
					n.Baseline.Learn(x)
				}
			}
			if n.Baseline.Runs() > 0 {
				accepted[s] = n
			}
		}
		return accepted, change
	})
}

// ResetBaseline forgets what a workload is compared with, and learns anew from its next clean runs; of all workloads of the target
// when name is "". What it replaces is kept beside. The error is ErrUnknown, or says that it is not stored.
func (m *Monitor) ResetBaseline(ctx context.Context, target, name string) ([]BaselineChange, error) {
	return m.changeBaselines(ctx, target, name, func(w *workload, now time.Time) (map[series]history.Series, BaselineChange) {
		change := BaselineChange{Target: target, Workload: w.Name}
		begun := map[series]history.Series{}
		for s, old := range w.series {
			if old.Baseline.Runs() > 0 {
				begun[s] = history.Series{Fingerprint: old.Fingerprint, Since: now}
			}
		}
		if len(begun) == 0 {
			change.Kept = "it has learned nothing yet"
		}
		return begun, change
	})
}

// changeBaselines puts new series in place of old ones, stores them and says who did what.
func (m *Monitor) changeBaselines(ctx context.Context, target, name string, decide func(*workload, time.Time) (map[series]history.Series, BaselineChange)) ([]BaselineChange, error) {
	if err := m.known(target, name); err != nil {
		return nil, err
	}
	var all []BaselineChange
	m.change(func() {
		t := m.targets[target]
		if t == nil {
			return // a reload has just taken it away
		}
		now := time.Now().Round(0)
		changed := map[history.Key]history.Series{}
		for _, w := range t.workloads {
			if name != "" && w.Name != name {
				continue
			}
			replaced, change := decide(w, now)
			for s, n := range replaced {
				old := withFingerprint(w.series[s], n.Fingerprint)
				old.Replaced = now
				n.Earlier = keptBeside(old.Earlier, old)
				w.series[s] = n
				changed[s.key(target, w.Name)] = n
			}
			w.judgeSeries()
			all = append(all, change)
			m.log.Info("baseline changed by hand", "target", target, "workload", w.Name, "runs", change.Runs, "kept", change.Kept)
		}
		if len(changed) > 0 {
			m.record(history.Commit{Series: changed})
		}
	})
	return all, m.remembered(ctx)
}

// known says which target or workload there is none of, and which there are.
func (m *Monitor) known(target, workload string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.targets[target]
	if t == nil {
		return fmt.Errorf("target %q is %w; there are: %s", target, ErrUnknown, listed(slices.Sorted(maps.Keys(m.targets))))
	}
	var names []string
	for _, w := range t.workloads {
		names = append(names, w.Name)
	}
	if workload != "" && !slices.Contains(names, workload) {
		return fmt.Errorf("workload %q of target %q is %w; there are: %s", workload, target, ErrUnknown, listed(names))
	}
	return nil
}

func listed(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// cleanRuns are a target's clean runs by workload, oldest first. The store's disk may hang, so ctx bounds the wait.
func (m *Monitor) cleanRuns(ctx context.Context, target string) (map[string][]history.Run, error) {
	if m.recorder == nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		var recent []history.Run
		if t := m.targets[target]; t != nil {
			recent = slices.Clone(t.recent)
		}
		slices.Reverse(recent)
		runs := map[string][]history.Run{}
		for i := range recent {
			keepClean(runs, &recent[i])
		}
		return runs, nil
	}
	type result struct {
		runs map[string][]history.Run
		err  error
	}
	done := make(chan result, 1)
	go func() {
		runs := map[string][]history.Run{}
		err := m.recorder.store.Runs(target, time.Now().Add(-acceptWithin), func(r history.Run) error {
			keepClean(runs, &r)
			return ctx.Err()
		})
		done <- result{runs, err}
	}()
	select {
	case r := <-done:
		if r.err != nil {
			return nil, fmt.Errorf("reading the runs of target %q: %w", target, r.err)
		}
		return r.runs, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("reading the runs of target %q from %s, whose disk may hang: %w", target, m.recorder.store.Path(), ctx.Err())
	}
}

// keepClean keeps the newest clean runs of each workload, twice as many as may be needed: some may be of another kind.
func keepClean(runs map[string][]history.Run, r *history.Run) {
	if r.Outcome != history.Success {
		return
	}
	runs[r.Workload] = append(runs[r.Workload], *r)
	runs[r.Workload] = runs[r.Workload][max(0, len(runs[r.Workload])-2*acceptRuns):]
}

// sameKind are the newest runs that were measured as the very newest was: on the same disks, with the same engine.
func sameKind(runs []history.Run) []history.Run {
	if len(runs) == 0 {
		return nil
	}
	last := runs[len(runs)-1]
	alike := slices.DeleteFunc(slices.Clone(runs), func(r history.Run) bool {
		return r.Fingerprint != last.Fingerprint || !slices.Equal(r.Disks, last.Disks)
	})
	return alike[max(0, len(alike)-acceptRuns):]
}
