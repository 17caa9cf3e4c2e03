package engine

import (
	"context"
	"math"
	"slices"
	"sync/atomic"
	"testing"
	"time"
)

func TestRateCountsFromFullDepthToTheLastIssue(t *testing.T) {
	// 1 ms per I/O at depth 4 is 4,000 I/Os per second. Over all 100 I/Os and the whole time, ramp and drain would say
	// less; all I/Os over the time to the last issue would say 4 % more.
	d := &fakeDisk{latency: func(io fakeIO) time.Duration {
		if io.n < 4 {
			return time.Duration(io.n+1) * 250 * time.Microsecond // so that they come back one by one
		}
		return time.Millisecond
	}}
	r := runFake(t, d, reads(4, Limits{MaxTime: time.Minute, MaxIOs: 100}))
	if got := r.TotalIOPS(); math.Abs(got/4000-1) > 0.01 {
		t.Errorf("%.0f IOPS over %v, want 4000", got, r.Elapsed)
	}
	if r.Ops[Read].IOs != 100 || r.Ops[Read].Rated != 97 {
		t.Errorf("IOs %d, rated %d; want 100, and 97: the drain belongs to the first only", r.Ops[Read].IOs, r.Ops[Read].Rated)
	}
	if math.Abs(r.Depth-4) > 0.1 {
		t.Errorf("depth %.2f, want 4", r.Depth)
	}
}

func TestTheDrainIsInTheLatencies(t *testing.T) {
	d := &fakeDisk{latency: func(io fakeIO) time.Duration {
		if io.n == 99 {
			return time.Second // the very last
		}
		return time.Millisecond
	}}
	r := runFake(t, d, reads(4, Limits{MaxTime: time.Minute, MaxIOs: 100}))
	if r.Ops[Read].Response.Count() != 100 || r.Ops[Read].Response.Max() < 999*time.Millisecond {
		t.Errorf("%d timed, longest %v: want the last I/O's second", r.Ops[Read].Response.Count(), r.Ops[Read].Response.Max())
	}
}

// stalling freezes everything between 1 s and 2 s.
func stalling() *fakeDisk {
	return &fakeDisk{latency: func(io fakeIO) time.Duration {
		if io.at >= time.Second && io.at < 2*time.Second {
			return 2*time.Second - io.at
		}
		return 100 * time.Microsecond
	}}
}

func TestAStallShowsInTheOpenLoopAndHidesInTheClosedOne(t *testing.T) {
	closed := runFake(t, stalling(), reads(4, Limits{MaxTime: 5 * time.Second}))
	w := reads(64, Limits{MaxTime: 5 * time.Second})
	w.Streams[0].Arrival, w.Streams[0].Rate = Paced, 250
	open := runFake(t, stalling(), w)

	if p := closed.Ops[Read].Response.Quantile(0.99); p > time.Millisecond {
		t.Errorf("closed loop: p99 %v; four I/Os of many thousands should not show", p)
	}
	// A fifth of the I/Os were intended within the stall, and those in its first half waited 500 ms and more.
	if p := open.Ops[Read].Response.Quantile(0.9); p < 450*time.Millisecond || p > 550*time.Millisecond {
		t.Errorf("open loop: p90 %v, want about 500 ms", p)
	}
	if p := open.Ops[Read].Service.Quantile(0.5); p > time.Millisecond {
		t.Errorf("open loop: median service %v", p)
	}
	for name, r := range map[string]*Result{"closed": closed, "open": open} {
		if r.LongestGap < 990*time.Millisecond || r.LongestGap > 1010*time.Millisecond {
			t.Errorf("%s loop: longest gap %v, want 1 s", name, r.LongestGap)
		}
	}
	if !open.Valid {
		t.Errorf("open loop: invalid (%s): the lateness was the disk's, not ours", open.Detail)
	}
}

func TestPacedArrivalsKeepTheirTimes(t *testing.T) {
	d := &fakeDisk{}
	w := mix(800, 16, Limits{MaxTime: 2 * time.Second})
	w.Streams[0].Arrival, w.Streams[0].Rate = Paced, 500
	r := runFake(t, d, w)
	if got := [2]int64{r.Ops[Read].IOs, r.Ops[Write].IOs}; got != [2]int64{800, 200} {
		t.Errorf("reads and writes %v in 2 s at 500 IOPS, want 800 and 200", got)
	}
	start := d.log[0].at
	for i, io := range d.log {
		if late := io.at - start - time.Duration(i)*2*time.Millisecond; late < -2*time.Microsecond || late > 10*time.Microsecond {
			t.Fatalf("I/O %d was issued %v after its time", i, late)
		}
	}
	if math.Abs(r.TotalIOPS()-500) > 1 || r.IssueLagP99 > 10*time.Microsecond || !r.Valid {
		t.Errorf("%.1f IOPS, lag %v, valid %v (%s)", r.TotalIOPS(), r.IssueLagP99, r.Valid, r.Detail)
	}
	if r.Ops[Read].Service.Count() != r.Ops[Read].IOs {
		t.Errorf("service has %d samples of %d", r.Ops[Read].Service.Count(), r.Ops[Read].IOs)
	}
}

func TestPoissonArrivalsAreExponentialAndTheSameForOneSeed(t *testing.T) {
	times := func(seed uint64) []int64 {
		src := newSource(Stream{Arrival: Poisson, Rate: 1000}, area{}, seed, 1, 0, false)
		at := make([]int64, 10000)
		for i := range at {
			n, a := src.arrivals.next()
			if n != uint64(i) {
				t.Fatalf("arrival %d has number %d", i, n)
			}
			at[i] = a
		}
		return at
	}
	a := times(7)
	if !slices.Equal(a, times(7)) || slices.Equal(a, times(8)) {
		t.Error("the times are not those of the seed")
	}
	// 10,000 arrivals at 1,000 per second take 10 s; the spread is the root of their number.
	if s := float64(a[len(a)-1]) / 1e9; math.Abs(s-10) > 5*10/math.Sqrt(10000) {
		t.Errorf("10,000 arrivals took %.2f s", s)
	}
	long := 0
	for i := 1; i < len(a); i++ {
		if a[i]-a[i-1] > int64(time.Millisecond) {
			long++
		}
	}
	if share := float64(long) / 10000; math.Abs(share-1/math.E) > 0.02 {
		t.Errorf("a share of %.3f of the times between is longer than their mean, want 1/e", share)
	}
}

func TestUnsentAndUnfinishedIOsAreCensoredAtTheirAge(t *testing.T) {
	// The disk answers nothing from 1 s on: of 4 s at 100 IOPS, 8 are in flight for ever and 292 are never sent.
	d := &fakeDisk{latency: func(io fakeIO) time.Duration {
		if io.at >= time.Second {
			return never
		}
		return 100 * time.Microsecond
	}}
	w := reads(8, Limits{MaxTime: 4 * time.Second})
	w.Streams[0].Arrival, w.Streams[0].Rate = Paced, 100
	r := runFake(t, d, w)
	o := r.Ops[Read]
	if o.IOs != 100 || o.Censored != 300 || o.Response.Count() != 400 || r.Abandoned != 8 {
		t.Errorf("IOs %d, censored %d, response %d, abandoned %d; want 100, 300, 400, 8", o.IOs, o.Censored, o.Response.Count(), r.Abandoned)
	}
	if p := o.Response.Quantile(0.5); p < 900*time.Millisecond {
		t.Errorf("median response %v: the silence must show", p)
	}
	if o.Service.Count() != 100 {
		t.Errorf("service has %d samples: only what came back has one", o.Service.Count())
	}
}

// On a busy host the thread that issues is now and then not scheduled in time. That is not the disk's doing: it must
// not be in the disk's response, and only where starts bunch together is the load no longer what was meant.
func TestOurOwnLatenessIsNotTheDisks(t *testing.T) {
	const disk = 100 * time.Microsecond
	for name, test := range map[string]struct {
		late  time.Duration
		valid bool
	}{
		"a millisecond late, of four between starts": {time.Millisecond, true},
		"three milliseconds late":                    {3 * time.Millisecond, false},
	} {
		t.Run(name, func(t *testing.T) {
			d := &fakeDisk{latency: func(fakeIO) time.Duration { return disk }}
			e := d.environment()
			var looked atomic.Int64
			e.now = func() int64 {
				if looked.Add(1)%100 == 0 {
					d.mu.Lock()
					d.clock += int64(test.late) // the thread was not scheduled
					d.mu.Unlock()
				}
				return d.now()
			}
			w := reads(16, Limits{MaxTime: 2 * time.Second})
			w.Streams[0].Arrival, w.Streams[0].Rate = Paced, 250
			r, err := run(t.Context(), w, fakeTarget(), Options{}, e)
			if err != nil {
				t.Fatal(err)
			}
			if r.Valid != test.valid || !test.valid && r.Reasons[0] != InvalidIssueLag {
				t.Errorf("valid %v, reasons %v, lag p99 %v", r.Valid, r.Reasons, r.IssueLagP99)
			}
			if r.IssueLagP99 < test.late/2 {
				t.Errorf("lag p99 %v, want about %v: the lateness is hidden", r.IssueLagP99, test.late)
			}
			o := r.Ops[Read]
			if over := o.Response.ShareAbove(2*disk) - o.Service.ShareAbove(2*disk); over > 0.01 {
				t.Errorf("a share of %.3f of the responses is longer than the disk took", over)
			}
		})
	}
}

func TestLimits(t *testing.T) {
	const block = 4096
	tests := map[string]struct {
		w       Workload
		stopped string
		ios     int64 // 0: any
		least   time.Duration
		most    time.Duration
	}{
		"MaxIOs ends it exactly":              {mix(800, 4, Limits{MaxTime: time.Minute, MaxIOs: 777}), StoppedMaxIOs, 777, 0, time.Second},
		"MaxTime ends it":                     {reads(1, Limits{MaxTime: 300 * time.Millisecond}), StoppedMaxTime, 0, 300 * time.Millisecond, 301 * time.Millisecond},
		"MinTime carries it beyond MaxIOs":    {reads(1, Limits{MaxTime: time.Minute, MaxIOs: 10, MinTime: 500 * time.Millisecond}), StoppedMaxIOs, 0, 500 * time.Millisecond, 501 * time.Millisecond},
		"MaxTime beats MinIOs":                {reads(1, Limits{MaxTime: 100 * time.Millisecond, MinIOs: 1e6}), StoppedMaxTime, 0, 100 * time.Millisecond, 101 * time.Millisecond},
		"MaxWriteBytes is hard to the byte":   {mix(0, 4, Limits{MaxTime: time.Minute, MaxWriteBytes: 100*block + block - 1}), StoppedMaxWriteBytes, 100, 0, time.Second},
		"MaxWriteBytes beats every minimum":   {mix(0, 1, Limits{MinTime: time.Second, MaxTime: time.Minute, MinIOs: 500, MaxWriteBytes: 10 * block}), StoppedMaxWriteBytes, 10, 0, 100 * time.Millisecond},
		"MaxWriteBytes of exactly the writes": {mix(800, 4, Limits{MaxTime: time.Minute, MaxIOs: 5000, MaxWriteBytes: 1000 * block}), StoppedMaxIOs, 5000, 0, time.Second},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := runFake(t, &fakeDisk{}, tt.w)
			if r.Stopped != tt.stopped || tt.ios > 0 && r.IOs() != tt.ios {
				t.Errorf("stopped %q after %d I/Os, want %q after %d", r.Stopped, r.IOs(), tt.stopped, tt.ios)
			}
			if r.Total < tt.least || r.Total > tt.most {
				t.Errorf("it took %v, want %v to %v", r.Total, tt.least, tt.most)
			}
			if most := tt.w.MaxWritten(); r.Written > most || r.Written != r.Ops[Write].Bytes {
				t.Errorf("%d bytes written of %d allowed, %d complete", r.Written, most, r.Ops[Write].Bytes)
			}
		})
	}
}

func TestTheWarmUpOnlyReadsAndIsNotReported(t *testing.T) {
	d := &fakeDisk{latency: func(io fakeIO) time.Duration {
		if io.n < 64 {
			return time.Second // waking up
		}
		return time.Millisecond
	}}
	w := mix(0, 4, Limits{MaxTime: time.Minute, MaxIOs: 200})
	w.Warmup = Limits{MaxIOs: 64}
	r := runFake(t, d, w)
	for i, io := range d.log {
		if want := map[bool]Op{true: Read, false: Write}[i < 64]; io.op != want {
			t.Fatalf("I/O %d is a %v, want a %v", i, io.op, want)
		}
	}
	if len(d.log) != 264 || r.IOs() != 200 || r.Ops[Read].IOs != 0 || r.Ops[Write].Response.Max() > 2*time.Millisecond {
		t.Errorf("%d I/Os issued, %d reported, longest %v", len(d.log), r.IOs(), r.Ops[Write].Response.Max())
	}
}

func TestACancelledRunReturnsWhatItHas(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	d := &fakeDisk{}
	d.latency = func(io fakeIO) time.Duration {
		if io.n == 500 {
			cancel()
		}
		return time.Millisecond
	}
	r, err := run(ctx, reads(4, Limits{MaxTime: time.Hour}), fakeTarget(), Options{}, d.environment())
	if err != nil || r.Stopped != StoppedCancelled {
		t.Fatalf("result %+v, error %v", r, err)
	}
	if r.IOs() < 500 || r.IOs() != int64(len(d.log)) {
		t.Errorf("%d I/Os reported of %d issued: what was in flight drains", r.IOs(), len(d.log))
	}
}

func TestTheIntervalSeriesIsBoundedAndAddsUp(t *testing.T) {
	d := &fakeDisk{latency: func(fakeIO) time.Duration { return 10 * time.Millisecond }}
	r := runFake(t, d, reads(1, Limits{MaxTime: 10 * time.Minute}))
	if n := len(r.Intervals); n > maxSteps+1 || n < maxSteps/4 {
		t.Errorf("%d steps for 10 minutes", n)
	}
	var sum int64
	for i, iv := range r.Intervals {
		sum += iv.IOs[Read]
		if i > 0 && iv.At-r.Intervals[i-1].At != r.Intervals[0].At {
			t.Fatalf("step %d ends at %v after %v", i, iv.At, r.Intervals[i-1].At)
		}
		if iv.Mean[Read] < 10*time.Millisecond || iv.Mean[Read] > 11*time.Millisecond {
			t.Fatalf("step %d: mean %v", i, iv.Mean[Read])
		}
	}
	if sum != r.IOs() {
		t.Errorf("the steps hold %d I/Os of %d", sum, r.IOs())
	}
}
