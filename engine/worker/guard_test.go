package worker

import (
	"context"
	"errors"
	"testing"
	"time"

	"ssd_exporter/blockdev"
	"ssd_exporter/engine"
)

func workload(streams ...engine.Stream) engine.Workload { return engine.Workload{Streams: streams} }

// step is what happens in one sample of 50 ms: I/Os that come back to us, and I/Os that the device counts.
type step struct {
	phase                         string
	reads, writes                 int64
	deviceReads, deviceWrites     int64
	deviceReadMiB, deviceWriteMiB float64 // 0: 4 KiB for each
	unreadable                    bool
}

func repeat(n int, s step) []step {
	out := make([]step, n)
	for i := range out {
		out[i] = s
	}
	return out
}

func TestTheGuardTellsForeignIOFromOurs(t *testing.T) {
	q1 := workload(engine.Stream{BlockSize: 4096, ReadPermille: 1000})
	q32 := workload(engine.Stream{BlockSize: 4096, ReadPermille: 1000, Depth: 32})
	mixed := workload(engine.Stream{BlockSize: 4096, ReadPermille: 800, Depth: 4})
	large := workload(engine.Stream{BlockSize: 1 << 20, ReadPermille: 1000, Depth: 2})
	sync := workload(engine.Stream{BlockSize: 4096, Sync: engine.Fdatasync})
	quiet := step{reads: 500, deviceReads: 500}
	busy := step{reads: 500, deviceReads: 600} // 100 in 50 ms are 2,000 a second
	var bursts []step
	for range 10 {
		bursts = append(bursts, busy, quiet, quiet)
	}
	for _, c := range []struct {
		name   string
		w      engine.Workload
		leaves int
		steps  []step
		after  int // samples until the run is cancelled; 0: never
	}{
		{"ours alone", q1, 1, repeat(20, quiet), 0},
		{"foreign reads", q1, 1, append(repeat(3, quiet), repeat(5, busy)...), 5},
		{"a journal's nine writes while we read", q1, 1, append([]step{{reads: 500, deviceReads: 500, deviceWrites: 9}}, repeat(9, quiet)...), 0},
		{"a journal's nine writes, ever again", q1, 1, repeat(20, step{reads: 500, deviceReads: 500, deviceWrites: 9}), 0},
		{"ten bursts, none beside another", q1, 1, append(repeat(1, quiet), bursts...), 0},
		{"one burst", q1, 1, append(append(repeat(3, quiet), busy), repeat(9, quiet)...), 0},
		{"two of three samples", q1, 1, []step{quiet, quiet, busy, quiet, busy, quiet}, 5},
		{"two of four samples", q1, 1, []step{quiet, quiet, busy, quiet, quiet, busy, quiet}, 0},
		{"foreign writes while we read", q1, 1, repeat(5, step{reads: 500, deviceReads: 500, deviceWrites: 100}), 2},
		{"a few others", q1, 1, repeat(20, step{reads: 500, deviceReads: 505, deviceWrites: 3}), 0},
		{"I/Os in flight are counted now here, now there", q32, 1, append(repeat(3, step{reads: 1000, deviceReads: 1032}), repeat(3, step{reads: 1032, deviceReads: 1000})...), 0},
		{"large reads that the driver splits", large, 1, repeat(20, step{reads: 100, deviceReads: 800, deviceReadMiB: 100}), 0},
		{"large reads, split, and foreign ones", large, 1, repeat(5, step{reads: 100, deviceReads: 1600, deviceReadMiB: 106}), 2},
		{"the journal's writes", sync, 1, repeat(20, step{writes: 40, deviceWrites: 160}), 0},
		{"the journal's and foreign writes", sync, 1, repeat(5, step{writes: 40, deviceWrites: 360}), 2},
		{"a mirror writes twice", mixed, 2, repeat(20, step{reads: 400, writes: 100, deviceReads: 400, deviceWrites: 200}), 0},
		{"a parity array reads and writes more", mixed, 4, repeat(20, step{reads: 400, writes: 100, deviceReads: 600, deviceWrites: 200}), 0},
		{"a new phase starts from zero", q1, 1, []step{{phase: "warm-up", reads: 64, deviceReads: 64}, {phase: "run", reads: 10, deviceReads: 500}, quiet, quiet}, 0},
		{"counters that cannot be read", q1, 1, repeat(9, step{reads: 500, deviceReads: 900, unreadable: true}), 0},
		{"a disk that is not known", q1, 0, repeat(9, busy), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := play(c.w, c.leaves, AbortRule{ForeignIOPS: 200}, c.steps); got != c.after {
				t.Errorf("cancelled after %d samples, want %d (0: never)", got, c.after)
			}
		})
	}
	if got := play(q1, 1, AbortRule{}, repeat(9, busy)); got != 0 {
		t.Errorf("a rule that never aborts did, after %d samples", got)
	}
}

// play gives a guard the steps and tells after which the run was cancelled, 0 for never.
func play(w engine.Workload, leaves int, rule AbortRule, steps []step) int {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	g := newGuard(rule, w, blockdev.Roots{}, blockdev.Filesystem{Leaves: make([]string, leaves)}, cancel)
	var device blockdev.Counters
	device.At = time.Now()
	var own engine.Progress
	ok := true
	g.read = func() (blockdev.Counters, bool) { return device, ok }
	g.look(own)
	for i, s := range steps {
		if s.phase != own.Phase && s.phase != "" {
			own = engine.Progress{Phase: s.phase}
		}
		ok = !s.unreadable
		device.At = device.At.Add(50 * time.Millisecond)
		device.ReadIOs += uint64(s.deviceReads)
		device.WriteIOs += uint64(s.deviceWrites)
		device.ReadBytes += bytesOf(s.deviceReadMiB, s.deviceReads)
		device.WriteBytes += bytesOf(s.deviceWriteMiB, s.deviceWrites)
		for op, n := range [2]int64{s.reads, s.writes} {
			own.Ops[op].IOs += n
			own.Ops[op].Bytes += n * int64(w.Streams[0].BlockSize)
		}
		g.look(own)
		if foreign, ok := errors.AsType[*foreignError](context.Cause(ctx)); ok {
			if foreign.iops <= rule.ForeignIOPS {
				return -1
			}
			return i + 1
		}
	}
	return 0
}

func bytesOf(mib float64, ios int64) uint64 {
	if mib > 0 {
		return uint64(mib * (1 << 20))
	}
	return uint64(ios) * 4096
}

func TestASlowLookAtTheDevicesIsNoSample(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	w := workload(engine.Stream{BlockSize: 4096, ReadPermille: 1000})
	g := newGuard(AbortRule{ForeignIOPS: 1}, w, blockdev.Roots{}, blockdev.Filesystem{Leaves: []string{"sda"}}, cancel)
	device := blockdev.Counters{At: time.Now()}
	g.read = func() (blockdev.Counters, bool) {
		for start := time.Now(); time.Since(start) <= maxSkew; { // as long as a preempted thread
		}
		device.At = device.At.Add(50 * time.Millisecond)
		device.ReadIOs += 1000
		device.ReadBytes += 1000 * 4096
		return device, true
	}
	for range 9 {
		g.look(engine.Progress{})
	}
	if ctx.Err() != nil {
		t.Error("cancelled")
	}
}
