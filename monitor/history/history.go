package history

import (
	"errors"
	"maps"
	"time"

	"ssd_exporter/blockdev"
	"ssd_exporter/engine"
	"ssd_exporter/monitor/trend"
	"ssd_exporter/smart"
)

// ErrLocked says that another process has the store open.
var ErrLocked = errors.New("another ssd_exporter uses this state folder")

// Outcome is how a run ended; a closed set, the values of the label of ssd_probe_runs_total.
type Outcome string

// Outcomes.
const (
	Success   Outcome = "success"
	Contended Outcome = "contended" // measured, but others used the disk: feeds no baseline
	Invalid   Outcome = "invalid"   // measured, but not to be believed
	Aborted   Outcome = "aborted"
	Failed    Outcome = "failed"
	Corrupt   Outcome = "corrupt" // blocks did not hold what was written there
	Stuck     Outcome = "stuck"   // the disk did not answer
	Other     Outcome = "other"
)

// Outcomes lists the closed set in a fixed order.
func Outcomes() []Outcome {
	return []Outcome{Success, Contended, Invalid, Aborted, Failed, Corrupt, Stuck, Other}
}

// Quantiles are the published percentiles; nil where the run has too few I/Os for one (10/(1-q)).
type Quantiles struct {
	P50, P90, P99, P999 *time.Duration
}

// OpStats is what one direction of a run measured.
type OpStats struct {
	IOs            int64
	IOPS           float64
	BytesPerSecond float64
	Latency        Quantiles
	Mean, Max      time.Duration
	Tail           *Tail `json:",omitempty"` // nil while there is no baseline, and of fewer than trend.TailIOs
}

// Tail is the share of a run's I/Os that were slower than the p99 of its baseline.
type Tail struct {
	Over  time.Duration // that p99, as it was when the run was judged
	Share float64       // 0 to 1; trend.TailShare is as ever
}

// Run is one workload on one target, as it is kept and shown.
type Run struct {
	Target, Workload string
	Disks            []blockdev.ID
	Start            time.Time
	Duration         time.Duration // wall time, guards left out
	Outcome          Outcome
	Reason           string // one of the closed set that belongs to Outcome, or ""
	Detail           string // for people
	Contended        bool
	ForeignIOPS      *float64
	Ops              [2]*OpStats // by engine.Op; nil when that direction did nothing
	LongestGap       time.Duration
	Written          int64
	Errors           map[string]int64
	Fingerprint      engine.Fingerprint
	EngineWhy        string
	DataAge          time.Duration // age of the cold half at the start; 0 unknown
}

// Measured says whether the run has figures that may be published.
func (r *Run) Measured() bool { return r.Outcome == Success || r.Outcome == Contended }

// Sample is one reading of one disk. When it was the same as the one before, only At moves.
type Sample struct {
	At     time.Time
	Disk   blockdev.ID
	Health *smart.Health
}

// Key names one judged series.
type Key struct {
	Target, Workload string
	Op               string // "read", "write", "all"
	Signal           string // "rate", "p50"; "p99" is learned for the tail
}

// Series is the persisted state of one judged series.
type Series struct {
	Fingerprint engine.Fingerprint
	Baseline    trend.Baseline
	Since       time.Time `json:",omitzero"` // when a person accepted or reset it; zero: it is the first
	Replaced    time.Time `json:",omitzero"` // in Earlier: when a person did away with it, so that it is not taken up again
	// Earlier baselines, newest first: of other fingerprints, taken up again when one comes back, and replaced ones.
	Earlier []Series `json:",omitempty"`
}

// Marks are the high-water marks of one disk's counters, by counter name, and how often each was corrected.
type Marks struct {
	High        map[string]uint64 // as published
	Corrections map[string]uint64
	Source      map[string]string // where the disk's figure came from
	Offset      map[string]int64  // published minus the disk's own figure; not 0 after its source changed
}

// Commit is what changed since the last one.
type Commit struct {
	Runs    []Run
	Samples []Sample
	Series  map[Key]Series
	Marks   map[blockdev.ID]Marks
	Paused  *time.Time // until when probing is paused; one in the past ends a pause
}

// State is what a restarted exporter needs: the last run and the last measured run of each workload, when its last clean run
// began, the last sample of each disk, all series and marks.
type State struct {
	Last     map[[2]string]Run // by target and workload
	Measured map[[2]string]Run
	Success  map[[2]string]time.Time
	Samples  map[blockdev.ID]Sample
	Series   map[Key]Series
	Marks    map[blockdev.ID]Marks

	Paused     time.Time // until when probing is paused; zero or past: it is not
	Unreadable int       // rows that could not be decoded and were left out
}

// Take brings the State up to what Load would say after a Commit. It takes the zero State too.
func (s *State) Take(c Commit) {
	if s.Last == nil {
		*s = emptyState()
	}
	for _, r := range c.Runs {
		key := [2]string{r.Target, r.Workload}
		s.Last[key] = r
		if r.Measured() {
			s.Measured[key] = r
		}
		if r.Outcome == Success {
			s.Success[key] = r.Start
		}
	}
	for _, sample := range c.Samples {
		if sample.Health != nil {
			s.Samples[sample.Disk] = sample
		}
	}
	if c.Paused != nil {
		s.Paused = *c.Paused
	}
	maps.Copy(s.Series, c.Series)
	maps.Copy(s.Marks, c.Marks)
}

func emptyState() State {
	return State{
		Last: map[[2]string]Run{}, Measured: map[[2]string]Run{}, Success: map[[2]string]time.Time{}, Samples: map[blockdev.ID]Sample{},
		Series: map[Key]Series{}, Marks: map[blockdev.ID]Marks{},
	}
}
