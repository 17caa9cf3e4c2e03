package engine

import (
	"os"
	"path/filepath"
	"strings"

	"ssd_exporter/blockdev"
)

// counters sums the I/O counters of the target's leaves; nil when there is none, or one cannot be read or does not count.
func (pl *plan) counters() *blockdev.Counters {
	leaves := pl.target.Filesystem.Leaves
	if len(leaves) == 0 {
		return nil
	}
	var sum blockdev.Counters
	for i, leaf := range leaves {
		c, err := blockdev.Read(pl.opts.Roots, leaf)
		if err != nil || !pl.counts(leaf, c) {
			return nil
		}
		if i == 0 {
			sum = c
		} else {
			sum = sum.Add(c)
		}
	}
	return &sum
}

// counts says whether the kernel keeps I/O counters for a leaf. They can be switched off (queue/iostats), and some
// stacked drivers never had any: those have seen nothing since boot, although a file system lives there.
func (pl *plan) counts(leaf string, c blockdev.Counters) bool {
	on, err := os.ReadFile(filepath.Join(pl.opts.Roots.Sysfs, "block", leaf, "queue", "iostats"))
	if err == nil && strings.TrimSpace(string(on)) == "0" {
		return false
	}
	return c.ReadIOs > 0 || c.WriteIOs > 0
}

// compare puts what the leaves did beside what we asked of them.
func (r *Result) compare(pl *plan, before, after *blockdev.Counters) {
	if before == nil || after == nil {
		return
	}
	delta := after.Sub(*before)
	r.Device = &delta
	if ours := r.Bytes(); ours > 0 {
		ratio := float64(delta.ReadBytes+delta.WriteBytes) / float64(ours)
		r.DeviceRatio = &ratio
	}
	over := after.At.Sub(before.At)
	if over <= 0 || len(pl.target.Filesystem.Leaves) > 1 && pl.Writes() {
		return // one write of ours becomes several by a layout (mirror, parity) that we do not know
	}
	var ours [2]Traffic
	for op := range ours {
		o := &r.Ops[op]
		ours[op] = Traffic{IOs: o.IOs, Bytes: o.Bytes}
		for _, n := range o.Errors {
			ours[op].IOs += n
		}
	}
	foreign := ForeignIOs(delta, ours)
	rate := float64(foreign) / over.Seconds()
	r.ForeignIOs, r.ForeignIOPS = &foreign, &rate
}

// ForeignIOs estimates how many of a device's I/Os in some time were not ours. More I/Os than ours may only mean that the
// driver split large ones, so others' I/Os must show in bytes too, at 4 KiB or more each. Flushes and discards take no
// part. On a target of several leaves it holds for reads only.
func ForeignIOs(device blockdev.Counters, ours [2]Traffic) int64 {
	const smallest = 4096
	reads := excess(device.ReadIOs, ours[Read].IOs, device.ReadBytes, ours[Read].Bytes, smallest)
	writes := excess(device.WriteIOs, ours[Write].IOs, device.WriteBytes, ours[Write].Bytes, smallest)
	return reads + writes
}

func excess(ios uint64, ourIOs int64, bytes uint64, ourBytes, smallest int64) int64 {
	byCount := int64(ios) - ourIOs
	byBytes := (int64(bytes) - ourBytes + smallest - 1) / smallest
	return max(min(byCount, byBytes), 0)
}
