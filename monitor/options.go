package monitor

import (
	"log/slog"
	"time"

	"github.com/robfig/cron/v3"

	"ssd_exporter/blockdev"
	"ssd_exporter/engine"
	"ssd_exporter/engine/worker"
	"ssd_exporter/smart"
)

// Options is everything that a Monitor needs to know. config builds it; a reload applies a new one.
type Options struct {
	Roots    blockdev.Roots
	StateDir string // of the store and the ledger
	Host     string // goes into the phase of schedules; os.Hostname when empty
	Targets  []Target
	Guards   Guards
	Quiet    Quiet  // no run starts in these hours, or would last into them
	PerDay   *int64 // budget.bytes_per_day: replaces the computed allowance of every disk; 0 forbids writing
	Smart    SmartOptions
	Ratings  []Rating // published endurance given in the config, before the built-in table; first match wins
	Log      *slog.Logger
}

// Target is one place to probe.
type Target struct {
	Name      string // label "target"
	Dir       string // folder on the file system to probe, or a block device node (reads only)
	Profile   string // "light", "read_only": label of ssd_probe_target_info
	FileSize  int64  // bytes wanted; PlannedSize may lower it
	MinSize   int64  // bytes; 0 is the default of 256 MiB
	FillRate  int64  // bytes per second; 0 unlimited
	Backend   engine.Backend
	Workloads []Scheduled
}

// Scheduled is a workload and when it is due.
type Scheduled struct {
	engine.Workload
	Schedule cron.Schedule
	Interval time.Duration // the longest gap of Schedule
}

// Guards are the limits above which a disk is left alone.
type Guards struct {
	Utilisation float64       // busy share over Window; default 0.30
	InFlight    int           // requests in flight; default 2
	ForeignIOPS float64       // others' I/Os per second over Window, and during a run; default 200
	Window      time.Duration // default 1 s
	HotMargin   float64       // degrees below the drive's own warning limit at which probing stops; default 5
	MaxTemp     float64       // limit in degrees Celsius for drives that state none; default 70
	WornWrites  float64       // no writes from this wear on; default 0.9
	Battery     bool          // skip on battery; default true
}

// SmartOptions say how disks are read.
type SmartOptions struct {
	Enabled      bool
	NVMeInterval time.Duration // default 1 min
	Interval     time.Duration // others; default 10 min
	Timeout      time.Duration // per disk; default 20 s
	Files        []string      // globs of smartctl JSON files, read again at every poll
	MaxAge       time.Duration // of such files; default 26 h
	Attributes   bool          // export raw attributes
	Reader       smart.Reader  // native; nil is smart.Native
}

// Rating is a published endurance for models that match a glob.
type Rating struct {
	Model string // glob as in path.Match, case-insensitive
	Bytes uint64
	Term  time.Duration // warranty term; 0 unknown
}

// Child is a running worker; *worker.Worker is one.
type Child interface {
	Replies() <-chan worker.Reply
	Abort()
	Kill()
	Done() <-chan struct{}
}
