package worker

import (
	"time"

	"ssd_exporter/blockdev"
	"ssd_exporter/engine"
	"ssd_exporter/engine/probefile"
)

// Request is one task for one child. Exactly one of Inspect, Prepare, Run and Remove is set.
type Request struct {
	Dir   string // the target's folder, or the node of a raw disk (read only)
	Roots blockdev.Roots

	Inspect bool            `json:",omitempty"` // resolve Dir and tell the state of its probe file
	Prepare *probefile.Spec `json:",omitempty"` // create and fill the probe file
	Run     *Run            `json:",omitempty"`
	Remove  bool            `json:",omitempty"` // delete the probe file
}

// Run is one workload to be measured.
type Run struct {
	Workload engine.Workload
	Backend  engine.Backend
	Abort    AbortRule
}

// AbortRule says when others need the disk more than we do. The zero value never aborts.
type AbortRule struct {
	ForeignIOPS float64       // abort above so many foreign I/Os per second …
	Sample      time.Duration // … in two of three samples this far apart; 0 is 50 ms
}

// Reply is one line from the child: a Beat, or the final answer with everything else.
type Reply struct {
	Beat       *Beat                `json:",omitempty"`
	Filesystem *blockdev.Filesystem `json:",omitempty"` // Inspect, Prepare, Run
	File       *probefile.State     `json:",omitempty"` // Inspect (when there is one), Prepare, Run
	Result     *engine.Result       `json:",omitempty"` // Run; also of a run that was aborted half-way
	Error      *Error               `json:",omitempty"`
	Final      bool                 `json:",omitempty"`
}

// Beat is a sign of life.
type Beat struct {
	Phase   string        // "open", "fill", "warm-up", "run", "drain"
	Done    int64         // I/Os completed, or bytes filled
	Total   int64         // of Done when known
	Written int64         // bytes handed to the kernel so far
	Idle    time.Duration // time since Done last moved
}

// Kind is why a request failed; a closed set.
type Kind string

// Kinds of failure.
const (
	Refused     Kind = "refused"     // the file is not provably ours
	NoSpace     Kind = "no_space"    // free-space floor, ENOSPC, EDQUOT
	ReadOnly    Kind = "read_only"   // EROFS
	Permission  Kind = "permission"  // EACCES, EPERM
	Missing     Kind = "missing"     // the folder or the device is not there
	Busy        Kind = "locked"      // another process holds the probe file
	Unsupported Kind = "unsupported" // memory file system, network file system, no direct I/O
	IO          Kind = "io"          // EIO, ENODEV, …
	ForeignIO   Kind = "foreign_io"  // aborted by AbortRule
	Aborted     Kind = "aborted"     // aborted by the parent
	Crashed     Kind = "crashed"     // the child ended without an answer
	Internal    Kind = "internal"
)

// Error is a failure that crossed the process border. Message says what was being done, to what, and what to do.
type Error struct {
	Kind    Kind
	Message string
	Errno   string `json:",omitempty"` // "ENOSPC"
}

func (e *Error) Error() string { return e.Message }
