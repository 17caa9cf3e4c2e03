package monitor

import (
	"time"

	"ssd_exporter/engine"
)

// Workload is an entry of a profile: what and how often.
type Workload = Scheduled

const (
	block4k = 4 << 10
	block1m = 1 << 20
)

// Light is the default profile: 1.6 GB written a day. Every workload is limited by I/Os and bytes first, by time second, and
// MaxWriteBytes is exactly what its I/Os can write. Reads and mixes use the hot half of the probe file unless named cold.
func Light() []Workload {
	return append(ReadOnly(),
		each(time.Hour, mixed("mixed80_4k_q4", 800, 1000)),
		each(time.Hour, mixed("mixed20_4k_q4", 200, 4000)),
		each(time.Hour, synced()),
		each(time.Hour, paced()),
		each(6*time.Hour, sequential()),
	)
}

// ReadOnly is the read half of Light: it costs no endurance, and works on a raw disk too.
func ReadOnly() []Workload {
	const quarter = 15 * time.Minute
	return []Workload{
		each(quarter, reads("read_4k_q1", engine.Hot, block4k, 1, atLeastHalfASecond(4_000))),
		each(quarter, reads("cold_4k_q1", engine.Cold, block4k, 1, atLeastHalfASecond(4_000))),
		each(quarter, reads("read_4k_q32", engine.Hot, block4k, 32, atLeastHalfASecond(10_000))),
		each(quarter, reads("read_1m_q2", engine.Hot, block1m, 2, engine.Limits{MaxTime: 2 * time.Second, MaxIOs: 256})),
	}
}

func each(period time.Duration, w engine.Workload) Workload {
	// A warm-up of its own wakes the disk and the CPU from their power states, so that no workload pays for the order of a pass.
	w.Warmup = engine.Limits{MaxIOs: 64, MaxTime: 2 * time.Second}
	return Workload{Workload: w, Schedule: Every(period), Interval: period}
}

// atLeastHalfASecond keeps a fast disk measured over more than a moment: its I/Os alone would be done in 40 ms.
func atLeastHalfASecond(ios int64) engine.Limits {
	return engine.Limits{MinTime: 500 * time.Millisecond, MaxTime: 2 * time.Second, MaxIOs: ios}
}

func reads(name string, region engine.Region, block, depth int, stop engine.Limits) engine.Workload {
	return engine.Workload{Name: name, Stop: stop, Streams: []engine.Stream{{
		BlockSize: block, ReadPermille: 1000, Pattern: engine.Random, Region: region, Depth: depth,
	}}}
}

func mixed(name string, readPermille int, writes int64) engine.Workload {
	return engine.Workload{
		Name:    name,
		Streams: []engine.Stream{{BlockSize: block4k, ReadPermille: readPermille, Pattern: engine.Random, Region: engine.Hot, Depth: 4}},
		Stop:    engine.Limits{MaxTime: 3 * time.Second, MaxIOs: 5_000, MaxWriteBytes: writes * block4k},
	}
}

// synced is what a database's log does: one write, then wait until it is durable.
func synced() engine.Workload {
	return engine.Workload{
		Name:    "sync_4k_q1",
		Streams: []engine.Stream{{BlockSize: block4k, Pattern: engine.Random, Region: engine.Hot, Depth: 1, Sync: engine.Fdatasync}},
		Stop:    engine.Limits{MaxTime: 3 * time.Second, MaxIOs: 200, MaxWriteBytes: 200 * block4k},
	}
}

// paced asks at fixed times whether or not the disk keeps up, so that a stall shows in full. Of its 1,250 I/Os, 250 write.
func paced() engine.Workload {
	return engine.Workload{
		Name: "open80_4k",
		Streams: []engine.Stream{{
			BlockSize: block4k, ReadPermille: 800, Pattern: engine.Random, Region: engine.Hot, Depth: 32, Arrival: engine.Paced, Rate: 250,
		}},
		Stop: engine.Limits{MaxTime: 5 * time.Second, MaxIOs: 1_250, MaxWriteBytes: 250 * block4k},
	}
}

func sequential() engine.Workload {
	return engine.Workload{
		Name:    "write_1m_q2",
		Streams: []engine.Stream{{BlockSize: block1m, Pattern: engine.Sequential, Region: engine.Hot, Depth: 2}},
		Stop:    engine.Limits{MaxTime: 3 * time.Second, MaxIOs: 256, MaxWriteBytes: 256 * block1m},
	}
}
