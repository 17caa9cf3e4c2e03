package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/sys/unix"

	"ssd_exporter/test/bench/stats"
)

// report collects what was measured, for people now and as Markdown.
type report struct {
	c       *comparison
	facts   [][2]string // of the machine
	results []*results
	skipped []string
}

func newReport(ctx context.Context, c *comparison) *report {
	return &report{c: c, facts: append(machineFacts(),
		[2]string{"fio", firstLine(ctx, "fio", "--version")},
		[2]string{"ssd_exporter", firstLine(ctx, c.binary, "--version")},
		[2]string{"turns", fmt.Sprintf("%d of each side per row, %v each, order alternating", c.pairs, c.duration)},
	)}
}

// machineFacts are what figures depend on beyond the programs.
func machineFacts() [][2]string {
	var u unix.Utsname
	kernel := "unknown"
	if unix.Uname(&u) == nil {
		kernel = unix.ByteSliceToString(u.Release[:])
	}
	return [][2]string{
		{"CPU", fmt.Sprintf("%d × %s", runtime.NumCPU(), field("/proc/cpuinfo", "model name"))},
		{"memory", field("/proc/meminfo", "MemTotal")},
		{"kernel", kernel},
		{"Go", runtime.Version()},
		{"load before", strings.TrimSpace(read("/proc/loadavg"))},
	}
}

// field is a value of a "name: value" file.
func field(file, name string) string {
	for line := range strings.Lines(read(file)) {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == name {
			return strings.TrimSpace(v)
		}
	}
	return "unknown"
}

func read(file string) string {
	b, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	return string(b)
}

func firstLine(ctx context.Context, name string, args ...string) string {
	out, err := exec.CommandContext(ctx, name, args...).Output()
	if err != nil {
		return "unknown: " + err.Error()
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return line
}

func (r *report) machine(w io.Writer) {
	for _, f := range r.facts {
		fmt.Fprintf(w, "%-14s %s\n", f[0], f[1])
	}
}

func (r *report) skip(w io.Writer, err error) {
	r.skipped = append(r.skipped, err.Error())
	fmt.Fprintf(w, "\nSKIPPED: %v\n", err)
}

func (r *report) add(w io.Writer, res *results) {
	r.results = append(r.results, res)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tw, "\n%s\n", strings.Join(summaryHeader(), "\t"))
	for _, s := range res.summaries() {
		fmt.Fprintln(tw, strings.Join(s.cells(), "\t"))
	}
	_ = tw.Flush() // standard output
	fmt.Fprintln(w, res.total())
}

// summary is one row's pairs in few figures: medians of the ratios ours / fio.
type summary struct {
	row                            row
	pairs                          int
	fioIOPS, ourIOPS               float64 // medians
	iops, cpu, own, p50, p99       float64
	bound                          float64 // lower 90 % of iops
	boundOK                        bool
	engine                         string
	batch                          int
	invalid                        int
	fioCPU, ourCPU                 time.Duration // medians, per I/O
	fioP50, ourP50, fioP99, ourP99 time.Duration
}

func (res *results) summaries() []summary {
	var all []summary
	for _, r := range res.rows {
		all = append(all, summarise(r, res.pairs[r.name], res.batch[r.name]))
	}
	return all
}

func summarise(r row, pairs []pair, batch int) summary {
	s := summary{row: r, pairs: len(pairs), batch: batch}
	ratios := func(of func(sample) float64) []float64 {
		var out []float64
		for _, p := range pairs {
			if f, o := of(p.fio), of(p.ours); f > 0 && o > 0 {
				out = append(out, o/f)
			}
		}
		return out
	}
	median := func(ours bool, of func(sample) float64) float64 {
		var out []float64
		for _, p := range pairs {
			if ours {
				out = append(out, of(p.ours))
			} else {
				out = append(out, of(p.fio))
			}
		}
		return stats.Median(out)
	}
	iops := func(s sample) float64 { return s.iops }
	cpu := func(s sample) float64 { return float64(s.cpu) }
	own := func(s sample) float64 { return float64(s.ownCPU) }
	p50 := func(s sample) float64 { return float64(s.p50) }
	p99 := func(s sample) float64 { return float64(s.p99) }
	s.iops, s.cpu, s.own = stats.Median(ratios(iops)), stats.Median(ratios(cpu)), stats.Median(ratios(own))
	s.p50, s.p99 = stats.Median(ratios(p50)), stats.Median(ratios(p99))
	s.bound, s.boundOK = stats.LowerBound(ratios(iops), 0.9)
	s.fioIOPS, s.ourIOPS = median(false, iops), median(true, iops)
	s.fioCPU, s.ourCPU = time.Duration(median(false, cpu)), time.Duration(median(true, cpu))
	s.fioP50, s.ourP50 = time.Duration(median(false, p50)), time.Duration(median(true, p50))
	s.fioP99, s.ourP99 = time.Duration(median(false, p99)), time.Duration(median(true, p99))
	for _, p := range pairs {
		s.engine = p.ours.engine
		if p.ours.invalid != "" {
			s.invalid++
		}
	}
	return s
}

func summaryHeader() []string {
	return []string{
		"row", "pairs", "fio IOPS", "our IOPS", "× IOPS", "lower 90 %", "fio CPU/IO", "our CPU/IO", "× CPU", "× CPU self-told",
		"fio p50", "our p50", "× p50", "fio p99", "our p99", "× p99", "engine", "fio batch", "invalid",
	}
}

func (s summary) cells() []string {
	if !s.boundOK {
		s.bound = math.NaN()
	}
	return []string{
		s.row.name, fmt.Sprint(s.pairs), fmt.Sprintf("%.0f", s.fioIOPS), fmt.Sprintf("%.0f", s.ourIOPS), ratio(s.iops), ratio(s.bound),
		micro(s.fioCPU), micro(s.ourCPU), ratio(s.cpu), ratio(s.own),
		micro(s.fioP50), micro(s.ourP50), ratio(s.p50), micro(s.fioP99), micro(s.ourP99), ratio(s.p99),
		s.engine, fmt.Sprint(max(1, s.batch)), fmt.Sprint(s.invalid),
	}
}

func ratio(f float64) string {
	if math.IsNaN(f) {
		return "–"
	}
	return fmt.Sprintf("%.2f", f)
}

// micro is a time; "–" for one that is unknown, such as a percentile of too few I/Os.
func micro(d time.Duration) string {
	if d <= 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f µs", float64(d)/1e3)
}

// total says what all rows of a place have in common.
func (res *results) total() string {
	var iops []float64
	written := int64(0)
	for _, s := range res.summaries() {
		iops = append(iops, s.iops)
	}
	for _, pairs := range res.pairs {
		for _, p := range pairs {
			written += p.fio.written + p.ours.written
		}
	}
	return fmt.Sprintf("Geometric mean of the IOPS ratios: %.3f. CPU time of a start, taken off: fio %v, ssd_exporter %v. Written while measuring: %.1f GB.",
		stats.GeometricMean(iops), res.startup["fio"].Round(time.Millisecond), res.startup["ssd_exporter"].Round(time.Millisecond), float64(written)/1e9)
}

// describe is one pair in a line.
func describe(r row, p pair) string {
	line := fmt.Sprintf("%-15s fio %8.0f IOPS %6.1f µs CPU  p50 %8.1f  p99 %9.1f | ours %8.0f IOPS %6.1f µs CPU  p50 %8.1f  p99 %9.1f | × %.2f IOPS  × %.2f CPU",
		r.name, p.fio.iops, float64(p.fio.cpu)/1e3, float64(p.fio.p50)/1e3, float64(p.fio.p99)/1e3,
		p.ours.iops, float64(p.ours.cpu)/1e3, float64(p.ours.p50)/1e3, float64(p.ours.p99)/1e3, p.ours.iops/p.fio.iops, float64(p.ours.cpu)/float64(p.fio.cpu))
	if p.ours.invalid != "" {
		line += "  (ours not valid: " + p.ours.invalid + ")"
	}
	return line
}
