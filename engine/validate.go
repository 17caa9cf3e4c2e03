package engine

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// Bounds of what a Workload may ask for. They keep memory (outstanding blocks) and bookkeeping within reason; a field
// benchmark needs no more.
const (
	minBlock       = 512      // the smallest logical block of any disk
	maxBlock       = 64 << 20 // bytes
	maxDepth       = 1024     // per worker
	maxWorkers     = 256      // per stream
	maxStreams     = 16       // per workload
	maxOutstanding = 1 << 30  // bytes, over all streams
	maxRate        = 1e6      // I/Os per second
	maxRunTime     = 24 * time.Hour
)

// deckSize is how many I/Os a mix needs for exact counts: ReadPermille of every deckSize are reads.
const deckSize = 1000

func (o Op) String() string {
	switch o {
	case Read:
		return "read"
	case Write:
		return "write"
	}
	return fmt.Sprintf("op(%d)", uint8(o))
}

// Writes says whether the workload writes at all. Warm-ups never do.
func (w Workload) Writes() bool {
	return slices.ContainsFunc(w.Streams, Stream.writes)
}

func (s Stream) writes() bool { return s.ReadPermille < deckSize }

// MaxWritten is the most bytes that a run of the workload can hand to the kernel for writing: what to reserve before it
// starts. It is the smaller of Stop.MaxWriteBytes and what Stop.MaxIOs I/Os can write, where no minimum can carry the run
// beyond MaxIOs.
func (w Workload) MaxWritten() int64 {
	if !w.Writes() {
		return 0
	}
	bound := int64(math.MaxInt64)
	if w.Stop.MaxWriteBytes > 0 {
		bound = w.Stop.MaxWriteBytes
	}
	if n := w.Stop.MaxIOs; n > 0 && w.Stop.MinTime == 0 && w.Stop.MinIOs <= n {
		bound = min(bound, w.writtenBy(n))
	}
	return bound
}

// writtenBy bounds the bytes that n I/Os can write. A stream deals exact decks, and may deal all writes of the last
// deck first; how I/Os divide among several streams is open, so each of them counts as a write of the largest block.
func (w Workload) writtenBy(n int64) int64 {
	if len(w.Streams) == 1 {
		s := w.Streams[0]
		writes := int64(deckSize - s.ReadPermille)
		return saturatingMul(n/deckSize*writes+min(n%deckSize, writes), int64(s.BlockSize))
	}
	largest := 0
	for _, s := range w.Streams {
		if s.writes() {
			largest = max(largest, s.BlockSize)
		}
	}
	return saturatingMul(n, int64(largest))
}

func saturatingMul(a, b int64) int64 {
	if b != 0 && a > math.MaxInt64/b {
		return math.MaxInt64
	}
	return a * b
}

// Validate says what is wrong with the workload: every fault with the workload, the stream, the field, the value found
// and the values accepted, joined into one error. It knows no target; Run checks what depends on one.
func (w Workload) Validate() error {
	v := validation{where: fmt.Sprintf("workload %q", w.Name)}
	v.check(w.Name != "", "Name", `""`, "a name")
	v.check(len(w.Streams) >= 1 && len(w.Streams) <= maxStreams, "Streams", len(w.Streams), fmt.Sprintf("1 to %d streams", maxStreams))
	outstanding := int64(0)
	for i, s := range w.Streams {
		sv := validation{where: fmt.Sprintf("%s: stream %d", v.where, i+1)}
		sv.stream(s)
		v.faults = append(v.faults, sv.faults...)
		if len(sv.faults) == 0 {
			s = s.withDefaults()
			outstanding += int64(s.BlockSize) * int64(s.Depth) * int64(s.Workers)
		}
	}
	v.check(outstanding <= maxOutstanding, "BlockSize × Depth × Workers", fmt.Sprintf("%d bytes over all streams", outstanding), fmt.Sprintf("at most %d", maxOutstanding))
	v.limits("Warmup", w.Warmup)
	v.limits("Stop", w.Stop)
	v.check(w.Warmup.MaxWriteBytes == 0, "Warmup.MaxWriteBytes", w.Warmup.MaxWriteBytes, "0: a warm-up only reads")
	v.check(w.Stop.MaxTime > 0, "Stop.MaxTime", w.Stop.MaxTime, "a time above 0")
	if w.Writes() {
		smallest := w.smallestWrite()
		v.check(w.Stop.MaxWriteBytes >= smallest, "Stop.MaxWriteBytes", w.Stop.MaxWriteBytes,
			fmt.Sprintf("%d (one block) or more: the workload writes", smallest))
	}
	return errors.Join(v.faults...)
}

func (w Workload) smallestWrite() int64 {
	smallest := int64(math.MaxInt64)
	for _, s := range w.Streams {
		if s.writes() {
			smallest = min(smallest, int64(s.BlockSize))
		}
	}
	return smallest
}

// withDefaults spells out what a zero field means.
func (s Stream) withDefaults() Stream {
	s.Depth, s.Workers = max(s.Depth, 1), max(s.Workers, 1)
	s.Pattern = orDefault(s.Pattern, Random)
	s.Region = orDefault(s.Region, All)
	s.Arrival = orDefault(s.Arrival, Closed)
	s.Sync = orDefault(s.Sync, NoSync)
	s.Data.Kind = orDefault(s.Data.Kind, Incompressible)
	return s
}

func orDefault[T ~string](v, def T) T {
	if v == "" {
		return def
	}
	return v
}

// validation collects faults of one place.
type validation struct {
	where  string
	faults []error
}

func (v *validation) check(ok bool, field string, found any, accepted string) {
	if !ok {
		v.faults = append(v.faults, fmt.Errorf("%s: %s is %v; accepted: %s", v.where, field, found, accepted))
	}
}

func (v *validation) stream(s Stream) {
	v.check(s.BlockSize >= minBlock && s.BlockSize <= maxBlock && s.BlockSize%minBlock == 0, "BlockSize", s.BlockSize,
		fmt.Sprintf("multiples of %d from %d to %d", minBlock, minBlock, maxBlock))
	v.check(s.ReadPermille >= 0 && s.ReadPermille <= deckSize, "ReadPermille", s.ReadPermille, "0 (writes only) to 1000 (reads only)")
	v.check(s.Depth >= 0 && s.Depth <= maxDepth, "Depth", s.Depth, fmt.Sprintf("1 to %d", maxDepth))
	v.check(s.Workers >= 0 && s.Workers <= maxWorkers, "Workers", s.Workers, fmt.Sprintf("1 to %d", maxWorkers))
	oneOf(v, "Pattern", s.Pattern, Random, Sequential)
	oneOf(v, "Region", s.Region, All, Cold, Hot)
	oneOf(v, "Arrival", s.Arrival, Closed, Paced, Poisson)
	oneOf(v, "Sync", s.Sync, NoSync, Fdatasync)
	oneOf(v, "Data.Kind", s.Data.Kind, Incompressible, Zero, Compressible)
	v.check(s.Region != Cold || !s.writes(), "Region", s.Region, "all or hot for a stream that writes: the cold half is never written again")
	v.check(s.Sync != Fdatasync || s.writes(), "Sync", s.Sync, "none for a stream that only reads")

	open := s.Arrival == Paced || s.Arrival == Poisson
	v.check(!open || s.Rate > 0 && s.Rate <= maxRate, "Rate", s.Rate, fmt.Sprintf("above 0 and at most %g I/Os per second for arrival %q", maxRate, s.Arrival))
	v.check(open || s.Rate == 0, "Rate", s.Rate, "0 for a closed loop")

	ratio := s.Data.Ratio
	v.check(s.Data.Kind != Compressible || ratio >= 0 && ratio <= 1, "Data.Ratio", ratio, "0 to 1, the share of zeros")
	v.check(s.Data.Kind == Compressible || ratio == 0, "Data.Ratio", ratio, "0 unless Data.Kind is compressible")
}

func oneOf[T ~string](v *validation, field string, found T, accepted ...T) {
	v.check(found == "" || slices.Contains(accepted, found), field, fmt.Sprintf("%q", found), fmt.Sprintf("%q", accepted))
}

func (v *validation) limits(field string, l Limits) {
	v.check(l.MinTime >= 0, field+".MinTime", l.MinTime, "0 or more")
	v.check(l.MaxTime >= 0 && l.MaxTime <= maxRunTime, field+".MaxTime", l.MaxTime, fmt.Sprintf("0 to %v", maxRunTime))
	v.check(l.MaxTime == 0 || l.MinTime <= l.MaxTime, field+".MinTime", l.MinTime, fmt.Sprintf("at most MaxTime, %v", l.MaxTime))
	v.check(l.MinIOs >= 0, field+".MinIOs", l.MinIOs, "0 or more")
	v.check(l.MaxIOs >= 0, field+".MaxIOs", l.MaxIOs, "0 (no such limit) or more")
	v.check(l.MaxIOs == 0 || l.MinIOs <= l.MaxIOs, field+".MinIOs", l.MinIOs, fmt.Sprintf("at most MaxIOs, %d", l.MaxIOs))
	v.check(l.MaxWriteBytes >= 0, field+".MaxWriteBytes", l.MaxWriteBytes, "0 (no such limit) or more")
}
