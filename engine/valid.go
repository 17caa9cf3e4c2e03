package engine

import (
	"fmt"
	"strings"
	"time"
)

const (
	// minDeviceRatio is the least share of our bytes that must have reached the device.
	minDeviceRatio = 0.9
	// minSamples is what a run that ran out of time must have done at least, unless the workload asks for fewer.
	minSamples = 100
	// maxLagShare is how much of the median response our own lateness may be, at its p99, and maxLagInterval how much of
	// the mean time between starts. Lateness is not in the response, so the larger of the two decides: below it, the
	// load was what it was meant to be. A thread of a busy host is often a millisecond late, which says nothing about the disk.
	maxLagShare    = 0.1
	maxLagInterval = 0.5
	// minLag is below what any loop driven by a timer keeps; it says nothing about the disk.
	minLag = 10 * time.Microsecond
)

// judge sets Valid, Reasons and Detail.
func (r *Result) judge(pl *plan, mismatch string) {
	j := judgement{r: r}
	j.add(pl.target.Filesystem.Memory, InvalidMemory, "the file lives in memory (%s)", pl.target.Filesystem.Type)
	j.device()
	j.add(len(pl.target.Filesystem.Leaves) == 0 && !pl.target.Filesystem.Memory, InvalidOther, "nothing could show that the I/O reached a disk: %s", pl.target.Filesystem.Why)
	j.add(r.Short() > 0, InvalidShortRead, "%d transfers ended early, as on a file that shrank or a disk that was pulled out", r.Short())
	j.add(r.Failed() > 0, InvalidIOErrors, "%d I/Os failed", r.Failed())
	j.samples(pl.Stop)
	j.lag(pl.Streams)
	j.add(r.Abandoned > 0, InvalidOther, "%d I/Os did not come back within %v of the stop and were given up", r.Abandoned, drainPatience)
	if mismatch != "" {
		j.words = append(j.words, "read back something else than was written: "+mismatch)
	}
	r.Valid = len(r.Reasons) == 0
	r.Detail = strings.Join(j.words, "; ")
}

type judgement struct {
	r     *Result
	words []string
}

func (j *judgement) add(is bool, reason Invalid, format string, args ...any) {
	if is {
		j.r.Reasons = append(j.r.Reasons, reason)
		j.words = append(j.words, fmt.Sprintf(format, args...))
	}
}

// device compares each direction with the device's own counters: reads that a cache answered must not hide behind
// writes that a mirror doubles.
func (j *judgement) device() {
	if j.r.Device == nil {
		return
	}
	for op, reached := range [2]uint64{Read: j.r.Device.ReadBytes, Write: j.r.Device.WriteBytes} {
		ours := j.r.Ops[op].Bytes
		if ours > 0 && float64(reached) < minDeviceRatio*float64(ours) {
			j.add(true, InvalidCache, "only %d of %d bytes of %ss reached the device", reached, ours, Op(op))
			return
		}
	}
}

// samples wants the workload's own minimum, and where time cut the run short a number that means something.
func (j *judgement) samples(stop Limits) {
	need := stop.MinIOs
	if j.r.Stopped != StoppedMaxIOs && j.r.Stopped != StoppedMaxWriteBytes {
		floor := int64(minSamples)
		if stop.MaxIOs > 0 {
			floor = min(floor, stop.MaxIOs)
		}
		need = max(need, floor)
	}
	n := j.r.IOs()
	if n < need || n == 0 {
		j.add(true, InvalidFewSamples, "%d I/Os, at least %d are needed", n, max(need, 1))
		return
	}
	if j.r.Elapsed <= 0 {
		j.add(true, InvalidFewSamples, "the run ended before its full depth was reached, so that there is no time to rate it over")
		return
	}
	for op, o := range j.r.Ops {
		if o.IOs > 0 && o.Rated == 0 {
			j.add(true, InvalidFewSamples, "none of %d %ss came back between full depth and the end, so that there is no rate", o.IOs, Op(op))
			return
		}
	}
}

// lag wants start times kept: the load must have come as it was meant to come.
func (j *judgement) lag(streams []Stream) {
	limit := float64(minLag)
	for _, s := range streams {
		if s.Rate > 0 {
			limit = max(limit, maxLagInterval*float64(time.Second)/s.Rate)
		}
	}
	for op := range j.r.Ops {
		limit = max(limit, maxLagShare*float64(j.r.Ops[op].Response.Quantile(0.5)))
	}
	j.add(float64(j.r.IssueLagP99) > limit, InvalidIssueLag, "1 %% of I/Os were issued %v or more after their time, %v is the most that leaves the load as it was meant: the processors are too busy",
		j.r.IssueLagP99.Round(time.Microsecond), time.Duration(limit).Round(time.Microsecond))
}

// fingerprint notes what must be equal for two results to be compared.
func (pl *plan) fingerprint(kind Backend) Fingerprint {
	f := Fingerprint{Engine: kind, IOPrio: ioPriorityName()}
	for _, s := range pl.Streams {
		_, depth := pl.threads(kind, s)
		f.Chunk = max(f.Chunk, pl.chunk(depth))
	}
	if leaf, ok := pl.leaf(); ok {
		if d, ok := pl.disk(leaf); ok {
			f.Scheduler = d.Scheduler
		}
	}
	return f
}
