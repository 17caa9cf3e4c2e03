package worker

import (
	"context"
	"time"

	"ssd_exporter/blockdev"
	"ssd_exporter/engine"
)

const (
	defaultSample = 50 * time.Millisecond
	// maxSkew is how long reading the devices may take after the run's progress was read; beyond, our own I/Os of
	// that time would look foreign, and the sample is dropped.
	maxSkew = time.Millisecond
)

// guard watches for other people's I/O on the leaf disks during a run, and cancels the run when there is too much. It
// compares what the devices did with the most that our own I/Os can have caused; it would rather miss a little
// foreign I/O than take our own for it.
type guard struct {
	rule   AbortRule
	cost   cost
	read   func() (blockdev.Counters, bool) // summed over all leaves
	cancel context.CancelCauseFunc

	last sample
	hits [3]bool // whether the last three samples were above the threshold, in a ring
	n    int     // samples so far
}

// sample is both sides at one moment.
type sample struct {
	device blockdev.Counters
	own    engine.Progress
}

// newGuard makes the guard of one run; cancel gets a *foreignError. A rule that never aborts watches nothing, and
// neither does one for leaves that are not known.
func newGuard(rule AbortRule, w engine.Workload, roots blockdev.Roots, fsys blockdev.Filesystem, cancel context.CancelCauseFunc) *guard {
	if rule.Sample <= 0 {
		rule.Sample = defaultSample
	}
	if len(fsys.Leaves) == 0 {
		rule.ForeignIOPS = 0
	}
	return &guard{
		rule:   rule,
		cost:   costOf(w, len(fsys.Leaves)),
		read:   func() (blockdev.Counters, bool) { return readLeaves(roots, fsys.Leaves) },
		cancel: cancel,
	}
}

// every is how often look wants to be called.
func (g *guard) every() time.Duration {
	if g.rule.ForeignIOPS <= 0 {
		return beatEvery
	}
	return min(g.rule.Sample, beatEvery)
}

// look takes the run's progress as it is at this moment. It is called by one goroutine, which is not that of the I/O.
func (g *guard) look(own engine.Progress) {
	if g.rule.ForeignIOPS <= 0 {
		return
	}
	start := time.Now()
	device, ok := g.read()
	if !ok || time.Since(start) > maxSkew {
		return
	}
	now := sample{device, own}
	if !g.last.precedes(now) {
		g.last = now
		return
	}
	elapsed := now.device.At.Sub(g.last.device.At)
	if elapsed < g.rule.Sample*9/10 { // a beat may come a little early
		return
	}
	iops := g.cost.foreign(g.last, now) / elapsed.Seconds()
	g.last = now
	g.hits[g.n%len(g.hits)] = iops > g.rule.ForeignIOPS
	g.n++
	if iops > g.rule.ForeignIOPS && g.count() >= 2 {
		g.cancel(&foreignError{iops: iops, limit: g.rule.ForeignIOPS})
	}
}

func (g *guard) count() int {
	n := 0
	for _, h := range g.hits {
		if h {
			n++
		}
	}
	return n
}

// precedes says whether the run's own counters went on from s to next; they start anew with a phase.
func (s sample) precedes(next sample) bool {
	if s.device.At.IsZero() || s.own.Phase != next.own.Phase {
		return false
	}
	for op := range s.own.Ops {
		if next.own.Ops[op].IOs < s.own.Ops[op].IOs {
			return false
		}
	}
	return true
}

// cost bounds what one workload's own I/O can look like on the devices.
type cost struct {
	flying   [2]engine.Traffic // by operation: what the devices may count before or after we do
	journal  int64             // blocks that a file system may write beside each write of ours
	layout   int64             // device I/Os, reads and writes each, that a write may become; 1 on a single disk
	smallest int64             // bytes of a journal block
}

func costOf(w engine.Workload, leaves int) cost {
	c := cost{layout: 1, smallest: 4096}
	if leaves > 1 {
		c.layout = int64(max(leaves, 6)) // mirrors write everywhere; RAID 6 reads and writes data and two parities
	}
	for _, s := range w.Streams {
		n := int64(max(1, s.Depth) * max(1, s.Workers))
		t := engine.Traffic{IOs: n, Bytes: n * int64(s.BlockSize)}
		if s.ReadPermille > 0 {
			c.flying[engine.Read] = sum(c.flying[engine.Read], t, 1)
		}
		if s.ReadPermille < 1000 {
			c.flying[engine.Write] = sum(c.flying[engine.Write], t, 1)
		}
		if s.Sync == engine.Fdatasync {
			c.journal = 4 // descriptor, two of metadata, commit
		}
	}
	return c
}

// foreign is the least number of I/Os that others must have done between two samples.
func (c cost) foreign(a, b sample) float64 {
	var ours [2]engine.Traffic
	for op := range ours {
		ours[op] = engine.Traffic{
			IOs:   b.own.Ops[op].IOs - a.own.Ops[op].IOs,
			Bytes: b.own.Ops[op].Bytes - a.own.Ops[op].Bytes,
		}
		ours[op] = sum(ours[op], c.flying[op], 1)
		// What we did in the time that may lie between reading the two sides.
		share := float64(maxSkew) / float64(b.device.At.Sub(a.device.At))
		ours[op].IOs += int64(share * float64(ours[op].IOs))
		ours[op].Bytes += int64(share * float64(ours[op].Bytes))
	}
	w := ours[engine.Write]
	ours[engine.Write] = sum(w, engine.Traffic{IOs: w.IOs, Bytes: w.IOs * c.smallest}, c.journal)
	if c.layout > 1 {
		w = ours[engine.Write]
		ours[engine.Read] = sum(ours[engine.Read], w, c.layout)
		ours[engine.Write] = sum(w, w, c.layout-1)
	}
	return float64(engine.ForeignIOs(b.device.Sub(a.device), ours))
}

// sum is a + n × b.
func sum(a, b engine.Traffic, n int64) engine.Traffic {
	return engine.Traffic{IOs: a.IOs + n*b.IOs, Bytes: a.Bytes + n*b.Bytes}
}

// readLeaves is what all leaves have done since boot.
func readLeaves(roots blockdev.Roots, leaves []string) (total blockdev.Counters, ok bool) {
	for i, leaf := range leaves {
		c, err := blockdev.Read(roots, leaf)
		if err != nil {
			return blockdev.Counters{}, false
		}
		if i == 0 {
			total = c
		} else {
			total = total.Add(c)
		}
	}
	return total, len(leaves) > 0
}
