package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Every backend passes this suite: the real ones on a real file with direct I/O, and the fake one, which proves that
// the suite asks for nothing that only the kernel gives.
func TestConformance(t *testing.T) {
	for _, kind := range []Backend{URing, AIO, Pread, "fake"} {
		t.Run(string(kind), func(t *testing.T) {
			b := bench{kind: kind}
			if kind != "fake" {
				b.target = realTarget(t, 8<<20)
				b.needs(t)
			}
			t.Run("counts and mixes are exact", b.exact)
			t.Run("addresses are aligned and within their region", b.regions)
			t.Run("the same seed gives the same I/Os", b.seeds)
			t.Run("no address is in flight twice when either is a write", b.overlaps)
			t.Run("written data is incompressible and never repeats", b.incompressible)
			t.Run("other kinds of data are as compressible as asked", b.compressible)
			t.Run("what is written is what a read finds", b.roundTrip)
			t.Run("writing stops at its limit to the byte", b.writeLimit)
			t.Run("a cancelled run drains", b.cancel)
			t.Run("a file that ends early gives short reads", b.short)
			t.Run("several streams run at once", b.streams)
			t.Run("an open loop keeps its rate", b.open)
			t.Run("nothing is allocated per I/O", b.allocations)
			t.Run("the result survives JSON", b.json)
		})
	}
}

// bench is one backend under test. The target of the fake one is made up.
type bench struct {
	kind   Backend
	target Target
}

// needs skips a backend that this machine forbids.
func (b bench) needs(t *testing.T) {
	t.Helper()
	be, err := openBackend(b.kind, backendConfig{fd: b.target.FD, depth: 1, memory: make([]byte, 1)})
	if err != nil {
		t.Skipf("%s is not to be had on this machine: %v (see `sysctl kernel.io_uring_disabled fs.aio-max-nr`, or run outside of the container)", b.kind, err)
	}
	be.close()
}

func (b bench) environment() environment {
	if b.kind == "fake" {
		return (&fakeDisk{latency: func(io fakeIO) time.Duration { return time.Duration(io.n%7+1) * 20 * time.Microsecond }}).environment()
	}
	return machine()
}

// watch runs a workload and returns what was seen.
func (b bench) watch(t *testing.T, w Workload, content bool) (*Result, *watched) {
	t.Helper()
	seen := &watched{flying: make(map[*watcher]map[int]watchedIO), content: content}
	e := b.environment()
	inner := e.open
	e.open = func(kind Backend, c backendConfig) (backend, error) {
		be, err := inner(kind, c)
		return &watcher{be, seen}, err
	}
	return b.run(t, t.Context(), w, e), seen
}

func (b bench) run(t *testing.T, ctx context.Context, w Workload, e environment) *Result {
	t.Helper()
	target := b.target
	if b.kind == "fake" {
		target = fakeTarget()
		target.Size = 8 << 20
	}
	r, err := run(ctx, w, target, Options{Backend: b.kind}, e)
	if err != nil {
		t.Fatalf("run: %v", err)
	}
	return r
}

func (b bench) exact(t *testing.T) {
	for _, permille := range []int{0, 200, 800, 999, 1000} {
		w := mix(permille, 4, Limits{MaxTime: time.Minute, MaxIOs: 2000})
		r, seen := b.watch(t, w, false)
		want := [2]int64{int64(permille) * 2, int64(1000-permille) * 2}
		if got := [2]int64{r.Ops[Read].IOs, r.Ops[Write].IOs}; got != want || len(seen.ios) != 2000 {
			t.Errorf("%d ‰ reads: reads and writes %v of %d I/Os, want %v of 2000", permille, got, len(seen.ios), want)
		}
		// Every single deck is exact, not only their sum. One thread queues in the order of its tickets.
		if permille == 800 && b.kind != Pread {
			first := 0
			for _, io := range seen.ios[:1000] {
				if io.op == Read {
					first++
				}
			}
			if first != 800 {
				t.Errorf("%d of the first 1000 I/Os are reads, want 800", first)
			}
		}
		if r.Written != want[Write]*4096 || r.Ops[Write].Bytes != r.Written || r.Stopped != StoppedMaxIOs {
			t.Errorf("%d ‰ reads: written %d, bytes %d, stopped %q", permille, r.Written, r.Ops[Write].Bytes, r.Stopped)
		}
	}
}

func (b bench) regions(t *testing.T) {
	const size = 8 << 20
	for region, bounds := range map[Region][2]int64{All: {0, size}, Cold: {0, size / 2}, Hot: {size / 2, size}} {
		for _, pattern := range []Pattern{Random, Sequential} {
			w := reads(4, Limits{MaxTime: time.Minute, MaxIOs: 600})
			w.Streams[0].Region, w.Streams[0].Pattern, w.Streams[0].BlockSize = region, pattern, 12288 // fits no half evenly
			_, seen := b.watch(t, w, false)
			distinct := map[int64]bool{}
			for i, io := range seen.ios {
				if io.off < bounds[0] || io.off+12288 > bounds[1] || io.off%12288 != 0 {
					t.Fatalf("%s %s: I/O at %d+12288, want aligned within %v", region, pattern, io.off, bounds)
				}
				distinct[io.off] = true
				if pattern == Sequential && b.kind != Pread && i > 0 && io.off != seen.ios[i-1].off+12288 && io.off > seen.ios[i-1].off {
					t.Fatalf("%s sequential: %d follows %d", region, io.off, seen.ios[i-1].off)
				}
			}
			if blocks := (bounds[1] - bounds[0]) / 12288; int64(len(distinct)) < blocks/2 {
				t.Errorf("%s %s: 600 I/Os touched only %d of %d blocks", region, pattern, len(distinct), blocks)
			}
		}
	}
}

func (b bench) seeds(t *testing.T) {
	order := func(seed uint64) []watchedIO {
		// Depth 1: what is redrawn because it is in flight depends on the disk's timing, and must.
		w := mix(700, 1, Limits{MaxTime: time.Minute, MaxIOs: 500})
		w.Seed = seed
		_, seen := b.watch(t, w, false)
		return seen.ios
	}
	a := order(42)
	if d := cmp.Diff(a, order(42), cmp.AllowUnexported(watchedIO{})); d != "" {
		t.Errorf("seed 42 gave other I/Os the second time:\n%s", d)
	}
	if cmp.Equal(a, order(43), cmp.AllowUnexported(watchedIO{})) {
		t.Error("seeds 42 and 43 gave the same I/Os")
	}
	w := reads(1, Limits{MaxTime: time.Minute, MaxIOs: 10})
	w.Seed = 0
	if r, _ := b.watch(t, w, false); r.Seed == 0 {
		t.Error("no seed was drawn and reported")
	}
}

func (b bench) overlaps(t *testing.T) {
	w := mix(500, 16, Limits{MaxTime: time.Minute, MaxIOs: 3000})
	w.Streams[0].BlockSize = 32 << 10 // 16 of 256 blocks in flight: most runs of 16 draw one twice
	if b.kind != "fake" {
		w.Streams[0].Depth, w.Streams[0].Workers = 8, 2
	}
	r, seen := b.watch(t, w, false)
	if seen.overlap != "" {
		t.Error(seen.overlap)
	}
	if r.IOs() != 3000 {
		t.Errorf("%d I/Os of 3000", r.IOs())
	}
}

func (b bench) incompressible(t *testing.T) {
	// More than the pool of content holds, so that it comes round again.
	w := mix(500, 4, Limits{MaxTime: time.Minute, MaxIOs: 2 * (writePool>>16 + 16)})
	w.Streams[0].BlockSize = 64 << 10
	_, seen := b.watch(t, w, true)
	data := written(seen)
	if ratio := compressed(t, data[:1<<20]); ratio < 0.999 {
		t.Errorf("written data compresses to %.3f", ratio)
	}
	sectors := map[[512]byte]bool{}
	for off := 0; off < len(data); off += 512 {
		sectors[[512]byte(data[off:])] = true
	}
	if len(sectors) != len(data)/512 {
		t.Errorf("only %d of %d sectors are different", len(sectors), len(data)/512)
	}
}

func (b bench) compressible(t *testing.T) {
	for name, tt := range map[string]struct {
		data Data
		want float64
	}{
		"zero":       {Data{Kind: Zero}, 0},
		"half":       {Data{Kind: Compressible, Ratio: 0.5}, 0.5},
		"nine in 10": {Data{Kind: Compressible, Ratio: 0.9}, 0.1},
		"none":       {Data{Kind: Compressible, Ratio: 0}, 1},
	} {
		w := mix(500, 4, Limits{MaxTime: time.Minute, MaxIOs: 200})
		w.Streams[0].Data = tt.data
		_, seen := b.watch(t, w, true)
		if ratio := compressed(t, written(seen)); math.Abs(ratio-tt.want) > 0.03 {
			t.Errorf("%s: compresses to %.3f, want %.2f", name, ratio, tt.want)
		}
	}
}

func (b bench) roundTrip(t *testing.T) {
	if b.kind == "fake" {
		t.Skip("the fake disk holds no data")
	}
	codec := &lastWritten{blocks: make(map[int64][]byte)}
	b.target.Codec = codec
	b.target.Size = 1 << 20
	r := b.run(t, t.Context(), mix(500, 8, Limits{MaxTime: time.Minute, MaxIOs: 3000}), machine())
	if r.Ops[Read].Corrupt != 0 || codec.checks < 100 {
		t.Errorf("%d of %d checked reads found something else (%s)", r.Ops[Read].Corrupt, codec.checks, r.Detail)
	}
}

func (b bench) writeLimit(t *testing.T) {
	w := mix(300, 4, Limits{MinTime: time.Second, MaxTime: time.Minute, MaxWriteBytes: 333*4096 + 4095})
	if b.kind != "fake" {
		w.Streams[0].Workers = 3
	}
	r, seen := b.watch(t, w, false)
	handed := int64(0)
	for _, io := range seen.ios {
		if io.op == Write {
			handed += int64(io.size)
		}
	}
	if handed != 333*4096 || r.Written != handed || r.Stopped != StoppedMaxWriteBytes {
		t.Errorf("%d bytes handed over, %d reported, stopped %q; want %d and max_write_bytes", handed, r.Written, r.Stopped, 333*4096)
	}
}

func (b bench) cancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	e := b.environment()
	inner := e.open
	var once sync.Once
	e.open = func(kind Backend, c backendConfig) (backend, error) {
		be, err := inner(kind, c)
		return &cancelling{be, func() { once.Do(cancel) }}, err
	}
	r := b.run(t, ctx, reads(4, Limits{MaxTime: time.Hour}), e)
	if r.Stopped != StoppedCancelled || r.IOs() < 1 || r.Abandoned != 0 {
		t.Errorf("stopped %q after %d I/Os, %d abandoned", r.Stopped, r.IOs(), r.Abandoned)
	}
}

func (b bench) short(t *testing.T) {
	if b.kind == "fake" {
		t.Skip("the fake disk has no end")
	}
	b.target.Size *= 2
	r := b.run(t, t.Context(), reads(4, Limits{MaxTime: time.Minute, MaxIOs: 1000}), machine())
	short := r.Ops[Read].Errors["SHORT"]
	if short < 300 || short+r.IOs() != 1000 || !slices.Contains(r.Reasons, InvalidShortRead) {
		t.Errorf("%d short, %d complete of 1000, reasons %v", short, r.IOs(), r.Reasons)
	}
}

func (b bench) streams(t *testing.T) {
	if b.kind == "fake" {
		t.Skip("the fake disk serves one thread")
	}
	w := mix(800, 4, Limits{MaxTime: time.Minute, MaxIOs: 1500})
	w.Streams = append(w.Streams, Stream{BlockSize: 64 << 10, ReadPermille: 1000, Depth: 2, Pattern: Sequential, Workers: 2})
	r, seen := b.watch(t, w, false)
	sizes := map[int]int{}
	for _, io := range seen.ios {
		sizes[io.size]++
	}
	if r.IOs() != 1500 || sizes[4096] == 0 || sizes[64<<10] == 0 || seen.overlap != "" {
		t.Errorf("%d I/Os, by size %v, %s", r.IOs(), sizes, seen.overlap)
	}
}

func (b bench) open(t *testing.T) {
	w := mix(800, 16, Limits{MaxTime: time.Second / 2})
	w.Streams[0].Arrival, w.Streams[0].Rate = Paced, 400
	r := b.run(t, t.Context(), w, b.environment())
	o := [2]int64{r.Ops[Read].IOs + r.Ops[Read].Censored, r.Ops[Write].IOs + r.Ops[Write].Censored}
	if o[Read]+o[Write] != 200 {
		t.Errorf("%v I/Os were intended in 0.5 s at 400 IOPS", o)
	}
	for _, op := range r.Ops {
		if op.Response.Count() != op.IOs+op.Censored || op.Service.Count() != op.IOs || op.Service.Max() > op.Response.Max() {
			t.Errorf("IOs %d, censored %d, response %d, service %d; longest %v and %v", op.IOs, op.Censored, op.Response.Count(), op.Service.Count(), op.Response.Max(), op.Service.Max())
		}
	}
}

func (b bench) allocations(t *testing.T) {
	if b.kind == "fake" {
		t.Skip("the fake disk allocates itself")
	}
	mallocs := func(n int64) uint64 {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		b.run(t, t.Context(), mix(800, 4, Limits{MaxTime: time.Minute, MaxIOs: n}), machine())
		runtime.ReadMemStats(&after)
		return after.Mallocs - before.Mallocs
	}
	mallocs(100)
	few, many := mallocs(1000), mallocs(9000)
	// What the runtime does beside it in a longer run is not by I/O: far below one per hundred.
	if many > few+80 {
		t.Errorf("%d allocations for 1,000 I/Os and %d for 9,000", few, many)
	}
}

func (b bench) json(t *testing.T) {
	w := mix(800, 4, Limits{MaxTime: time.Minute, MaxIOs: 1000})
	r := b.run(t, t.Context(), w, b.environment())
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var back Result
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(&back)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(data, again) {
		t.Errorf("another result after a round trip:\n%s", cmp.Diff(string(data), string(again)))
	}
	if back.Ops[Read].Response.Quantile(0.5) != r.Ops[Read].Response.Quantile(0.5) || back.IOPS(Write) != r.IOPS(Write) {
		t.Error("figures changed on the way")
	}
}
