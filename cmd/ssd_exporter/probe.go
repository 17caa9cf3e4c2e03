package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"ssd_exporter/engine"
	"ssd_exporter/monitor"
)

// freeWrites is what a command run by hand may write without being told so by --yes-write, in bytes.
const freeWrites = 10_000_000_000

// probeFlags are the flags and arguments of probe.
type probeFlags struct {
	target string

	// The workload; single says that one of these was given.
	blockSize   byteSize
	readPercent int
	pattern     string
	depth       int
	duration    time.Duration
	warmup      time.Duration
	rate        float64
	given       [7]bool

	fileSize      byteSize
	fileSizeGiven bool
	engine        string
	keepFile      bool
	yesWrite      byteSize
	output        string
}

func (a *app) addProbe() {
	c := a.kingpin.Command("probe", "Measure a disk once, with direct I/O on a probe file in DIR, or read-only on the node of a raw disk. "+
		"Without a workload flag it runs the service's light profile. What it writes is said first, on standard error; "+
		"it ends with 1 when a measurement was interrupted or cannot be believed.")
	f := &probeFlags{}
	f.register(c)
	a.add(c, func(ctx context.Context) error { return a.probe(ctx, f) })
}

// register declares the flags and the argument of c.
func (f *probeFlags) register(c *kingpin.CmdClause) {
	f.blockSize, f.fileSize = 4<<10, 1<<30
	c.Arg("DIR", "A folder on the file system to measure, or a disk such as /dev/nvme0n1, which is only read.").Required().StringVar(&f.target)
	workload := func(i int, name, help string) *kingpin.FlagClause { return c.Flag(name, help).IsSetByUser(&f.given[i]) }
	workload(0, "block-size", "Bytes of each I/O, such as 4k or 1m.").PlaceHolder("4k").SetValue(&f.blockSize)
	workload(1, "read-percent", "Share of reads in percent, 0 to 100; the rest writes.").Default("100").IntVar(&f.readPercent)
	workload(2, "pattern", "random or sequential.").Default("random").EnumVar(&f.pattern, "random", "sequential")
	workload(3, "depth", "I/Os kept outstanding; with --rate, at most so many.").Default("1").IntVar(&f.depth)
	workload(4, "duration", "How long to measure.").Default("5s").DurationVar(&f.duration)
	workload(5, "rate", "Open loop: start so many I/Os per second whether or not the disk keeps up, and count latency from the intended start.").
		PlaceHolder("N").Float64Var(&f.rate)
	workload(6, "warmup", "Read for so long before the measurement; left out: 64 reads.").PlaceHolder("DURATION").DurationVar(&f.warmup)
	c.Flag("file-size", "Size of the probe file. One that is there already and large enough is used as it is. Left out: 1g, or less where space is short.").
		PlaceHolder("1g").IsSetByUser(&f.fileSizeGiven).SetValue(&f.fileSize)
	c.Flag("engine", "auto (tests which works best), uring, aio or sync.").Default("auto").EnumVar(&f.engine, "auto", "uring", "aio", "sync")
	c.Flag("keep-file", "Keep a probe file made by this command for the next one.").BoolVar(&f.keepFile)
	c.Flag("yes-write", "Agree to so many bytes being written, the probe file included, instead of 10GB.").PlaceHolder("SIZE").SetValue(&f.yesWrite)
	c.Flag("output", "table (for people) or json.").Default("table").EnumVar(&f.output, "table", "json")
}

// single says whether one workload was asked for, and not the profile.
func (f *probeFlags) single() bool {
	for _, given := range f.given {
		if given {
			return true
		}
	}
	return false
}

// agreed is how many bytes may be written in all.
func (f *probeFlags) agreed() int64 {
	if f.yesWrite > 0 {
		return int64(f.yesWrite)
	}
	return freeWrites
}

func (f *probeFlags) backend() engine.Backend {
	if f.engine == "auto" {
		return engine.Auto
	}
	return engine.Backend(f.engine)
}

// workloads are what is to be measured, on a folder or on a raw disk. What a single one may write is set by withWrites,
// when the size of the file is known.
func (f *probeFlags) workloads(raw bool) ([]engine.Workload, error) {
	if f.single() {
		w, err := f.workload()
		if err != nil {
			return nil, err
		}
		if raw && w.Writes() {
			return nil, exitf(exitUsage, "%s: a raw disk is only read, and --read-percent=%d writes; give a folder on it, or --read-percent=100", f.target, f.readPercent)
		}
		return []engine.Workload{w}, nil
	}
	profile := monitor.Light()
	if raw {
		profile = monitor.ReadOnly()
	}
	all := make([]engine.Workload, len(profile))
	for i := range profile {
		all[i] = profile[i].Workload
	}
	return all, nil
}

// workload is the one that the flags describe. Writes touch the second half of the file only, as the service's do: the first
// half of a probe file stays as it was filled, so that the service can tell what became of old data.
func (f *probeFlags) workload() (engine.Workload, error) {
	s := engine.Stream{
		BlockSize: int(f.blockSize), ReadPermille: 10 * f.readPercent, Pattern: engine.Pattern(f.pattern), Depth: f.depth,
		Region: engine.All, Arrival: engine.Closed,
	}
	if f.readPercent < 100 {
		s.Region = engine.Hot
	}
	if f.given[5] {
		s.Arrival, s.Rate = engine.Paced, f.rate
	}
	w := engine.Workload{
		Name:    "measurement",
		Streams: []engine.Stream{s},
		Warmup:  engine.Limits{MaxIOs: 64, MaxTime: 2 * time.Second},
		Stop:    engine.Limits{MaxTime: f.duration},
	}
	if f.given[6] {
		w.Warmup = engine.Limits{MaxIOs: math.MaxInt64, MaxTime: f.warmup}
		if f.warmup <= 0 {
			w.Warmup = engine.Limits{}
		}
	}
	return w, f.check(w)
}

// check names the flag that is wrong. The engine's own check follows, in its own words.
func (f *probeFlags) check(w engine.Workload) error {
	var errs []error
	want := func(ok bool, flag string, value any, accepted string) {
		if !ok {
			errs = append(errs, fmt.Errorf("--%s=%v; accepted: %s", flag, value, accepted))
		}
	}
	want(f.readPercent >= 0 && f.readPercent <= 100, "read-percent", f.readPercent, "0 to 100")
	want(f.blockSize >= 512 && f.blockSize <= 64<<20 && f.blockSize%512 == 0, "block-size", f.blockSize.String(), "512 to 64m, a multiple of 512")
	want(f.depth >= 1 && f.depth <= 1024, "depth", f.depth, "1 to 1024")
	want(f.duration > 0, "duration", f.duration, "a time above 0, such as 5s")
	want(f.warmup >= 0, "warmup", f.warmup, "0s or more")
	want(!f.given[5] || f.rate > 0, "rate", f.rate, "more than 0 I/Os per second")
	want(f.fileSize >= 1<<20, "file-size", f.fileSize.String(), "1m or more")
	if len(errs) == 0 {
		if w.Writes() {
			w.Stop.MaxWriteBytes = math.MaxInt64 // not known yet
		}
		errs = append(errs, w.Validate())
	}
	if err := errors.Join(errs...); err != nil {
		return &exitError{exitUsage, err}
	}
	return nil
}
