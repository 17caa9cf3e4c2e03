package monitor

import (
	"time"

	"ssd_exporter/blockdev"
	"ssd_exporter/engine"
	"ssd_exporter/engine/ledger"
	"ssd_exporter/monitor/history"
	"ssd_exporter/smart"
)

// Snapshot is all that is known at one moment. It is immutable: readers share it, nobody changes it.
type Snapshot struct {
	At      time.Time
	Started time.Time
	Disks   []DiskState   // by ID
	Targets []TargetState // by name
	Notes   []string      // about the host, for people: "no disk with S.M.A.R.T. found", "history was set aside as …"
}

// DiskState is one physical or virtual disk.
type DiskState struct {
	ID       blockdev.ID
	Identity blockdev.Identity // kernel and S.M.A.R.T. merged; S.M.A.R.T.'s spelling wins
	Kernel   *blockdev.Disk    // nil when it is known from a file only
	Smart    SmartState
	Health   *smart.Health // nil: never read, or expired after failed polls
	Rated    *Rating       // nil: no published endurance known
	IO       *blockdev.Counters
	Written  map[ledger.Purpose]int64 // what this program wrote, ever
	Budget   *ledger.Account          // nil when no target lies on this disk

	Corrections map[string]uint64 // S.M.A.R.T. counters held at their high-water mark, by counter
}

// SmartState is how reading a disk goes.
type SmartState struct {
	Polled   bool      // at least once
	Success  bool      // the last poll
	LastRead time.Time // of the values in Health; zero never
	Duration time.Duration
	Source   string
	Reason   smart.Reason // of the last failure
	Problem  string       // in words, with what to do; "" when all is well
	Failures map[smart.Reason]uint64
	Asleep   bool
	Idle     bool // a rotating disk without any I/O since LastRead: not read, so that it may fall asleep
}

// TargetState is one place that is probed.
type TargetState struct {
	Name, Dir, Profile string
	Filesystem         *blockdev.Filesystem // nil: not inspected yet
	Disks              []blockdev.ID        // leaves
	FileSize           int64                // of the probe file; 0 none yet
	ColdSince          time.Time            // when the cold half was written; zero unknown
	Phase              string               // what goes on now: "inspecting", "filling", "probing", "waiting", "stuck", "idle"
	Progress           float64              // of the fill, 0 to 1
	Problem            string               // why nothing is measured, in words, with what to do; "" when all is well
	Stuck              bool
	LastAttempt        time.Time
	LastSuccess        time.Time       // of any workload
	Workloads          []WorkloadState // in the profile's order
	Events             Events
	ColdRatio          *float64      // median latency of old data over fresh data; nil unknown
	Recent             []history.Run // newest first, at most 50
}

// Events are counters since the start, by label value.
type Events struct {
	Runs     map[history.Outcome]uint64
	Skipped  map[Skip]uint64
	Aborted  map[Abort]uint64
	Invalid  map[engine.Invalid]uint64
	IOErrors map[string]uint64
	Verify   uint64
}

// WorkloadState is one workload of a target.
type WorkloadState struct {
	Workload engine.Workload
	Interval time.Duration
	Next     time.Time
	Last     *history.Run    // the last attempt, however long ago
	Expired  bool            // Last lies more than three intervals back: what it says is no longer news
	Measured *history.Run    // the last with figures; nil when none or after three missed intervals
	Latency  [2]*engine.Hist // cumulative since Since; nil when that direction never ran
	Since    time.Time
	Series   []SeriesState

	LastSuccess time.Time // start of the last clean run, however long ago; zero never

	Skipped    Skip      // why the last due run was not started; "" when it was
	SkippedAt  time.Time // and when
	SkippedWhy string    // and in words
}

// SeriesState is one series of a workload: "rate" (op "all"), "p50", "p99" and "tail" (by op).
type SeriesState struct {
	Op, Signal  string
	Runs        int      // clean runs learned
	Baseline    *float64 // seconds per I/O (rate) or seconds (latencies); nil while learning, and of a tail, which is beyond the p99
	Degradation *float64 // of Measured against Baseline; nil while learning, and of a p99, which is not judged
}

// Skip is why a due run was not started; a closed set, the values of the label of ssd_probe_skipped_total.
type Skip string

// Reasons to skip.
const (
	SkipBusy       Skip = "busy"
	SkipHot        Skip = "hot"
	SkipReadOnly   Skip = "read_only"
	SkipFailing    Skip = "failing"
	SkipWorn       Skip = "worn"
	SkipRebuilding Skip = "rebuilding"
	SkipAsleep     Skip = "asleep"
	SkipBattery    Skip = "battery"
	SkipBudget     Skip = "budget"
	SkipNoSpace    Skip = "no_space"
	SkipUnfinished Skip = "unfinished"
	SkipQuiet      Skip = "quiet"
	SkipPaused     Skip = "paused"
	SkipOther      Skip = "other"
)

// Skips lists the closed set in a fixed order.
func Skips() []Skip {
	return []Skip{SkipBusy, SkipHot, SkipReadOnly, SkipFailing, SkipWorn, SkipRebuilding, SkipAsleep, SkipBattery, SkipBudget, SkipNoSpace, SkipUnfinished, SkipQuiet, SkipPaused, SkipOther}
}

// Abort is why a run ended before its time; a closed set, the values of the label of ssd_probe_aborted_total.
type Abort string

// Reasons to abort.
const (
	AbortForeignIO Abort = "foreign_io"
	AbortIOError   Abort = "io_error"
	AbortTimeout   Abort = "timeout"
	AbortShutdown  Abort = "shutdown"
	AbortOther     Abort = "other"
)

// Aborts lists the closed set in a fixed order.
func Aborts() []Abort {
	return []Abort{AbortForeignIO, AbortIOError, AbortTimeout, AbortShutdown, AbortOther}
}

// Invalids lists the closed set of ssd_probe_invalid_total in a fixed order.
func Invalids() []engine.Invalid {
	return []engine.Invalid{engine.InvalidCache, engine.InvalidSparse, engine.InvalidMemory, engine.InvalidShortRead, engine.InvalidIOErrors, engine.InvalidFewSamples, engine.InvalidIssueLag, engine.InvalidOther}
}
