package engine

import (
	"time"

	"ssd_exporter/blockdev"
)

// Codec prepares and checks the content of blocks; engine/probefile implements it. It is nil for a raw disk that
// is only read. Its methods are called from several threads at once, never for overlapping blocks when either is
// written; they must not allocate.
type Codec interface {
	// Stamp fills block, which is about to be written at byte offset off, with its content.
	Stamp(block []byte, off int64)
	// Check says whether block, which was read at byte offset off, holds what was last written there.
	Check(block []byte, off int64) error
}

// Target is an open, proven file or raw disk. The engine neither opens nor closes it.
type Target struct {
	FD          int                 // opened with O_DIRECT
	Size        int64               // bytes; no I/O reaches beyond
	Writable    bool                // false: a workload that writes is refused
	MemAlign    int                 // alignment of buffers in bytes
	OffsetAlign int                 // alignment of offsets and lengths in bytes
	Filesystem  blockdev.Filesystem // its leaves are where device counters are read
	Codec       Codec
}

// Backend names an I/O engine.
type Backend string

// Backends. Auto tests the target and takes the best that works there; the Result names the choice and the reason.
const (
	Auto  Backend = ""
	URing Backend = "uring"
	AIO   Backend = "aio"
	Pread Backend = "sync" // pread and pwrite on threads
)

// Options are the circumstances of a run.
type Options struct {
	Backend Backend
	Roots   blockdev.Roots
	Chunk   int            // at most so many submissions per system call; 0 goes by the depth: an eighth, from 2 to 8. Part of the fingerprint.
	Beat    func(Progress) // called every BeatEvery from the engine's own goroutines; may be nil
	// BeatEvery is the time between beats; 0 is 100 ms.
	BeatEvery time.Duration
}

// Progress is how far a run has come.
type Progress struct {
	Phase   string        // "warm-up", "run", "drain"
	IOs     int64         // that came back, failed ones too
	Written int64         // bytes handed to the kernel for writing
	Elapsed time.Duration // of the phase
	Ops     [2]Traffic    // that came back in this phase, index Read, Write
}

// Traffic is what was done in one direction.
type Traffic struct {
	IOs   int64 // failed ones too
	Bytes int64 // of complete transfers
}

// Invalid is a reason why a Result must not be believed; a closed set, and the values of the label "reason" of
// ssd_probe_invalid_total.
type Invalid string

// Reasons of invalidity.
const (
	InvalidCache      Invalid = "cache"       // fewer bytes reached the device than were asked for
	InvalidSparse     Invalid = "sparse"      // extents never written, or shared
	InvalidMemory     Invalid = "memory"      // the file lives in RAM
	InvalidShortRead  Invalid = "short_read"  // transfers ended early
	InvalidIOErrors   Invalid = "io_errors"   // I/Os failed
	InvalidFewSamples Invalid = "few_samples" // stopped before its minimum
	InvalidIssueLag   Invalid = "issue_lag"   // we could not keep the intended start times
	InvalidOther      Invalid = "other"
)

// OpResult is what one direction did. Only complete transfers count in IOs, Bytes and the histograms.
type OpResult struct {
	IOs   int64
	Bytes int64
	// Response counts from the intended start (open loop, less our own lag, which is no doing of the disk: waits for an
	// idle slot are in it) or the submission (closed loop); Service always from the submission. In a closed loop the two are
	// the same and Service is empty.
	Response Hist
	Service  Hist
	// Rated and RatedBytes are the part of IOs and Bytes that completed within Result.Elapsed, and what rates are
	// computed from: the first fill of the queue and the drain are no steady state.
	Rated      int64
	RatedBytes int64
	Corrupt    int64            `json:",omitempty"` // reads whose content Codec.Check refused; they count in IOs
	Errors     map[string]int64 `json:",omitempty"` // by errno name ("EIO"); a short transfer is "SHORT"
	Censored   int64            // open loop: intended but unsent or unfinished at the stop; in Response at their age then
}

// Interval is one step of a run's time series.
type Interval struct {
	At    time.Duration // end of the step since the start
	IOs   [2]int64      // completed in this step
	Bytes [2]int64
	Mean  [2]time.Duration // mean response
}

// Fingerprint is what must be equal for two results to be comparable.
type Fingerprint struct {
	Engine    Backend
	Chunk     int
	Scheduler string // of the leaf, when there is exactly one
	IOPrio    string // "idle", "best-effort", …
	Disks     string // what was measured; for the caller to fill in, who knows disks by more than their kernel names
}

// Why a run ended; the values of Result.Stopped.
const (
	StoppedMaxIOs        = "max_ios"
	StoppedMaxTime       = "max_time"
	StoppedMaxWriteBytes = "max_write_bytes"
	StoppedCancelled     = "cancelled"
	StoppedIOError       = "io_error" // an error that makes going on pointless; Run returns it beside the Result
)

// Result is what one run of a workload measured. It survives JSON.
type Result struct {
	Workload    string
	Seed        uint64
	Start       time.Time
	Elapsed     time.Duration // from full depth to the last issue: what rates are computed over
	Total       time.Duration // with warm-up and drain
	Ops         [2]OpResult   // index Read, Write
	Written     int64         // bytes handed to the kernel for writing, complete or not: what the budget is charged
	LongestGap  time.Duration // the longest time without a completion while any was outstanding
	Depth       float64       // achieved mean depth
	IssueLagP99 time.Duration // open loop: p99 of submission after intended start
	CPU         time.Duration // user and system time of the process over the run
	Intervals   []Interval
	Fingerprint Fingerprint
	EngineWhy   string // why this backend, for people
	Stopped     string // why it ended: one of the Stopped constants
	// Abandoned counts I/Os that never came back. The kernel may still use their buffers until the process ends.
	Abandoned int64 `json:",omitempty"`

	// Device is what the leaves did over the run, summed; nil when a leaf is unknown.
	Device *blockdev.Counters
	// DeviceRatio is the device's bytes over ours; nil when unknown. Far below 1 means a cache answered.
	DeviceRatio *float64
	// ForeignIOs is how many I/Os of others the leaves did over the run, and ForeignIOPS their rate; nil when unknown. A rate
	// alone says little of a short run: nine I/Os of a file system's journal in 28 ms are 320 a second.
	ForeignIOs  *int64
	ForeignIOPS *float64

	Valid   bool
	Reasons []Invalid `json:",omitempty"`
	Detail  string    `json:",omitempty"` // the reasons in words
}
