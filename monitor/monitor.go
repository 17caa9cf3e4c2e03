package monitor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/robfig/cron/v3"

	"ssd_exporter/blockdev"
	"ssd_exporter/engine/ledger"
	"ssd_exporter/monitor/history"
)

// Monitor probes and reads the disks of one host and keeps a Snapshot of what it knows. New, Run once, Apply and Snapshot at any
// time and from any goroutine.
type Monitor struct {
	host     string
	log      *slog.Logger
	accounts accounts // nil: nothing is written
	start    Starter
	pace     pace
	gates    *gates
	cron     *cron.Cron
	recorder *recorder // nil: nothing is stored

	snapshot      atomic.Pointer[Snapshot]
	firstPoll     chan struct{} // closed once every disk was asked, or hung
	firstPollOnce sync.Once
	wakePolls     chan struct{} // holds one token
	accountsDue   chan struct{} // holds one token
	filesBusy     atomic.Bool
	background    sync.WaitGroup

	applying sync.Mutex // one Apply at a time; taken before mu

	mu      sync.Mutex // guards what follows, and the fields of disks and targets
	options Options
	paused  time.Time // no run starts until then
	started time.Time
	ctx     context.Context // of Run; nil before
	saved   history.State   // what the store knows, or would know if there were one
	recent  map[string][]history.Run
	disks   map[string]*disk   // by kernel name, or "file:" and ID
	targets map[string]*target // by name
	notes   map[string]string  // by what they are about
	outbox  []history.Commit   // for the store, once the Snapshot that shows it is published
}

// pace is every time that is not in Options; tests shorten some.
type pace struct {
	publish       time.Duration // the longest time between two snapshots
	retry         time.Duration // of a target that cannot be probed; doubles up to …
	retryMost     time.Duration
	inspect       time.Duration // patience with a child that only looks
	open          time.Duration // patience with a child that opens, proves and repairs the probe file
	fillIdle      time.Duration // patience with a fill that makes no progress
	commandWait   time.Duration // for a S.M.A.R.T. read to end
	firstPollWait time.Duration
	flush         time.Duration // readings wait at most so long for a commit
	commit        time.Duration // the longest time that a commit may take before it is a problem
	shutdown      time.Duration // for everything to end
}

func defaultPace() pace {
	return pace{
		publish: 15 * time.Second, retry: time.Minute, retryMost: 15 * time.Minute,
		inspect: 10 * time.Second, open: time.Minute, fillIdle: 15 * time.Second, commandWait: 45 * time.Second, firstPollWait: 25 * time.Second,
		flush: 5 * time.Minute, commit: 10 * time.Second, shutdown: 5 * time.Second,
	}
}

// New makes a Monitor that does nothing until Run. s may be nil: then nothing is stored or remembered. l may be nil: then nothing
// is written to any disk. Both stay the caller's to close, after Run has returned.
func New(o Options, s *history.Store, l *ledger.Ledger, start Starter) (*Monitor, error) {
	if start == nil {
		return nil, errors.New("monitor: no way to start a worker")
	}
	var a accounts
	if l != nil {
		a = ledgerAccounts{l}
	}
	return newMonitor(o, s, a, start, defaultPace())
}

func newMonitor(o Options, s *history.Store, a accounts, start Starter, p pace) (*Monitor, error) {
	o, err := o.checked()
	if err != nil {
		return nil, err
	}
	m := &Monitor{
		host: o.Host, log: cmp.Or(o.Log, slog.New(slog.DiscardHandler)), accounts: a, start: start, pace: p, gates: newGates(),
		firstPoll: make(chan struct{}), wakePolls: make(chan struct{}, 1), accountsDue: make(chan struct{}, 1),
		options: o, started: time.Now(), recent: map[string][]history.Run{},
		disks: map[string]*disk{}, targets: map[string]*target{}, notes: map[string]string{},
	}
	if m.host == "" {
		if m.host, err = os.Hostname(); err != nil {
			return nil, fmt.Errorf("monitor: the host's name, which spreads schedules over a fleet: %w", err)
		}
	}
	logger := cronLogger{m.log}
	m.cron = cron.New(cron.WithLocation(time.UTC), cron.WithLogger(logger))
	if s != nil {
		if err := m.remember(s); err != nil {
			return nil, err
		}
	}
	m.change(func() { m.showPause(time.Now()) })
	return m, nil
}

// checked refuses options that could not work, and fills in defaults.
func (o Options) checked() (Options, error) {
	o.Roots = o.Roots.WithDefaults()
	o.Guards = o.Guards.withDefaults()
	o.Smart.NVMeInterval = cmp.Or(o.Smart.NVMeInterval, time.Minute)
	o.Smart.Interval = cmp.Or(o.Smart.Interval, 10*time.Minute)
	o.Smart.Timeout = cmp.Or(o.Smart.Timeout, 20*time.Second)
	o.Smart.MaxAge = cmp.Or(o.Smart.MaxAge, 26*time.Hour)
	if o.Quiet.Free() <= 0 {
		return o, errors.New("monitor: quiet hours leave no time for probes")
	}
	names := map[string]bool{}
	for _, t := range o.Targets {
		if t.Name == "" || t.Dir == "" || names[t.Name] {
			return o, fmt.Errorf("monitor: target %q in %q: name and folder must be given, and the name be its only one", t.Name, t.Dir)
		}
		names[t.Name] = true
		for _, w := range t.Workloads {
			if w.Schedule == nil || w.Interval <= 0 {
				return o, fmt.Errorf("monitor: target %q: workload %s has no schedule", t.Name, w.Name)
			}
			if err := w.Validate(); err != nil {
				return o, fmt.Errorf("monitor: target %q: workload %s: %w", t.Name, w.Name, err)
			}
		}
	}
	return o, nil
}

// remember takes up what an earlier start stored.
func (m *Monitor) remember(s *history.Store) error {
	var err error
	if m.saved, err = s.Load(); err != nil {
		return fmt.Errorf("monitor: %w", err)
	}
	m.paused = m.saved.Paused
	err = s.Runs("", time.Now().Add(-48*time.Hour), func(r history.Run) error {
		m.recent[r.Target] = append(m.recent[r.Target], r)
		return nil
	})
	if err != nil {
		return fmt.Errorf("monitor: recent runs: %w", err)
	}
	for name, runs := range m.recent {
		runs = runs[max(0, len(runs)-recentRuns):]
		slices.Reverse(runs)
		m.recent[name] = runs
	}
	if path, why := s.SetAside(); path != "" {
		m.notes["history"] = fmt.Sprintf("history was set aside as %s (%s); a new one has begun", path, why)
	}
	if n := m.saved.Unreadable; n > 0 {
		m.notes["rows"] = fmt.Sprintf("%d rows of the history could not be read and were left out", n)
	}
	m.recorder = newRecorder(s, m.log, m.pace, func(problem string) {
		m.change(func() { m.note("store", problem) })
	})
	return nil
}

// Run works until ctx ends. Then it aborts what runs, settles, stores, and returns within five seconds, whatever hangs.
func (m *Monitor) Run(ctx context.Context) error {
	work, stop := context.WithCancel(ctx)
	defer stop()
	if m.recorder != nil {
		go m.recorder.loop()
	}
	m.cron.Start()
	m.background.Go(func() { m.pollLoop(work) })
	m.background.Go(func() { m.accountLoop(work) })
	m.applying.Lock()
	m.mu.Lock()
	m.ctx = work
	m.mu.Unlock()
	m.reconcile()
	m.applying.Unlock()

	tick := time.NewTicker(m.pace.publish)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			m.refreshAccounts()
			m.change(func() {
				m.watchStore()
				m.showPause(time.Now())
			})
		case <-ctx.Done():
			m.end()
			return nil
		}
	}
}

// end waits for what runs, for a bounded time, and stores the rest.
func (m *Monitor) end() {
	deadline := time.Now().Add(m.pace.shutdown)
	jobs := m.cron.Stop()
	idle := make(chan struct{})
	go func() {
		m.background.Wait()
		<-jobs.Done()
		close(idle)
	}()
	t := time.NewTimer(m.pace.shutdown - time.Second/2)
	defer t.Stop()
	select {
	case <-idle:
	case <-t.C:
		m.log.Warn("leaving while a disk still does not answer")
	}
	if m.recorder != nil {
		m.recorder.close(max(time.Second/2, time.Until(deadline)))
	}
	m.change(func() {})
}

// Apply replaces the options without losing state: targets that did not change go on undisturbed. Roots, StateDir, Host and Log
// stay as they were at New. On an error nothing changes.
func (m *Monitor) Apply(o Options) error {
	o, err := o.checked()
	if err != nil {
		return err
	}
	m.applying.Lock()
	defer m.applying.Unlock()
	m.mu.Lock()
	o.Roots, o.StateDir, o.Host, o.Log = m.options.Roots, m.options.StateDir, m.options.Host, m.options.Log
	m.options = o
	running := m.ctx != nil && m.ctx.Err() == nil
	m.mu.Unlock()
	if running {
		m.reconcile()
		wake(m.wakePolls)
	}
	return nil
}

// reconcile starts, restarts and ends targets so that they are those of the options. Monitor.applying is held.
func (m *Monitor) reconcile() {
	m.change(func() {
		now := time.Now()
		wanted := map[string]bool{}
		for _, t := range m.options.Targets {
			wanted[t.Name] = true
			old := m.targets[t.Name]
			if old != nil && reflect.DeepEqual(old.options, t) {
				old.endHold(now) // quiet hours may have changed
				continue
			}
			n := m.newTarget(t, now)
			if old != nil {
				old.cancel()
				n.inherit(old, now)
				n.makeDue(now)
			}
			m.targets[t.Name] = n
			ctx, cancel := context.WithCancel(m.ctx)
			n.cancel = cancel
			m.background.Go(func() { n.loop(ctx, old) })
		}
		for name, t := range m.targets {
			if !wanted[name] {
				t.cancel()
				delete(m.targets, name)
				m.recent[name] = t.recent // a reload may bring it back
			}
		}
	})
}

// Snapshot never blocks and is never nil.
func (m *Monitor) Snapshot() *Snapshot { return m.snapshot.Load() }

// change changes the state and publishes it. f must not block.
func (m *Monitor) change(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f()
	m.snapshot.Store(m.build(time.Now()))
	for _, c := range m.outbox {
		m.recorder.add(c)
	}
	m.outbox = nil
}

// record remembers a change and queues it for the store; change hands it over once the Snapshot that shows it is published.
// Monitor.mu is held.
func (m *Monitor) record(c history.Commit) {
	m.saved.Take(c)
	if m.recorder != nil {
		m.outbox = append(m.outbox, c)
	}
}

// remembered waits until what a person has just changed is stored: a kill or a power cut right after the answer must not undo it.
func (m *Monitor) remembered(ctx context.Context) error {
	if m.recorder == nil {
		return nil
	}
	if err := m.recorder.await(ctx); err != nil {
		return fmt.Errorf("it is in force, but a restart would forget it, since it is not stored: %w", err)
	}
	return nil
}

// watchStore notes a commit that does not end.
func (m *Monitor) watchStore() {
	if m.recorder == nil {
		return
	}
	if since, late := m.recorder.late(time.Now()); late {
		m.note("store", fmt.Sprintf("history has not been stored since %s UTC: the disk under %s does not answer", since.UTC().Format(time.DateTime), m.options.StateDir))
	}
}

func (m *Monitor) currentOptions() Options {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.options
}

func (m *Monitor) diskKeys() []string { return slices.Sorted(maps.Keys(m.disks)) }

// sortedDisks are all disks in a fixed order.
func (m *Monitor) sortedDisks() []*disk {
	all := make([]*disk, 0, len(m.disks))
	for _, k := range m.diskKeys() {
		all = append(all, m.disks[k])
	}
	return all
}

// knowLeaves looks for disks again when a leaf is not among those known: it may have been plugged in since the last poll.
func (m *Monitor) knowLeaves(fs *blockdev.Filesystem) {
	m.mu.Lock()
	missing := slices.ContainsFunc(fs.Leaves, func(name string) bool {
		return !slices.ContainsFunc(m.sortedDisks(), func(d *disk) bool { return d.kernel != nil && d.kernel.Has(name) })
	})
	roots := m.options.Roots
	m.mu.Unlock()
	if !missing {
		return
	}
	if found, err := blockdev.Disks(roots); err == nil {
		m.change(func() { m.scan(found) })
	}
}

func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
