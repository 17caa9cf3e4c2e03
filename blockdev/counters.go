package blockdev

import (
	"fmt"
	"math"
	"path/filepath"
	"time"

	"github.com/prometheus/procfs/blockdevice"
)

// statFields is the length of the oldest layout of the stat file; discards came with Linux 4.18 and flushes with 5.5.
const statFields = 11

// tickWrap is where the kernel's times start again from zero: they are 32-bit milliseconds, 49.7 days
// (block/genhd.c, part_stat_show).
const tickWrap = (1 << 32) * time.Millisecond

// Read reads the I/O counters of a block device or partition by its kernel name, from its stat file
// (Documentation/block/stat.rst). Kernels that do not count discards or flushes leave them 0. A device that is not
// there is an error that Is fs.ErrNotExist.
func Read(r Roots, kernel string) (Counters, error) {
	r = r.WithDefaults()
	if !validName(kernel) {
		return Counters{}, fmt.Errorf("reading I/O counters: %q is not the kernel name of a block device", kernel)
	}
	// The library looks for block/<name>/stat below its root. Below class/ that has partitions too.
	c, err := readStat(filepath.Join(r.Sysfs, "class"), kernel)
	if gone(err) {
		c, err = readStat(r.Sysfs, kernel)
	}
	if err != nil {
		return Counters{}, fmt.Errorf("reading I/O counters of %s: %w", kernel, err)
	}
	return c, nil
}

func readStat(root, kernel string) (Counters, error) {
	dir, err := blockdevice.NewFS(root, root)
	if err != nil {
		return Counters{}, err
	}
	s, n, err := dir.SysBlockDeviceStat(kernel)
	if err != nil {
		return Counters{}, err
	}
	if n < statFields {
		return Counters{}, fmt.Errorf("%s has %d numbers, want at least %d",
			filepath.Join(root, "block", kernel, "stat"), n, statFields)
	}
	return Counters{
		At:           time.Now(),
		ReadIOs:      s.ReadIOs,
		WriteIOs:     s.WriteIOs,
		DiscardIOs:   s.DiscardIOs,
		FlushIOs:     s.FlushRequestsCompleted,
		ReadBytes:    s.ReadSectors * sectorSize,
		WriteBytes:   s.WriteSectors * sectorSize,
		DiscardBytes: s.DiscardSectors * sectorSize,
		ReadTime:     ticks(s.ReadTicks),
		WriteTime:    ticks(s.WriteTicks),
		Busy:         ticks(s.IOsTotalTicks),
		InFlight:     inFlight(s.IOsInProgress),
	}, nil
}

// Sub is what happened between the earlier counters o and c; At and InFlight are c's. Times that started again from
// zero in between are put right. When the device itself started again (unplugged, driver reloaded), what it did is
// not known, and all counts are 0.
func (c Counters) Sub(o Counters) Counters {
	d := Counters{At: c.At, InFlight: c.InFlight}
	if c.ReadIOs < o.ReadIOs || c.WriteIOs < o.WriteIOs || c.ReadBytes < o.ReadBytes || c.WriteBytes < o.WriteBytes ||
		c.DiscardIOs < o.DiscardIOs || c.DiscardBytes < o.DiscardBytes || c.FlushIOs < o.FlushIOs {
		return d
	}
	d.ReadIOs = c.ReadIOs - o.ReadIOs
	d.WriteIOs = c.WriteIOs - o.WriteIOs
	d.DiscardIOs = c.DiscardIOs - o.DiscardIOs
	d.FlushIOs = c.FlushIOs - o.FlushIOs
	d.ReadBytes = c.ReadBytes - o.ReadBytes
	d.WriteBytes = c.WriteBytes - o.WriteBytes
	d.DiscardBytes = c.DiscardBytes - o.DiscardBytes
	d.ReadTime = tickDiff(c.ReadTime, o.ReadTime)
	d.WriteTime = tickDiff(c.WriteTime, o.WriteTime)
	d.Busy = tickDiff(c.Busy, o.Busy)
	return d
}

// Add sums the counters of two devices, such as the namespaces of a disk or the leaves of an array. Busy and the
// times may then run faster than the clock. At is the later of the two.
func (c Counters) Add(o Counters) Counters {
	if o.At.After(c.At) {
		c.At = o.At
	}
	c.ReadIOs += o.ReadIOs
	c.WriteIOs += o.WriteIOs
	c.DiscardIOs += o.DiscardIOs
	c.FlushIOs += o.FlushIOs
	c.ReadBytes += o.ReadBytes
	c.WriteBytes += o.WriteBytes
	c.DiscardBytes += o.DiscardBytes
	c.ReadTime += o.ReadTime
	c.WriteTime += o.WriteTime
	c.Busy += o.Busy
	c.InFlight += o.InFlight
	return c
}

func tickDiff(now, before time.Duration) time.Duration {
	if now >= before {
		return now - before
	}
	// A sum over several devices may have passed the wrap more than once; then it is not known.
	return max(0, now+tickWrap-before)
}

func ticks(ms uint64) time.Duration {
	const most = uint64(math.MaxInt64 / time.Millisecond)
	return time.Duration(min(ms, most)) * time.Millisecond
}

// inFlight takes the numbers that some kernels print when their count slips below zero for nothing in flight.
func inFlight(n uint64) int {
	if n > math.MaxInt32 {
		return 0
	}
	return int(n)
}
