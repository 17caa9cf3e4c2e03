package engine

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestFailedIOsAreCountedByErrnoAndNeverTimed(t *testing.T) {
	d := &fakeDisk{
		latency: func(io fakeIO) time.Duration {
			if io.n%10 == 3 {
				return time.Nanosecond // a fast failure would improve every percentile
			}
			return time.Millisecond
		},
		result: func(io fakeIO) int32 {
			if io.n%10 == 3 {
				return fails(unix.EIO)
			}
			return int32(io.size)
		},
	}
	r := runFake(t, d, reads(4, Limits{MaxTime: time.Minute, MaxIOs: 1000}))
	got := r.Ops[Read]
	if got.IOs != 900 || got.Errors["EIO"] != 100 || got.Bytes != 900*4096 || got.Response.Count() != 900 {
		t.Errorf("IOs %d, errors %v, bytes %d, timed %d; want 900, EIO 100, %d, 900", got.IOs, got.Errors, got.Bytes, got.Response.Count(), 900*4096)
	}
	if p := got.Response.Quantile(0.001); p < time.Millisecond*99/100 {
		t.Errorf("the fastest I/O took %v: a failed one was timed", p)
	}
	if r.Valid || !slices.Contains(r.Reasons, InvalidIOErrors) {
		t.Errorf("valid %v, reasons %v: want io_errors", r.Valid, r.Reasons)
	}
}

func TestShortTransfersAreNoIOs(t *testing.T) {
	for name, short := range map[string]int32{
		"a pulled disk reads 0 bytes":     0,
		"the file ends within the block ": 512,
	} {
		t.Run(name, func(t *testing.T) {
			d := &fakeDisk{result: func(io fakeIO) int32 {
				if io.n >= 150 {
					return short
				}
				return int32(io.size)
			}}
			r := runFake(t, d, reads(1, Limits{MaxTime: time.Minute, MaxIOs: 200}))
			if got := r.Ops[Read]; got.IOs != 150 || got.Errors["SHORT"] != 50 {
				t.Errorf("IOs %d, errors %v; want 150 and SHORT 50", got.IOs, got.Errors)
			}
			if r.Valid || !slices.Equal(r.Reasons, []Invalid{InvalidShortRead}) {
				t.Errorf("valid %v, reasons %v: want short_read", r.Valid, r.Reasons)
			}
		})
	}
}

func TestWriteErrorsThatCannotHealEndTheRunAtOnce(t *testing.T) {
	for _, errno := range []syscall.Errno{
		unix.ENOSPC, unix.EDQUOT, unix.EROFS, unix.EIO, unix.ENODEV, // the file system, the disk
		unix.ENODATA, unix.EREMOTEIO, unix.ETIMEDOUT, unix.ENOLINK, unix.EILSEQ, unix.EBADE, // the block layer, of a medium
	} {
		t.Run(errnoName(errno), func(t *testing.T) {
			d := &fakeDisk{result: func(io fakeIO) int32 {
				if io.n >= 100 {
					return fails(errno)
				}
				return int32(io.size)
			}}
			r, err := run(t.Context(), mix(0, 4, Limits{MaxTime: time.Minute}), fakeTarget(), Options{}, d.environment())
			if !errors.Is(err, errno) || !strings.Contains(err.Error(), `workload "mix", run: write of 4096 bytes at offset`) {
				t.Errorf("error %q: want %v and what was being done", err, errno)
			}
			if r == nil || r.Stopped != StoppedIOError || r.Ops[Write].IOs != 100 {
				t.Fatalf("result %+v: want what was measured before, stopped by io_error", r)
			}
			// Nothing was issued after the error was seen: at most what was in flight beside it.
			if n := len(d.log); n > 104 {
				t.Errorf("%d I/Os were issued, the 101st failed at depth 4", n)
			}
		})
	}
}

func TestAShortageOfTheKernelsEndsNoRun(t *testing.T) {
	for _, errno := range []syscall.Errno{unix.EAGAIN, unix.EINTR, unix.ENOMEM, 0} {
		d := &fakeDisk{result: func(io fakeIO) int32 {
			if io.n%10 == 3 {
				return fails(errno) // 0 is a short transfer
			}
			return int32(io.size)
		}}
		r := runFake(t, d, mix(0, 4, Limits{MaxTime: time.Minute, MaxIOs: 1000}))
		if r.Stopped != StoppedMaxIOs || r.Ops[Write].IOs != 900 || r.Failed()+r.Short() != 100 {
			t.Errorf("%v on writes: stopped %q after %d, errors %v; want max_ios, 900 and 100 errors", errno, r.Stopped, r.Ops[Write].IOs, r.Ops[Write].Errors)
		}
	}
}

func TestReadErrorsEndTheRunOnlyWhenTheDeviceIsGone(t *testing.T) {
	failing := func(errno syscall.Errno) *fakeDisk {
		return &fakeDisk{result: func(fakeIO) int32 { return fails(errno) }}
	}
	w := reads(1, Limits{MaxTime: time.Minute, MaxIOs: 50})
	for _, errno := range []syscall.Errno{unix.EIO, unix.ENODATA, unix.EREMOTEIO, unix.EILSEQ} {
		if _, err := run(t.Context(), w, fakeTarget(), Options{}, failing(errno).environment()); err != nil {
			t.Errorf("%s on reads: %v; they are counted, a disk with one bad block is worth measuring", errnoName(errno), err)
		}
	}
	for _, errno := range []syscall.Errno{unix.ENODEV, unix.ENXIO, unix.ESHUTDOWN, unix.ENOLINK, unix.ENOMEDIUM, unix.ESTALE} {
		if _, err := run(t.Context(), w, fakeTarget(), Options{}, failing(errno).environment()); !errors.Is(err, errno) {
			t.Errorf("%s on reads: error %v", errnoName(errno), err)
		}
	}
}

func TestAnErrorInTheWarmUpIsToldAndTheRunDoesNotBegin(t *testing.T) {
	d := &fakeDisk{result: func(fakeIO) int32 { return fails(unix.ENODEV) }}
	w := reads(1, Limits{MaxTime: time.Minute, MaxIOs: 50})
	w.Warmup = Limits{MaxIOs: 64}
	r, err := run(t.Context(), w, fakeTarget(), Options{}, d.environment())
	if !errors.Is(err, unix.ENODEV) || !strings.Contains(err.Error(), "warm-up") {
		t.Errorf("error %v: want ENODEV in the warm-up", err)
	}
	if r == nil || r.Valid || r.Ops[Read].Errors["ENODEV"] != 1 || len(d.log) != 1 {
		t.Errorf("result %+v after %d I/Os: want the one error", r, len(d.log))
	}
}

func TestABrokenBackendIsAnErrorWithAResult(t *testing.T) {
	broken := errors.New("ring is gone")
	d := &fakeDisk{broken: broken, breakAt: 10}
	r, err := run(t.Context(), reads(2, Limits{MaxTime: time.Minute}), fakeTarget(), Options{}, d.environment())
	if !errors.Is(err, broken) || r == nil || r.Stopped != StoppedIOError || r.Valid {
		t.Errorf("result %+v, error %v", r, err)
	}
}

func TestAHungDiskIsGivenUpAfterTheStop(t *testing.T) {
	d := &fakeDisk{latency: func(io fakeIO) time.Duration {
		if io.n >= 300 {
			return never
		}
		return time.Millisecond
	}}
	r := runFake(t, d, reads(4, Limits{MaxTime: 2 * time.Second}))
	if r.Stopped != StoppedMaxTime || r.Abandoned != 4 || r.Ops[Read].IOs != 300 {
		t.Errorf("stopped %q, abandoned %d, IOs %d; want max_time, 4, 300", r.Stopped, r.Abandoned, r.Ops[Read].IOs)
	}
	if r.Total < 2*time.Second+drainPatience || r.Total > 3*time.Second+drainPatience {
		t.Errorf("it took %v: want the 2 s of the run and %v of patience", r.Total, drainPatience)
	}
	if r.LongestGap < drainPatience {
		t.Errorf("longest gap %v: the silence at the end is one", r.LongestGap)
	}
	if r.Valid || !strings.Contains(r.Detail, "4 I/Os did not come back within 5s") {
		t.Errorf("valid %v, detail %q", r.Valid, r.Detail)
	}
}

// hangingBackend is a sync backend that hangs in its third I/O until it is let go.
type hangingBackend struct {
	syncBackend
	n    int
	hung chan struct{}
	free chan struct{}
}

func (b *hangingBackend) submit(time.Duration) error {
	if !b.queued {
		return nil
	}
	b.queued = false
	b.state.Store(syncInCall)
	if b.n++; b.n == 3 {
		close(b.hung)
		<-b.free
	}
	if !b.state.CompareAndSwap(syncInCall, syncIdle) {
		return errAbandoned
	}
	b.res, b.done = int32(len(b.buf)), true
	return nil
}

func TestAThreadThatHangsInTheKernelIsLeftBehind(t *testing.T) {
	b := &hangingBackend{hung: make(chan struct{}), free: make(chan struct{})}
	var clock, look atomic.Int64
	look.Store(int64(time.Microsecond))
	e := environment{
		open:   func(Backend, backendConfig) (backend, error) { return b, nil },
		nowait: func(int, int64) bool { return true },
		now:    func() int64 { return clock.Add(look.Load()) },
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		<-b.hung
		look.Store(int64(drainPatience)) // time flies from here on
		cancel()
	}()
	r, err := run(ctx, reads(1, Limits{MaxTime: time.Hour}), fakeTarget(), Options{}, e)
	if err != nil {
		t.Fatal(err)
	}
	if r.Stopped != StoppedCancelled || r.Abandoned != 1 || r.Ops[Read].IOs != 2 {
		t.Errorf("stopped %q, abandoned %d, IOs %d; want cancelled, 1, 2", r.Stopped, r.Abandoned, r.Ops[Read].IOs)
	}
	close(b.free) // it comes back late, and touches nothing: the race detector watches
}

// badCodec accepts the blocks below an offset, and stamps writes with a letter.
type badCodec struct{ below int64 }

func (c badCodec) Stamp(block []byte, _ int64) { copy(block, bytes.Repeat([]byte("s"), len(block))) }

func (c badCodec) Check(_ []byte, off int64) error {
	if off >= c.below {
		return errors.New("stamp of another block")
	}
	return nil
}

func TestCorruptBlocksAreCountedAndDescribed(t *testing.T) {
	d := &fakeDisk{}
	target := fakeTarget()
	target.Codec = badCodec{below: target.Size / 2}
	r, err := run(t.Context(), mix(500, 4, Limits{MaxTime: time.Minute, MaxIOs: 1000}), target, Options{}, d.environment())
	if err != nil {
		t.Fatal(err)
	}
	want := int64(0)
	for _, io := range d.log {
		if io.op == Read && io.off >= target.Size/2 {
			want++
		}
	}
	if got := r.Ops[Read].Corrupt; got != want || want == 0 {
		t.Errorf("%d corrupt reads, want %d", got, want)
	}
	if !strings.Contains(r.Detail, "stamp of another block") {
		t.Errorf("detail %q does not say what was found", r.Detail)
	}
}
