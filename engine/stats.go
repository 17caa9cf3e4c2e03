package engine

import (
	"maps"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// stats is what one thread measures in one phase. It is private to the thread until the phase ends.
type stats struct {
	ops       [2]opStats
	lag       *tally // open loop: submission after the later of the intended start and the time a slot was free
	series    []seriesStep
	gap       int64 // ns
	inService int64 // ns, summed over all completed I/Os: for the achieved depth
	first     int64 // first submission
	last      int64 // last completion
	abandoned int64
	mismatch  string // what Codec.Check said first
}

type opStats struct {
	ios, bytes, rated, ratedBytes, censored, corrupt int64

	response, service *tally // service is nil in a closed loop
	errors            map[syscall.Errno]int64
	short             int64
}

type seriesStep struct {
	ios, bytes, response [2]int64
}

func newStats(src *source, steps int) *stats {
	st := &stats{series: make([]seriesStep, steps)}
	open := src.arrivals != nil
	for op := range st.ops {
		if src.permille == 0 && Op(op) == Read || src.permille == deckSize && Op(op) == Write {
			continue
		}
		st.ops[op].response = &tally{}
		if open {
			st.ops[op].service = &tally{}
		}
	}
	if open {
		st.lag = &tally{}
	}
	return st
}

// fail counts an I/O that did not transfer its length: res is a negated errno, or fewer bytes. It returns the errno.
func (o *opStats) fail(res int32) syscall.Errno {
	if res >= 0 {
		o.short++
		return 0
	}
	errno := syscall.Errno(-res)
	if o.errors == nil {
		o.errors = make(map[syscall.Errno]int64)
	}
	o.errors[errno]++
	return errno
}

// fold adds the figures of one thread to those of the run.
func (o *opStats) fold(r *OpResult) {
	r.IOs += o.ios
	r.Bytes += o.bytes
	r.Rated += o.rated
	r.RatedBytes += o.ratedBytes
	r.Censored += o.censored
	r.Corrupt += o.corrupt
	o.response.fold(&r.Response)
	o.service.fold(&r.Service)
	if o.short == 0 && len(o.errors) == 0 {
		return
	}
	if r.Errors == nil {
		r.Errors = make(map[string]int64)
	}
	if o.short > 0 {
		r.Errors[shortTransfer] += o.short
	}
	for errno, n := range maps.All(o.errors) {
		r.Errors[errnoName(errno)] += n
	}
}

func errnoName(errno syscall.Errno) string {
	if name := unix.ErrnoName(errno); name != "" {
		return name
	}
	return errno.Error()
}

// endsRun says whether after such an error going on makes no sense, or does harm. errno 0 is none: a short transfer.
//
// The block layer has many names for a failed write (blk_errors[] in Linux block/blk-core.c: ENODATA, EREMOTEIO,
// ETIMEDOUT, ENOLINK, EILSEQ, …) and grows more, so all end the run but those that tell of the kernel's own shortage. Of
// reads only those do that say that the disk or its file is gone.
func endsRun(op Op, errno syscall.Errno) bool {
	switch errno {
	case 0, unix.EAGAIN, unix.EINTR, unix.ENOMEM:
		return false
	case unix.ENODEV, unix.ENXIO, unix.ESHUTDOWN, unix.ENOLINK, unix.ENOMEDIUM, unix.ESTALE:
		return true
	}
	return op == Write
}

// intervals sums the series of all threads.
func intervals(all []*stats, step int64) []Interval {
	var out []Interval
	for i := 0; ; i++ {
		var sum seriesStep
		more := false
		for _, st := range all {
			if i >= len(st.series) {
				continue
			}
			more = true
			for op := range sum.ios {
				sum.ios[op] += st.series[i].ios[op]
				sum.bytes[op] += st.series[i].bytes[op]
				sum.response[op] += st.series[i].response[op]
			}
		}
		if !more {
			return trimmed(out)
		}
		iv := Interval{At: time.Duration(int64(i+1) * step), IOs: sum.ios, Bytes: sum.bytes}
		for op, n := range sum.ios {
			if n > 0 {
				iv.Mean[op] = time.Duration(sum.response[op] / n)
			}
		}
		out = append(out, iv)
	}
}

// trimmed drops the steps after the last completion.
func trimmed(s []Interval) []Interval {
	n := len(s)
	for n > 0 && s[n-1].IOs == [2]int64{} {
		n--
	}
	return s[:n]
}
