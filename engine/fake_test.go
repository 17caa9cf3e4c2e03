package engine

import (
	"sync"
	"syscall"
	"testing"
	"time"

	"ssd_exporter/blockdev"
)

// fakeDisk is a disk in memory with a clock of its own: it decides how long each I/O takes and how it ends. It serves
// one thread; its time moves only when that thread looks at the clock (a little) or waits.
type fakeDisk struct {
	mu      sync.Mutex
	clock   int64
	latency func(io fakeIO) time.Duration // 100 µs when nil
	result  func(io fakeIO) int32         // the length when nil
	broken  error                         // of submit, from the breakAt-th I/O on
	breakAt int
	price   time.Duration // of a submit that does not wait, beside the poll's own
	log     []fakeIO
}

// fakeIO is one I/O that a fakeDisk was given, in order.
type fakeIO struct {
	n    int
	op   Op
	off  int64
	size int
	at   time.Duration // of the submission, on the fake clock
}

const never = time.Duration(1 << 62)

func (d *fakeDisk) now() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.clock += 100 // looking takes time, or a loop that polls would never end
	return d.clock
}

func (d *fakeDisk) environment() environment {
	return environment{
		open:   func(Backend, backendConfig) (backend, error) { return &fakeBackend{disk: d}, nil },
		nowait: func(int, int64) bool { return true },
		now:    d.now,
	}
}

// fakeBackend is one thread's way to a fakeDisk.
type fakeBackend struct {
	disk   *fakeDisk
	queued []fakeEnd
	flying []fakeEnd
}

type fakeEnd struct {
	io   fakeIO
	slot int
	due  int64
}

func (b *fakeBackend) queue(slot int, op Op, off int64, buf []byte) {
	b.queued = append(b.queued, fakeEnd{io: fakeIO{op: op, off: off, size: len(buf)}, slot: slot})
}

func (b *fakeBackend) submit(wait time.Duration) error {
	d := b.disk
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range b.queued {
		e.io.n, e.io.at = len(d.log), time.Duration(d.clock)
		if d.broken != nil && e.io.n >= d.breakAt {
			return d.broken
		}
		d.log = append(d.log, e.io)
		latency := 100 * time.Microsecond
		if d.latency != nil {
			latency = d.latency(e.io)
		}
		e.due = d.clock + int64(latency)
		b.flying = append(b.flying, e)
	}
	b.queued = b.queued[:0]
	if wait == 0 {
		d.clock += int64(4 * time.Microsecond) // polling has its price
	}
	if wait <= 0 {
		d.clock += int64(d.price)
	}
	if wait > 0 {
		until := d.clock + int64(wait)
		for _, e := range b.flying {
			until = min(until, e.due)
		}
		d.clock = max(d.clock, until)
	}
	return nil
}

func (b *fakeBackend) reap(into []completion) int {
	d := b.disk
	d.mu.Lock()
	defer d.mu.Unlock()
	n := 0
	rest := b.flying[:0]
	for _, e := range b.flying {
		if e.due > d.clock || n == len(into) {
			rest = append(rest, e)
			continue
		}
		res := int32(e.io.size)
		if d.result != nil {
			res = d.result(e.io)
		}
		into[n] = completion{slot: int32(e.slot), res: res}
		n++
	}
	b.flying = rest
	return n
}

func (b *fakeBackend) close() {}

// fails is a result that is an error.
func fails(errno syscall.Errno) int32 { return -int32(errno) }

// fakeTarget is 64 MiB on a disk whose counters cannot be read.
func fakeTarget() Target {
	return Target{FD: -1, Size: 64 << 20, Writable: true, MemAlign: 512, OffsetAlign: 512, Filesystem: blockdev.Filesystem{Leaves: []string{"fake disk"}}}
}

// runFake runs a workload on a fake disk and fails the test on an error.
func runFake(t *testing.T, d *fakeDisk, w Workload) *Result {
	t.Helper()
	r, err := run(t.Context(), w, fakeTarget(), Options{}, d.environment())
	if err != nil {
		t.Fatalf("run: %v", err)
	}
	return r
}

// reads is a workload of 4 KiB random reads.
func reads(depth int, stop Limits) Workload {
	return Workload{Name: "reads", Streams: []Stream{{BlockSize: 4096, ReadPermille: 1000, Depth: depth}}, Stop: stop, Seed: 1}
}

// mix is a workload of 4 KiB random reads and writes.
func mix(permille, depth int, stop Limits) Workload {
	w := reads(depth, stop)
	w.Name = "mix"
	w.Streams[0].ReadPermille = permille
	if w.Stop.MaxWriteBytes == 0 {
		w.Stop.MaxWriteBytes = 1 << 40
	}
	return w
}
