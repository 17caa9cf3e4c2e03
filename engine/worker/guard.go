package worker

import (
	"context"
	"time"

	"ssd_exporter/blockdev"
	"ssd_exporter/engine"
)

// guard watches for other people's I/O on the leaf disks during a run, and cancels the run when there is too much. It
// compares what the devices did with the most that our own I/Os can have caused; it would rather miss a little
// foreign I/O than take our own for it.
type guard struct {
	rule   AbortRule
	cost   cost
	read   func() (ios uint64, at time.Time, ok bool) // of all leaves
	cancel context.CancelCauseFunc

	notes chan note // the newest only
	quit  chan struct{}
	done  chan struct{}
}

// cost is the most device I/Os that one of ours can become.
type cost struct {
	read, write float64
	writeBlock  int64   // smallest block that is written, in bytes; 0: none
	slack       float64 // device I/Os that may be in flight, counted on one side only
}

// newGuard starts watching; a rule that never aborts, or leaves that are not known, watch nothing.
func newGuard(rule AbortRule, w engine.Workload, roots blockdev.Roots, fsys blockdev.Filesystem, cancel context.CancelCauseFunc) *guard {
	g := &guard{
		rule:   rule,
		cost:   costOf(w, len(fsys.Leaves), maxRequest(roots, fsys.Leaves)),
		read:   func() (uint64, time.Time, bool) { return deviceIOs(roots, fsys.Leaves) },
		cancel: cancel,
		notes:  make(chan note, 1),
		quit:   make(chan struct{}),
		done:   make(chan struct{}),
	}
	if g.rule.Sample <= 0 {
		g.rule.Sample = 50 * time.Millisecond
	}
	if rule.ForeignIOPS <= 0 || len(fsys.Leaves) == 0 {
		close(g.done)
		return g
	}
	go g.watch()
	return g
}

// note is the run's progress at a moment.
type note struct {
	engine.Progress
	at time.Time
}

// note takes the run's progress. It never blocks: the caller is the engine's I/O loop.
func (g *guard) note(p engine.Progress) {
	n := note{p, time.Now()}
	for {
		select {
		case g.notes <- n:
			return
		default:
		}
		select {
		case <-g.notes: // nobody has looked at the last one; it is out of date now
		default:
		}
	}
}

func (g *guard) stop() {
	close(g.quit)
	<-g.done
}

// watch compares at every note, so that the two sides of a comparison are of the same moment.
func (g *guard) watch() {
	defer close(g.done)
	var last sample
	var hits [3]bool
	for i := 0; ; {
		var n note
		select {
		case <-g.quit:
			return
		case n = <-g.notes:
		}
		now := sample{own: n.Progress}
		var ok bool
		now.ios, now.at, ok = g.read()
		switch {
		case !ok || now.at.Sub(n.at) > staleNote:
			continue
		case last.at.IsZero() || !last.comparable(now):
			last = now
			continue
		case now.at.Sub(last.at) < g.rule.Sample:
			continue
		}
		iops := g.cost.foreign(last, now)
		last = now
		hits[i%len(hits)] = iops > g.rule.ForeignIOPS
		i++
		if iops > g.rule.ForeignIOPS && count(hits) >= 2 {
			g.cancel(&foreignError{iops: iops, limit: g.rule.ForeignIOPS})
			return
		}
	}
}

// staleNote is how old a note may be when the devices are read; beyond, our own I/Os since then would look foreign.
const staleNote = 10 * time.Millisecond

// sample is both sides at one moment.
type sample struct {
	ios uint64 // completed on the devices since boot
	at  time.Time
	own engine.Progress
}

// comparable says whether the run's own counters go on from one sample to the next; they start anew with a phase.
func (s sample) comparable(next sample) bool {
	return s.own.Phase == next.own.Phase && next.own.IOs >= s.own.IOs && next.own.Written >= s.own.Written && next.ios >= s.ios
}

// foreign is the least rate of I/Os per second that others must have done between two samples.
func (c cost) foreign(a, b sample) float64 {
	ios := float64(b.own.IOs - a.own.IOs)
	writes := 0.0
	if c.writeBlock > 0 {
		writes = min(ios, float64(b.own.Written-a.own.Written)/float64(c.writeBlock))
	}
	// A tenth of ours for what the two counters cannot have seen at exactly the same moment.
	ours := 1.1*((ios-writes)*c.read+writes*c.write) + c.slack
	return max(0, float64(b.ios-a.ios)-ours) / b.at.Sub(a.at).Seconds()
}

// costOf bounds what the I/Os of a workload become on so many leaves whose drivers take maxIO bytes at once.
func costOf(w engine.Workload, leaves int, maxIO int64) cost {
	var c cost
	for _, s := range w.Streams {
		split := float64((int64(s.BlockSize) + maxIO - 1) / maxIO)
		write := split
		if leaves > 1 {
			// Mirrors write everywhere; RAID 6 reads and writes data and two parities: six.
			write *= float64(max(leaves, 6))
		}
		if s.Sync == engine.Fdatasync {
			write += 4 // a journal's descriptor, metadata and commit, and the data's own flush
		}
		c.slack += float64(max(1, s.Depth)*max(1, s.Workers)) * max(split, write)
		c.read = max(c.read, split)
		if s.ReadPermille < 1000 {
			c.write = max(c.write, write)
			if c.writeBlock == 0 || int64(s.BlockSize) < c.writeBlock {
				c.writeBlock = int64(s.BlockSize)
			}
		}
	}
	return c
}

// maxRequest is the size of the smallest pieces that the leaves' drivers may split I/Os into, in bytes. The segment limit
// of many drivers is reached before their stated maximum, hence the bound.
func maxRequest(roots blockdev.Roots, leaves []string) int64 {
	size := int64(256 << 10)
	if len(leaves) > 1 {
		size = 64 << 10 // a usual chunk of a stripe
	}
	disks, err := blockdev.Disks(roots)
	if err != nil {
		return min(size, 64<<10)
	}
	for _, leaf := range leaves {
		for _, d := range disks {
			if d.Has(leaf) && d.MaxIOBytes > 0 {
				size = min(size, d.MaxIOBytes)
			}
		}
	}
	return max(size, 4096)
}

// deviceIOs is how many reads and writes all leaves have completed since boot.
func deviceIOs(roots blockdev.Roots, leaves []string) (ios uint64, at time.Time, ok bool) {
	for _, leaf := range leaves {
		c, err := blockdev.Read(roots, leaf)
		if err != nil {
			return 0, time.Time{}, false
		}
		ios += c.ReadIOs + c.WriteIOs
		at = c.At
	}
	return ios, at, len(leaves) > 0
}

func count(hits [3]bool) int {
	n := 0
	for _, h := range hits {
		if h {
			n++
		}
	}
	return n
}
