package engine

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"

	"ssd_exporter/blockdev"
)

// ErrNotWritable says that a workload writes and its target must only be read.
var ErrNotWritable = errors.New("the target is read-only")

// ErrUnfit says that a workload does not fit its target: alignment, size. Another target may do.
var ErrUnfit = errors.New("the workload does not fit the target")

// maxThreads bounds the threads of the pread/pwrite backend, which needs one per outstanding I/O.
const maxThreads = 512

// plan is a checked workload on a checked target, with every default spelled out.
type plan struct {
	Workload
	target Target
	opts   Options
	areas  []area // by stream
}

func newPlan(w Workload, t Target, o Options) (*plan, error) {
	if err := w.Validate(); err != nil {
		return nil, err
	}
	pl := &plan{Workload: w, target: t, opts: o}
	pl.opts.Roots = o.Roots.WithDefaults()
	for pl.Seed == 0 {
		pl.Seed = rand.Uint64()
	}
	pl.Streams = make([]Stream, len(w.Streams))
	for i, s := range w.Streams {
		pl.Streams[i] = s.withDefaults()
	}
	if w.Writes() && !t.Writable {
		return nil, fmt.Errorf("workload %q writes: %w: choose workloads that only read", w.Name, ErrNotWritable)
	}
	if page := os.Getpagesize(); t.MemAlign > page {
		return nil, fmt.Errorf("%w: it wants buffers aligned to %d bytes, beyond the page size of %d", ErrUnfit, t.MemAlign, page)
	}
	return pl, pl.place()
}

// chunk is how many I/Os one system call of a thread submits at most. One call per I/O costs the most CPU; with
// everything in one call a virtual disk gets one doorbell per batch, idles in between, and loses up to a sixth of its
// IOPS. An eighth of the depth, from 2 to 8, kept the IOPS of the one at about the CPU cost of the other.
func (pl *plan) chunk(depth int) int {
	if pl.opts.Chunk > 0 {
		return min(pl.opts.Chunk, depth)
	}
	const least, most, share = 2, 8, 8
	return min(max(depth/share, least), most, depth)
}

// place finds each stream's area on the target.
func (pl *plan) place() error {
	outstanding := int64(0)
	for _, s := range pl.Streams {
		outstanding += int64(s.BlockSize) * int64(s.Depth) * int64(s.Workers)
	}
	for i, s := range pl.Streams {
		where := fmt.Sprintf("workload %q: stream %d", pl.Name, i+1)
		if a := pl.target.OffsetAlign; a > 0 && s.BlockSize%a != 0 {
			return fmt.Errorf("%s: %w: block size %d is no multiple of %d bytes, the smallest direct I/O there", where, ErrUnfit, s.BlockSize, a)
		}
		a := areaOf(s, pl.target.Size)
		if a.blocks < 1 {
			return fmt.Errorf("%s: %w: region %q of %d bytes holds no block of %d bytes", where, ErrUnfit, s.Region, pl.target.Size, s.BlockSize)
		}
		if pl.Writes() {
			if err := a.roomFor(outstanding); err != nil {
				return fmt.Errorf("%s: %w: %w", where, ErrUnfit, err)
			}
		}
		pl.areas = append(pl.areas, a)
	}
	return nil
}

// threads returns how a backend spreads a stream: threads, and outstanding I/Os of each.
func (pl *plan) threads(kind Backend, s Stream) (threads, depth int) {
	if kind == Pread {
		return s.Workers * s.Depth, 1
	}
	return s.Workers, s.Depth
}

// deepest is the most I/Os that any thread keeps outstanding.
func (pl *plan) deepest() int {
	d := 0
	for _, s := range pl.Streams {
		d = max(d, s.Depth)
	}
	return d
}

func (pl *plan) fdatasync() bool {
	for _, s := range pl.Streams {
		if s.Sync == Fdatasync {
			return true
		}
	}
	return false
}

// phase prepares one phase for a crew.
func (pl *plan) phase(c *crew, warmUp bool, now func() int64) *phase {
	name, limits, number := phaseRun, pl.Stop, 1
	if warmUp {
		name, limits, number = phaseWarmUp, pl.Warmup, 0
	}
	p := newPhase(name, limits, now, len(c.lanes))
	p.warmUp = warmUp
	for i, s := range pl.Streams {
		p.sources = append(p.sources, newSource(s, pl.areas[i], pl.Seed, number, i, warmUp))
	}
	if pl.Writes() && !warmUp {
		p.claims = &claims{ranges: make([]claim, c.slots)}
	}
	return p
}

// leaf is the single disk below the target; false when there is none, or several.
func (pl *plan) leaf() (string, bool) {
	if l := pl.target.Filesystem.Leaves; len(l) == 1 {
		return l[0], true
	}
	return "", false
}

// disk describes a leaf.
func (pl *plan) disk(kernel string) (blockdev.Disk, bool) {
	disks, err := blockdev.Disks(pl.opts.Roots)
	if err != nil {
		return blockdev.Disk{}, false
	}
	for _, d := range disks {
		if d.Has(kernel) {
			return d, true
		}
	}
	return blockdev.Disk{}, false
}
