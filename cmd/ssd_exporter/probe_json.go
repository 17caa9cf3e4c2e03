package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"ssd_exporter/engine"
)

// probeReport is what probe --output json prints for one workload: the keys are a promise, unknown is null.
type probeReport struct {
	Workload   string          `json:"workload"`
	Parameters probeParameters `json:"parameters"`

	Read  *probeOp `json:"read"` // null when the workload does not read
	Write *probeOp `json:"write"`

	IOPS           *float64 `json:"iops"` // both directions
	CPUPerIO       *float64 `json:"cpu_seconds_per_io"`
	Engine         string   `json:"engine"`
	EngineReason   string   `json:"engine_reason"`
	Valid          bool     `json:"valid"`
	Reasons        []string `json:"reasons"`
	Detail         *string  `json:"detail"`
	Partial        bool     `json:"partial"` // interrupted, or ended by an error
	Stopped        string   `json:"stopped"` // max_time, max_ios, max_write_bytes, cancelled, io_error
	DeviceRatio    *float64 `json:"device_io_ratio"`
	LongestGap     *float64 `json:"longest_gap_seconds"`
	ForeignIOPS    *float64 `json:"foreign_iops"`
	AchievedDepth  float64  `json:"achieved_depth"`
	IssueLagP99    *float64 `json:"issue_lag_p99_seconds"` // open loop only
	ElapsedSeconds float64  `json:"elapsed_seconds"`       // what rates are computed over
	CPUSeconds     float64  `json:"cpu_seconds"`
	WrittenBytes   int64    `json:"written_bytes"`
	Scheduler      *string  `json:"scheduler"`
	IOPriority     *string  `json:"io_priority"`
	Start          string   `json:"start"`

	Target probeTarget `json:"target"`
}

// probeParameters are what was asked for.
type probeParameters struct {
	BlockSize       int      `json:"block_size_bytes"`
	ReadPercent     float64  `json:"read_percent"`
	Pattern         string   `json:"pattern"`
	Region          string   `json:"region"`
	Depth           int      `json:"depth"`
	Arrival         string   `json:"arrival"`
	Rate            *float64 `json:"rate"`
	Sync            string   `json:"sync"`
	DurationSeconds float64  `json:"duration_seconds"`
	MaxIOs          *int64   `json:"max_ios"`
	MaxWriteBytes   *int64   `json:"max_write_bytes"`
	Seed            string   `json:"seed"` // of 64 bits, more than a JSON number keeps
}

// probeOp is one direction.
type probeOp struct {
	IOPS           float64          `json:"iops"`
	BytesPerSecond float64          `json:"bytes_per_second"`
	Latency        probeLatency     `json:"latency_seconds"`
	IOs            int64            `json:"ios"`
	Errors         int64            `json:"errors"`
	ByErrno        map[string]int64 `json:"errors_by_errno"`
	Corrupt        int64            `json:"corrupt"`
	Censored       int64            `json:"censored"`
}

// probeLatency holds what the number of I/Os can carry: a percentile q needs 10/(1-q) of them.
type probeLatency struct {
	Mean *float64 `json:"mean"`
	P50  *float64 `json:"p50"`
	P90  *float64 `json:"p90"`
	P99  *float64 `json:"p99"`
	P999 *float64 `json:"p999"`
	Max  *float64 `json:"max"`
}

// probeTarget is where it was measured.
type probeTarget struct {
	Path       string   `json:"path"`
	File       *string  `json:"file"` // null on a raw disk
	FileSize   *int64   `json:"file_size_bytes"`
	Filesystem *string  `json:"filesystem"`
	MountPoint *string  `json:"mount_point"`
	Source     *string  `json:"source"`
	Disks      []string `json:"disks"` // kernel names
	DisksNote  *string  `json:"disks_unknown_because"`
}

func reportOf(m measured, t probeTarget) probeReport {
	r := m.result
	out := probeReport{
		Workload: m.workload.Name, Target: t, Parameters: parametersOf(m.workload, r.Seed),
		Engine: string(r.Fingerprint.Engine), EngineReason: r.EngineWhy, Valid: r.Valid, Reasons: []string{}, Detail: known(r.Detail),
		Partial: m.partial, Stopped: r.Stopped, DeviceRatio: finite(r.DeviceRatio), ForeignIOPS: finite(r.ForeignIOPS),
		AchievedDepth: r.Depth, ElapsedSeconds: r.Elapsed.Seconds(), CPUSeconds: r.CPU.Seconds(), WrittenBytes: r.Written,
		Scheduler: known(r.Fingerprint.Scheduler), IOPriority: known(r.Fingerprint.IOPrio), Start: r.Start.UTC().Format(time.RFC3339Nano),
	}
	for _, reason := range r.Reasons {
		out.Reasons = append(out.Reasons, string(reason))
	}
	s := m.workload.Streams[0]
	if s.ReadPermille > 0 {
		out.Read = opOf(r, engine.Read)
	}
	if s.ReadPermille < 1000 {
		out.Write = opOf(r, engine.Write)
	}
	if r.Elapsed > 0 {
		out.IOPS = new(r.TotalIOPS())
	}
	if n := r.IOs(); n > 0 {
		out.CPUPerIO = new(r.CPU.Seconds() / float64(n))
		out.LongestGap = new(r.LongestGap.Seconds())
	}
	if s.Arrival != engine.Closed && s.Arrival != "" {
		out.IssueLagP99 = new(r.IssueLagP99.Seconds())
	}
	return out
}

func parametersOf(w engine.Workload, seed uint64) probeParameters {
	s := w.Streams[0]
	p := probeParameters{
		BlockSize: s.BlockSize, ReadPercent: float64(s.ReadPermille) / 10, Pattern: string(s.Pattern), Region: string(s.Region),
		Depth: max(s.Depth, 1), Arrival: string(engine.Closed), Sync: string(engine.NoSync),
		DurationSeconds: w.Stop.MaxTime.Seconds(), Seed: strconv.FormatUint(seed, 10),
	}
	if s.Arrival != "" {
		p.Arrival = string(s.Arrival)
	}
	if s.Sync != "" {
		p.Sync = string(s.Sync)
	}
	if s.Rate > 0 {
		p.Rate = new(s.Rate)
	}
	if w.Stop.MaxIOs > 0 {
		p.MaxIOs = new(w.Stop.MaxIOs)
	}
	if w.Writes() {
		p.MaxWriteBytes = new(w.Stop.MaxWriteBytes)
	}
	return p
}

func opOf(r *engine.Result, op engine.Op) *probeOp {
	o := &r.Ops[op]
	out := &probeOp{
		IOPS: r.IOPS(op), BytesPerSecond: r.BytesPerSecond(op), IOs: o.IOs, ByErrno: map[string]int64{}, Corrupt: o.Corrupt, Censored: o.Censored,
	}
	for errno, n := range o.Errors {
		out.ByErrno[errno] = n
		out.Errors += n
	}
	if h := o.Response; h.Count() > 0 {
		out.Latency = probeLatency{
			Mean: new(h.Mean().Seconds()), P50: trusted(h, 0.5), P90: trusted(h, 0.9), P99: trusted(h, 0.99), P999: trusted(h, 0.999),
			Max: new(h.Max().Seconds()),
		}
	}
	return out
}

func trusted(h engine.Hist, q float64) *float64 {
	if !h.Trusted(q) {
		return nil
	}
	return new(h.Quantile(q).Seconds())
}

// writeJSON prints v as people and programs read it.
func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// where describes the target.
func (p *probing) where() probeTarget {
	t := probeTarget{
		Path: p.flags.target, Filesystem: known(p.fs.Type), MountPoint: known(p.fs.MountPoint), Source: known(p.fs.Source),
		Disks: []string{}, DisksNote: known(p.fs.Why),
	}
	t.Disks = append(t.Disks, p.fs.Leaves...)
	if p.file != nil {
		t.File, t.FileSize = new(probeFileOf(p.flags.target)), new(p.file.Size)
	}
	return t
}

// show prints everything that was measured. The error names what cannot be believed; why is in what was printed.
func (p *probing) show(all []measured) error {
	reports := make([]probeReport, len(all))
	var invalid []string
	for i, m := range all {
		reports[i] = reportOf(m, p.where())
		if !m.result.Valid && !m.partial {
			invalid = append(invalid, m.workload.Name)
		}
	}
	err := p.print(reports)
	if len(invalid) > 0 {
		err = errors.Join(err, fmt.Errorf("not to be believed: %s", strings.Join(invalid, ", ")))
	}
	return err
}
