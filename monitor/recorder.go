package monitor

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"

	"ssd_exporter/blockdev"
	"ssd_exporter/monitor/history"
)

// recorder stores what changed, on a goroutine of its own: a disk under the store that hangs stops neither probing nor
// publishing. A run is stored as soon as it is recorded, so that kill -9 costs the run in flight and no other; what its commit
// writes then falls into the guard's window before the next run, not into a probe. What waits for a store that is busy is
// bounded, and merged into one transaction: a commit writes some 33 KB however small it is.
type recorder struct {
	store keeper
	log   *slog.Logger
	pace  pace
	tell  func(problem string) // shows a problem of the store, "" when it is gone

	mu      sync.Mutex
	waiting history.Commit
	dropped int
	added   uint64        // changes, ever
	stored  uint64        // of these, as far as the store has taken or refused them
	failed  error         // of the last commit
	changed chan struct{} // closed and replaced when stored has moved
	since   time.Time     // of the commit that is under way; zero: none is
	wake    chan struct{} // a run, or what a person did, waits; holds one token
	quit    chan struct{}
	done    chan struct{}
}

// keeper is the store as the recorder uses it; *history.Store is one.
type keeper interface {
	Commit(history.Commit) error
	Expire(now time.Time) error
	Runs(target string, since time.Time, each func(history.Run) error) error
	Path() string
}

// waitingRuns bounds the runs that wait for a store that does not answer; the oldest go first.
const waitingRuns = 1000

func newRecorder(s keeper, log *slog.Logger, p pace, tell func(string)) *recorder {
	return &recorder{
		store: s, log: log, pace: p, tell: tell,
		wake: make(chan struct{}, 1), quit: make(chan struct{}), done: make(chan struct{}), changed: make(chan struct{}),
	}
}

// add queues a change. Runs are stored at once, readings with the next commit: they come every minute, and the last one counts.
func (r *recorder) add(c history.Commit) {
	r.mu.Lock()
	defer r.mu.Unlock()
	w := &r.waiting
	r.added++
	w.Runs = append(w.Runs, c.Runs...)
	if n := len(w.Runs) - waitingRuns; n > 0 {
		w.Runs = append([]history.Run(nil), w.Runs[n:]...)
		r.dropped += n
	}
	w.Samples = mergeSamples(w.Samples, c.Samples)
	w.Series = mergeMaps(w.Series, c.Series)
	w.Marks = mergeMaps(w.Marks, c.Marks)
	w.Paused = cmp.Or(c.Paused, w.Paused)
	if len(c.Runs)+len(c.Series) > 0 || c.Paused != nil {
		select {
		case r.wake <- struct{}{}:
		default:
		}
	}
}

// loop commits until close, and once more then.
func (r *recorder) loop() {
	defer close(r.done)
	flush := time.NewTicker(r.pace.flush)
	defer flush.Stop()
	expire := time.NewTicker(time.Hour)
	defer expire.Stop()
	for {
		select {
		case <-r.wake:
			r.commit()
		case <-flush.C:
			r.commit()
		case <-expire.C:
			if err := r.store.Expire(time.Now()); err != nil {
				r.log.Warn("old runs are not dropped", "err", err)
			}
		case <-r.quit:
			r.commit()
			return
		}
	}
}

func (r *recorder) commit() {
	r.mu.Lock()
	c, dropped, added := r.waiting, r.dropped, r.added
	r.waiting, r.dropped = history.Commit{}, 0
	empty := len(c.Runs)+len(c.Samples)+len(c.Series)+len(c.Marks) == 0 && c.Paused == nil
	if !empty {
		r.since = time.Now()
	}
	r.mu.Unlock()
	if empty {
		return
	}
	if dropped > 0 {
		r.log.Warn("runs were not stored: the store did not keep up", "runs", dropped)
	}
	err := r.store.Commit(c)
	r.mu.Lock()
	r.since, r.stored, r.failed = time.Time{}, added, err
	close(r.changed)
	r.changed = make(chan struct{})
	r.mu.Unlock()
	if err != nil {
		r.tell("history is not stored: " + err.Error())
		return
	}
	r.tell("")
}

// await waits until the store has taken what was added so far; the error says that it has not.
func (r *recorder) await(ctx context.Context) error {
	r.mu.Lock()
	want := r.added
	r.mu.Unlock()
	for {
		r.mu.Lock()
		stored, failed, changed := r.stored, r.failed, r.changed
		r.mu.Unlock()
		if stored >= want {
			return failed
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("%s does not answer, its disk may hang: %w", r.store.Path(), ctx.Err())
		}
	}
}

// late says since when a commit has been under way, when that is longer than it may take; the store's disk hangs then.
func (r *recorder) late(now time.Time) (since time.Time, late bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.since, !r.since.IsZero() && now.Sub(r.since) >= r.pace.commit
}

// close commits what waits, for at most so long.
func (r *recorder) close(wait time.Duration) {
	close(r.quit)
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-r.done:
	case <-t.C:
		r.log.Warn("the last changes may not be stored: the store does not answer", "path", r.store.Path())
	}
}

// mergeSamples keeps the last sample of each disk.
func mergeSamples(old, add []history.Sample) []history.Sample {
	by := map[blockdev.ID]int{}
	for i, s := range old {
		by[s.Disk] = i
	}
	for _, s := range add {
		if i, ok := by[s.Disk]; ok {
			old[i] = s
		} else {
			by[s.Disk] = len(old)
			old = append(old, s)
		}
	}
	return old
}

func mergeMaps[K comparable, V any](old, add map[K]V) map[K]V {
	if old == nil {
		return maps.Clone(add)
	}
	maps.Copy(old, add)
	return old
}
