package monitor

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"ssd_exporter/blockdev"
)

// Nothing keeps a disk awake: every command makes a drive's own standby timer begin anew, so a rotating disk to which nobody has
// done any I/O since it was last read is not read again until somebody does. It keeps its values with their age meanwhile. What we
// send to read it does not count as I/O in sysfs.

// idle says whether a disk is to be left alone by a poll. Monitor.mu is held.
func (m *Monitor) idle(d *disk) bool {
	if !d.rotates() || d.afterRead == nil || !d.native.Success && d.native.failed < failedPolls {
		return false
	}
	now := m.counters(d.kernel)
	return now != nil && counting(m.options.Roots, d.kernel.Kernel) && nothingBetween(*d.afterRead, *now)
}

// rotates says that a disk has a spindle, by the kernel's word unless the disk knows better: bridges hide what is behind them.
func (d *disk) rotates() bool {
	if d.kernel == nil || d.kernel.Rotational == nil || !*d.kernel.Rotational {
		return false
	}
	h := d.native.health
	return h == nil || h.Rotational == nil || *h.Rotational
}

// counting says whether the kernel counts a block device's I/O. That can be switched off, and then nothing tells whether it is idle
// or busy.
func counting(roots blockdev.Roots, device string) bool {
	on, err := os.ReadFile(filepath.Join(roots.Sysfs, "class/block", device, "queue/iostats"))
	return err != nil || strings.TrimSpace(string(on)) != "0"
}

func nothingBetween(a, b blockdev.Counters) bool {
	if b.ReadIOs == 0 && b.WriteIOs == 0 || b.InFlight > 0 {
		return false // a disk that has never done anything has no counters
	}
	return a.ReadIOs == b.ReadIOs && a.WriteIOs == b.WriteIOs && a.DiscardIOs == b.DiscardIOs && a.FlushIOs == b.FlushIOs
}

// asleep says that a disk below the target sleeps: not even the look at the place must touch it then. An idle disk is asked first,
// which begins with its power state and wakes nothing: it may have gone to sleep since it was last read.
func (t *target) asleep() *refusal {
	m := t.m
	o := m.currentOptions()
	var ask []dueDisk
	m.mu.Lock()
	run := m.ctx // a read goes on when only the target ends
	for _, d := range m.below(t.fs) {
		if o.Smart.Enabled && !d.polling && d.native.Success && !d.native.Asleep && m.idle(d) {
			d.polled, d.polling = time.Now(), true
			ask = append(ask, dueDisk{d, *d.kernel})
		}
	}
	m.mu.Unlock()
	for _, d := range ask {
		m.read(run, o, d)
	}
	_, leaves := t.place()
	return sleeping(leaves)
}

func sleeping(leaves []leafDisk) *refusal {
	for _, d := range leaves {
		if d.asleep {
			return refuse(SkipAsleep, "%s sleeps, and nothing wakes it for a probe", d.kernel)
		}
	}
	return nil
}

// below are the disks below a file system that the kernel knows, each once. Monitor.mu is held.
func (m *Monitor) below(fs *blockdev.Filesystem) []*disk {
	var all []*disk
	if fs == nil {
		return nil
	}
	for _, d := range m.sortedDisks() {
		for _, leaf := range fs.Leaves {
			if d.kernel != nil && d.kernel.Has(leaf) {
				all = append(all, d)
				break
			}
		}
	}
	return all
}
