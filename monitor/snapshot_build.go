package monitor

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"ssd_exporter/blockdev"
)

// build makes a Snapshot of the state. It shares only what nobody changes any more. Monitor.mu is held.
func (m *Monitor) build(now time.Time) *Snapshot {
	s := &Snapshot{At: now, Started: m.started}
	below := map[*disk]bool{}
	for _, t := range m.targets {
		ts := m.buildTarget(t, now)
		s.Targets = append(s.Targets, ts)
		for _, d := range m.disks {
			if t.fs != nil && d.kernel != nil && slices.ContainsFunc(t.fs.Leaves, d.kernel.Has) {
				below[d] = true
			}
		}
	}
	for _, d := range m.disks {
		s.Disks = append(s.Disks, m.buildDisk(d, below[d], now))
	}
	for _, about := range slices.Sorted(maps.Keys(m.notes)) {
		if m.notes[about] != "" {
			s.Notes = append(s.Notes, m.notes[about])
		}
	}
	slices.SortFunc(s.Disks, func(a, b DiskState) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(s.Targets, func(a, b TargetState) int { return cmp.Compare(a.Name, b.Name) })
	return s
}

func (m *Monitor) buildDisk(d *disk, probed bool, now time.Time) DiskState {
	s := DiskState{
		ID: d.id, Identity: d.identity, Smart: d.smartState(), Health: d.health,
		Rated: rating(m.options.Ratings, d.identity.Model), Corrections: maps.Clone(d.marks.Corrections),
	}
	if d.kernel != nil {
		k := *d.kernel
		s.Kernel = &k
		if now.Sub(d.ioAt) >= countersFresh || now.Before(d.ioAt) {
			d.io, d.ioAt = m.counters(d.kernel), now
		}
		s.IO = d.io
	}
	if d.account != nil {
		s.Written = maps.Clone(d.account.Written)
		if probed {
			a := *d.account
			a.Written, a.Reserved = s.Written, maps.Clone(a.Reserved)
			s.Budget = &a
		}
	}
	return s
}

// countersFresh is how long I/O counters serve: changes come in bursts, and a Snapshot follows each.
const countersFresh = time.Second

// counters are the kernel's I/O counters of a disk, over all its namespaces; nil when one cannot be read.
func (m *Monitor) counters(k *blockdev.Disk) *blockdev.Counters {
	devices := k.Namespaces
	if len(devices) == 0 {
		devices = []string{k.Kernel}
	}
	var sum *blockdev.Counters
	for _, name := range devices {
		c, err := blockdev.Read(m.options.Roots, name)
		if err != nil {
			return nil
		}
		if sum != nil {
			c = sum.Add(c)
		}
		sum = &c
	}
	return sum
}

func (m *Monitor) buildTarget(t *target, now time.Time) TargetState {
	s := TargetState{
		Name: t.options.Name, Dir: t.options.Dir, Profile: t.options.Profile, Filesystem: t.fs, Disks: ids(m.leaves(t.fs)),
		Phase: t.phase, Progress: t.progress, Problem: t.problem, Stuck: t.stuck,
		LastAttempt: t.lastAttempt, LastSuccess: t.lastSuccess, Events: t.events.clone(), Recent: t.recent,
	}
	if t.file != nil {
		s.FileSize = t.file.Size
		if t.file.Filled && t.file.Created > 0 {
			s.ColdSince = time.Unix(t.file.Created, 0)
		}
	}
	for _, w := range t.workloads {
		s.Workloads = append(s.Workloads, w.build(now))
		if w.Name == coldWorkload && t.cold != nil && !w.missed(t.cold.at, now) {
			ratio := t.cold.value
			s.ColdRatio = &ratio
		}
	}
	return s
}

func (w *workload) build(now time.Time) WorkloadState {
	s := WorkloadState{Workload: w.Workload, Interval: w.Interval, Next: w.next, Last: w.last, Expired: w.last != nil && w.missed(w.last.Start, now), Latency: w.latency, Since: w.since, LastSuccess: w.success}
	if w.measured != nil && !w.missed(w.measured.Start, now) {
		s.Measured = w.measured
	}
	if w.skipped != nil {
		s.Skipped, s.SkippedAt, s.SkippedWhy = w.skipped.reason, w.skippedAt, w.skipped.text
	}
	s.Series = slices.Clone(w.judged)
	if s.Measured == nil {
		for i := range s.Series {
			s.Series[i].Degradation = nil
		}
	}
	return s
}

// missed says that three intervals have gone by since: figures so old are no longer shown. The tenth of an interval on top is for
// passes that wait for their disk. Those of a schedule that a reload has changed are missed from then on only.
func (w *workload) missed(since, now time.Time) bool {
	return now.Sub(later(since, w.changed)) > 3*w.Interval+w.Interval/10
}

func (e Events) clone() Events {
	return Events{
		Runs: maps.Clone(e.Runs), Skipped: maps.Clone(e.Skipped), Aborted: maps.Clone(e.Aborted),
		Invalid: maps.Clone(e.Invalid), IOErrors: maps.Clone(e.IOErrors), Verify: e.Verify,
	}
}
