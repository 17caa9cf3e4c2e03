package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// sample is what one side measured in one run.
type sample struct {
	iops     float64
	ios      int64
	cpu      time.Duration // of the whole process and its children, start-up taken off, per I/O
	ownCPU   time.Duration // per I/O, as the program itself says
	p50, p99 time.Duration // of the judged direction; 0 unknown
	written  int64         // bytes
	engine   string
	invalid  string // why the program itself does not believe it
}

// side is a program that is compared.
type side interface {
	name() string
	// run measures a row for d. once does as little as possible in the same way, for what starting costs.
	run(ctx context.Context, r row, d time.Duration) (sample, error)
	once(ctx context.Context, r row) error
	spent() time.Duration // CPU time of the last command, children included
}

// program runs commands and adds up what they cost.
type program struct {
	pin  []string // in front of every command
	last time.Duration
}

func (p *program) spent() time.Duration { return p.last }

// output runs a command to its end. An exit code of 1 is no error when there is output: a run that is not to be believed.
func (p *program) output(ctx context.Context, args ...string) ([]byte, error) {
	args = append(append([]string{}, p.pin...), args...)
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	cmd.WaitDelay = 10 * time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	p.last = 0
	if s := cmd.ProcessState; s != nil {
		p.last = s.UserTime() + s.SystemTime()
	}
	if e, ok := errors.AsType[*exec.ExitError](err); ok && e.ExitCode() == 1 && stdout.Len() > 0 {
		err = nil
	}
	if err != nil {
		return nil, fmt.Errorf("running %q: %w\n%s", args, err, stderr.Bytes())
	}
	return stdout.Bytes(), nil
}

// fio is Debian's, at its best, and at the I/O priority that the product gives its children (idle): a scheduler that heeds
// priorities would otherwise let it go first whenever anybody else uses the disk.
type fio struct {
	program
	file  string
	size  int64
	batch map[string]int // I/Os per submission by row; 0 is fio's default of one
}

func (f *fio) name() string { return "fio" }

// args are its command line. Rows that write use the second half of the file, as the product does.
func (f *fio) args(r row) []string {
	args := []string{
		"fio", "--name=bench", "--filename=" + f.file, "--allow_file_create=0", "--fallocate=none", "--ioengine=io_uring", "--direct=1",
		"--bs=" + strconv.Itoa(r.blockSize), "--iodepth=" + strconv.Itoa(r.depth), "--norandommap", "--registerfiles", "--fixedbufs",
		"--randrepeat=0", "--prioclass=3", "--output-format=json", "--lat_percentiles=1", "--clat_percentiles=0", "--percentile_list=50:99",
	}
	offset := int64(0)
	if r.writes() {
		offset = f.size / 2
	}
	args = append(args, "--offset="+strconv.FormatInt(offset, 10), "--size="+strconv.FormatInt(f.size-offset, 10))
	if n := f.batch[r.name]; n > 1 {
		args = append(args, "--iodepth_batch_submit="+strconv.Itoa(n), "--iodepth_batch_complete_min=1", "--iodepth_batch_complete_max="+strconv.Itoa(r.depth))
	}
	return append(args, r.fioMode()...)
}

func (f *fio) run(ctx context.Context, r row, d time.Duration) (sample, error) {
	out, err := f.output(ctx, append(f.args(r), "--time_based", fmt.Sprintf("--runtime=%dms", d.Milliseconds()))...)
	if err != nil {
		return sample{}, err
	}
	s, err := parseFio(out, r)
	if err != nil {
		return sample{}, fmt.Errorf("reading fio's output: %w", err)
	}
	return s, nil
}

func (f *fio) once(ctx context.Context, r row) error {
	_, err := f.output(ctx, append(f.args(r), "--number_ios=1")...)
	return err
}

func parseFio(out []byte, r row) (sample, error) {
	type direction struct {
		IOPS    float64 `json:"iops"`
		IOs     int64   `json:"total_ios"`
		Bytes   int64   `json:"io_bytes"`
		Latency struct {
			Percentile map[string]float64 `json:"percentile"`
		} `json:"lat_ns"`
	}
	var report struct {
		Jobs []struct {
			Error   int       `json:"error"`
			Read    direction `json:"read"`
			Write   direction `json:"write"`
			UsrCPU  float64   `json:"usr_cpu"`
			SysCPU  float64   `json:"sys_cpu"`
			Runtime float64   `json:"job_runtime"` // ms
		} `json:"jobs"`
	}
	if i := bytes.IndexByte(out, '{'); i > 0 { // warnings come first
		out = out[i:]
	}
	if err := json.Unmarshal(out, &report); err != nil {
		return sample{}, err
	}
	if len(report.Jobs) != 1 {
		return sample{}, fmt.Errorf("%d jobs, want 1", len(report.Jobs))
	}
	j := report.Jobs[0]
	judged := j.Read
	if r.judgedOp() == "write" {
		judged = j.Write
	}
	s := sample{
		iops: j.Read.IOPS + j.Write.IOPS, ios: j.Read.IOs + j.Write.IOs, written: j.Write.Bytes, engine: "io_uring",
		p50: time.Duration(judged.Latency.Percentile["50.000000"]), p99: time.Duration(judged.Latency.Percentile["99.000000"]),
	}
	if j.Error != 0 {
		return s, fmt.Errorf("fio reports errno %d", j.Error)
	}
	if s.ios > 0 {
		s.ownCPU = time.Duration((j.UsrCPU + j.SysCPU) / 100 * j.Runtime * 1e6 / float64(s.ios))
	}
	return s, nil
}

// product is the built ssd_exporter.
type product struct {
	program
	binary string
	dir    string
	size   int64
	state  string // a folder without a service
}

func (p *product) name() string { return "ssd_exporter" }

func (p *product) file() string { return filepath.Join(p.dir, "ssd_exporter.probe", "probe.bin") }

func (p *product) args(r row, d time.Duration) []string {
	return []string{
		p.binary, "probe", p.dir, "--state.path=" + p.state, "--keep-file", "--yes-write=1000GB", "--output=json",
		"--file-size=" + strconv.FormatInt(p.size, 10), "--block-size=" + strconv.Itoa(r.blockSize),
		"--read-percent=" + strconv.Itoa(r.readPercent), "--pattern=" + r.pattern(), "--depth=" + strconv.Itoa(r.depth), "--duration=" + d.String(),
	}
}

func (p *product) run(ctx context.Context, r row, d time.Duration) (sample, error) {
	out, err := p.output(ctx, p.args(r, d)...)
	if err != nil {
		return sample{}, err
	}
	s, err := parseProduct(out, r)
	if err != nil {
		return sample{}, fmt.Errorf("reading the output of ssd_exporter probe: %w", err)
	}
	return s, nil
}

func (p *product) once(ctx context.Context, r row) error {
	_, err := p.output(ctx, p.args(r, time.Millisecond)...)
	return err
}

func parseProduct(out []byte, r row) (sample, error) {
	type direction struct {
		IOs     int64 `json:"ios"`
		Errors  int64 `json:"errors"`
		Latency struct {
			P50 *float64 `json:"p50"`
			P99 *float64 `json:"p99"`
		} `json:"latency_seconds"`
	}
	var report struct {
		IOPS     *float64   `json:"iops"`
		Read     *direction `json:"read"`
		Write    *direction `json:"write"`
		CPUPerIO *float64   `json:"cpu_seconds_per_io"`
		Engine   string     `json:"engine"`
		Valid    bool       `json:"valid"`
		Detail   string     `json:"detail"`
		Written  int64      `json:"written_bytes"`
	}
	if err := json.Unmarshal(out, &report); err != nil {
		return sample{}, err
	}
	s := sample{engine: report.Engine, written: report.Written}
	for _, d := range []*direction{report.Read, report.Write} {
		if d == nil {
			continue
		}
		s.ios += d.IOs
		if d.Errors > 0 {
			return s, fmt.Errorf("%d I/Os failed", d.Errors)
		}
	}
	judged := report.Read
	if r.judgedOp() == "write" {
		judged = report.Write
	}
	if judged != nil {
		s.p50, s.p99 = seconds(judged.Latency.P50), seconds(judged.Latency.P99)
	}
	if report.IOPS != nil {
		s.iops = *report.IOPS
	}
	s.ownCPU = seconds(report.CPUPerIO)
	if !report.Valid {
		s.invalid = report.Detail
	}
	return s, nil
}

func seconds(s *float64) time.Duration {
	if s == nil {
		return 0
	}
	return time.Duration(*s * float64(time.Second))
}
