package engine

import "time"

// Op is the direction of an I/O and the index into Result.Ops.
type Op uint8

// The operations.
const (
	Read Op = iota
	Write
)

// Pattern is how addresses follow each other.
type Pattern string

// Patterns.
const (
	Random     Pattern = "random"
	Sequential Pattern = "sequential"
)

// Region is the part of the target that a stream touches.
type Region string

// Regions. The cold half of a probe file (its first) is written once, when the file is filled, and never again; the
// hot half takes all later writes. Cold against hot tells whether old data has become slow to read.
const (
	All  Region = "all"
	Cold Region = "cold"
	Hot  Region = "hot"
)

// Arrival is what decides when the next I/O is issued.
type Arrival string

// Arrivals. Closed keeps Depth I/Os outstanding: it measures capability at that depth and hides stalls (a stall
// stops the asking too). Paced and Poisson are open loops: I/Os have intended start times at Rate, and latency
// counts from those (no coordinated omission).
const (
	Closed  Arrival = "closed"
	Paced   Arrival = "paced"
	Poisson Arrival = "poisson"
)

// Sync is what follows each write.
type Sync string

// Syncs. With Fdatasync the latency of a write includes the fdatasync after it.
const (
	NoSync    Sync = "none"
	Fdatasync Sync = "fdatasync"
)

// DataKind is what the written bytes look like.
type DataKind string

// Kinds of data. Incompressible is the default and the only kind that measures every drive alike.
const (
	Incompressible DataKind = "incompressible"
	Zero           DataKind = "zero"
	Compressible   DataKind = "compressible"
)

// Data describes the written bytes. Ratio counts for Compressible only: the share of each block, 0 to 1, that is
// zeros.
type Data struct {
	Kind  DataKind `json:",omitempty"`
	Ratio float64  `json:",omitempty"`
}

// Limits bound one phase of a workload. It stops at MaxTime, or at MaxIOs once MinTime has passed and MinIOs are done.
// MaxWriteBytes is hard and beats every minimum; reaching it ends the phase. Zero means no such limit, but Stop
// must set MaxTime, and a stream that writes must have MaxWriteBytes.
type Limits struct {
	MinTime       time.Duration `json:",omitempty"`
	MaxTime       time.Duration `json:",omitempty"`
	MinIOs        int64         `json:",omitempty"`
	MaxIOs        int64         `json:",omitempty"`
	MaxWriteBytes int64         `json:",omitempty"`
}

// Stream is one kind of I/O, repeated.
type Stream struct {
	BlockSize    int     // bytes
	ReadPermille int     // 1000 reads only, 0 writes only, 800 the "read 80 / write 20" mix; dealt from a shuffled deck, so that every 1,000 I/Os hold exact counts
	Pattern      Pattern // Random when empty
	Region       Region  // All when empty
	Depth        int     // outstanding I/Os per worker; the cap on them in an open loop. 1 when 0
	Workers      int     // threads, each with its own ring and Depth. 1 when 0
	Arrival      Arrival // Closed when empty
	Rate         float64 // I/Os per second over all workers, open loop only
	Sync         Sync    // NoSync when empty
	Data         Data
}

// Workload is what to do: streams that run together, after a warm-up that only reads.
type Workload struct {
	Name    string
	Streams []Stream
	Warmup  Limits // issued, not reported; none when MaxIOs is 0. Warm-ups only read.
	Stop    Limits
	Seed    uint64 // same seed, same offsets; 0 draws one, which the Result reports
}
