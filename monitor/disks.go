package monitor

import (
	"maps"
	"slices"
	"time"

	"ssd_exporter/blockdev"
	"ssd_exporter/engine/ledger"
	"ssd_exporter/monitor/history"
	"ssd_exporter/smart"
)

// disk is one physical or virtual disk, or one that is known from a file only. Monitor.mu guards it.
type disk struct {
	id     blockdev.ID
	kernel *blockdev.Disk // nil: known from a file only
	key    string         // in gates: the kernel name; "" for a disk known from a file only

	identity blockdev.Identity // merged of the kernel's and what was said
	said     blockdev.Identity // by S.M.A.R.T., last; empty: nothing yet
	native   source            // what the poll says
	file     *source           // what a file says; nil when none is of this disk
	health   *smart.Health     // of the source in force, counters held at their marks; nil: none, or too old to be shown
	known    *smart.Health     // the last there ever was, however long ago: a worn disk does not heal when it cannot be read
	marks    *marks
	failures map[smart.Reason]uint64 // reads that failed, of all sources there ever were; nil: none yet

	io   *blockdev.Counters // as of ioAt; replaced, never changed in place
	ioAt time.Time

	account *ledger.Account
	polling bool // a read is under way, perhaps for ever
	polled  time.Time

	afterRead *blockdev.Counters // its I/O when the last read had ended; nil unknown
}

// source is one way by which a disk is read.
type source struct {
	SmartState
	health  *smart.Health // as interpreted; nil: never read, expired or stale
	failed  int           // polls in a row
	changed bool          // health is newer than the published one
}

// failedPolls in a row end the values of a disk.
const failedPolls = 2

// inForce is the source whose values are published: the disk itself while it answers, else a file that is newer than what the disk
// said last. An older one would take its counters back.
func (d *disk) inForce() *source {
	switch {
	case d.file == nil:
		return &d.native
	case d.kernel == nil:
		return d.file
	case d.file.health == nil:
		return &d.native
	case d.native.health == nil, !d.native.Success && d.file.LastRead.After(d.native.LastRead):
		return d.file
	}
	return &d.native
}

// refresh publishes the source in force. It returns whether there is a new reading.
func (d *disk) refresh() bool {
	s := d.inForce()
	if s.health == nil {
		d.health = nil
		return false
	}
	if !s.changed && d.health != nil && d.health.Source == s.health.Source && d.health.At.Equal(s.health.At) {
		return false
	}
	s.changed = false
	d.health = d.marks.hold(s.health)
	d.known = d.health
	return true
}

func (s *source) succeed(h *smart.Health, at time.Time, took time.Duration) {
	s.Polled, s.Success, s.Asleep, s.failed = true, true, false, 0
	s.Reason, s.Problem = "", ""
	s.health, s.LastRead, s.Duration, s.Source = h, at, took, h.Source
	s.changed = true
}

// sleep keeps the values with their age: a disk that sleeps did not fail.
func (s *source) sleep(took time.Duration) {
	s.Polled, s.Success, s.Asleep, s.failed = true, true, true, 0
	s.Reason, s.Problem, s.Duration = "", "", took
}

// fail counts a failed read of one of the disk's sources. The disk counts, since sources come and go and take turns: a counter of
// theirs would fall.
func (d *disk) fail(s *source, reason smart.Reason, problem string, took time.Duration) {
	s.fail(reason, problem, took)
	if d.failures == nil {
		d.failures = noFailures()
	}
	d.failures[closed(reason)]++
}

func (s *source) fail(reason smart.Reason, problem string, took time.Duration) {
	s.Polled, s.Success, s.Asleep = true, false, false
	s.Reason, s.Problem, s.Duration = reason, problem, took
	s.failed++
	if s.failed >= failedPolls || reason == smart.Stale {
		s.health = nil
	}
}

// closed is reason as one of the closed set.
func closed(reason smart.Reason) smart.Reason {
	if !slices.Contains(smart.Reasons(), reason) {
		return smart.Other
	}
	return reason
}

func noFailures() map[smart.Reason]uint64 {
	m := make(map[smart.Reason]uint64)
	for _, r := range smart.Reasons() {
		m[r] = 0
	}
	return m
}

// smartState is for a Snapshot: the state of the source in force, and the failures of all.
func (d *disk) smartState() SmartState {
	st := d.inForce().SmartState
	st.Failures = maps.Clone(d.failures)
	if st.Failures == nil {
		st.Failures = noFailures()
	}
	return st
}

// scan brings the disks in line with the kernel: new ones appear, vanished ones go with all that was known of them.
func (m *Monitor) scan(found []blockdev.Disk) {
	seen := make(map[string]bool, len(found))
	for i := range found {
		k := &found[i]
		key := k.Kernel
		seen[key] = true
		d := m.disks[key]
		if d == nil || replaced(d.kernel, k) {
			d = &disk{key: key, marks: newMarks(history.Marks{})}
			m.disks[key] = d
		}
		d.kernel = k
	}
	for key, d := range m.disks {
		if d.kernel != nil && !seen[key] {
			delete(m.disks, key)
		}
	}
	m.identify()
}

// replaced says that another disk has the kernel name now. A serial number that udev supplies late is no new disk.
func replaced(before, now *blockdev.Disk) bool {
	return before != nil && (before.Capacity != now.Capacity && before.Capacity != 0 ||
		before.Serial != "" && now.Serial != "" && !before.Identity.Same(now.Identity))
}

// identify gives every disk its identity and ID, after a scan or a reading. S.M.A.R.T.'s spelling wins, also that of an earlier
// start, so that an ID does not change when a disk is read for the first time.
func (m *Monitor) identify() {
	all := m.sortedDisks()
	count := map[blockdev.ID]int{}
	for _, d := range all {
		d.identity = m.merged(d)
		count[d.identity.ID()]++
	}
	owner := map[blockdev.ID]bool{}
	for _, d := range all {
		id := d.identity.ID()
		if count[id] > 1 { // makers who number every disk 1: only what else is known tells them apart
			id = blockdev.Identity{WWN: d.identity.WWN, Kernel: d.identity.Kernel}.ID()
		}
		for owner[id] {
			id += "@" + blockdev.ID(d.identity.Kernel)
		}
		owner[id] = true
		if id != d.id {
			m.rename(d, id)
		}
	}
}

// rename gives a disk its ID, and with it what an earlier start knew of it.
func (m *Monitor) rename(d *disk, id blockdev.ID) {
	d.id = id
	if saved, ok := m.saved.Marks[id]; ok && len(d.marks.High) == 0 {
		d.marks = newMarks(saved)
	}
	fresh := d.kernel != nil && d.file == nil && !d.native.Polled && d.native.health == nil
	s, ok := m.saved.Samples[id]
	if ok && d.known == nil {
		d.known = s.Health // also when nothing is read: the disk is as worn as it was
	}
	if ok && fresh && m.options.Smart.Enabled {
		d.native.health, d.native.LastRead, d.native.Source = s.Health, s.At, s.Health.Source
		d.health = s.Health // already held at its marks when it was stored
	}
	d.account = nil
}

func (m *Monitor) merged(d *disk) blockdev.Identity {
	var id blockdev.Identity
	if d.kernel != nil {
		id = d.kernel.Identity
	}
	if d.said != (blockdev.Identity{}) {
		return spelt(id, d.said)
	}
	for _, s := range m.saved.Samples {
		if id.Same(s.Health.Identity) {
			return spelt(id, s.Health.Identity)
		}
	}
	return id
}

// spelt is the kernel's identity in S.M.A.R.T.'s spelling.
func spelt(kernel, said blockdev.Identity) blockdev.Identity {
	id := kernel
	for _, f := range []struct {
		to   *string
		from string
	}{{&id.Model, said.Model}, {&id.Serial, said.Serial}, {&id.WWN, said.WWN}, {&id.Firmware, said.Firmware}} {
		if f.from != "" {
			*f.to = f.from
		}
	}
	if id.Transport == "" {
		id.Transport = said.Transport
	}
	if id.Kernel == "" {
		id.Kernel = said.Kernel
	}
	return id
}

// leaf is what the guards need to know of the disk with this block device.
func (m *Monitor) leaf(device string) leafDisk {
	for _, d := range m.disks {
		if d.kernel == nil || !d.kernel.Has(device) {
			continue
		}
		l := leafDisk{
			id: d.id, kernel: d.key, devices: d.kernel.Namespaces, health: d.health, known: d.known, info: d.kernel,
			asleep: d.inForce().Asleep, mmc: d.kernel.Transport == "mmc",
		}
		if len(l.devices) == 0 {
			l.devices = []string{d.kernel.Kernel}
		}
		return l
	}
	return leafDisk{id: blockdev.Identity{Kernel: device}.ID(), kernel: device, devices: []string{device}}
}

// leaves are the disks below a target, each once.
func (m *Monitor) leaves(fs *blockdev.Filesystem) []leafDisk {
	if fs == nil {
		return nil
	}
	var all []leafDisk
	for _, name := range fs.Leaves {
		l := m.leaf(name)
		if !slices.ContainsFunc(all, func(o leafDisk) bool { return o.kernel == l.kernel }) {
			all = append(all, l)
		}
	}
	return all
}
