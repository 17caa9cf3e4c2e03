package control

import (
	"errors"
	"path/filepath"
	"strings"
	"time"

	"ssd_exporter/monitor"
)

// Socket is the name of the socket in the state folder.
const Socket = "control.sock"

// mostPath is the longest path of a unix socket (sun_path in unix(7), without its zero byte).
const mostPath = 107

// Series is one series with its baseline. Unknown figures are null.
type Series struct {
	Target      string     `json:"target"`
	Workload    string     `json:"workload"`
	Op          string     `json:"op"`     // read, write, all
	Signal      string     `json:"signal"` // rate, p50, p99, tail
	Unit        string     `json:"unit"`   // of baseline and last: iops, seconds, ratio
	Runs        int        `json:"runs"`   // clean runs learned
	Baseline    *float64   `json:"baseline"`
	Last        *float64   `json:"last"`
	Degradation *float64   `json:"degradation"` // time over baseline minus 1
	Since       *time.Time `json:"since"`       // when a person accepted or reset it; null: it is the first
	Earlier     int        `json:"earlier"`     // baselines kept beside it
}

// Change is what became of the baseline of one workload.
type Change struct {
	Target   string `json:"target"`
	Workload string `json:"workload"`
	Runs     int    `json:"runs"`           // that the new baseline is made of; 0 after a reset
	Kept     string `json:"kept,omitempty"` // why the old one was kept, in words
}

// Requests and answers, by path. All paths begin with version, which changes when an older command would be misunderstood.
const (
	version     = "/v1"
	pathShow    = version + "/baselines"
	pathAccept  = version + "/baselines/accept"
	pathReset   = version + "/baselines/reset"
	pathPause   = version + "/pause"
	pathResume  = version + "/resume"
	mostRequest = 64 << 10 // bytes
	mostAnswer  = 16 << 20
)

type (
	which struct {
		Target   string `json:"target"`
		Workload string `json:"workload"` // "" is all of the target
	}
	pause struct {
		Seconds float64 `json:"seconds"`
	}
	seriesAnswer  struct{ Series []Series }
	changesAnswer struct{ Changes []Change }
	pauseAnswer   struct{ Until time.Time }
	resumeAnswer  struct{ Was bool } // paused before
	errorAnswer   struct{ Error string }
)

// socketPath is where the socket of a state folder lies. A name that begins with @ would not be a path to the net package.
func socketPath(stateDir string) string {
	p := filepath.Join(stateDir, Socket)
	if strings.HasPrefix(p, "@") {
		p = "./" + p
	}
	return p
}

// errPathTooLong says what is wrong with a socket's path.
var errPathTooLong = errors.New("its path is too long for a unix socket")

func seriesOf(all []monitor.BaselineState) []Series {
	out := make([]Series, 0, len(all))
	for _, b := range all {
		s := Series{
			Target: b.Target, Workload: b.Workload, Op: b.Op, Signal: b.Signal, Unit: b.Unit, Runs: b.Runs,
			Baseline: b.Baseline, Last: b.Last, Degradation: b.Degradation, Earlier: b.Earlier,
		}
		if !b.Since.IsZero() {
			s.Since = &b.Since
		}
		out = append(out, s)
	}
	return out
}

func changesOf(all []monitor.BaselineChange) []Change {
	out := make([]Change, 0, len(all))
	for _, c := range all {
		out = append(out, Change(c))
	}
	return out
}
