package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ssd_exporter/test/rig"
)

var build rig.Build

func TestMain(m *testing.M) {
	code := m.Run()
	build.Close()
	os.Exit(code)
}

func TestOnePairOfOneRowGivesAReport(t *testing.T) {
	rig.Need(t, "fio")
	dir, file := rig.DiskDir(t), filepath.Join(t.TempDir(), "report.md")
	var out bytes.Buffer
	err := run(context.Background(), []string{
		"engine", "-binary", build.Binary(t), "-dir", dir, "-loop=false", "-pairs", "1", "-duration", "500ms", "-file-size", "67108864",
		"-rows", "read_4k_q4", "-write", file,
	}, &out)
	if err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	t.Logf("%s", &out)
	md, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| kernel | ", "| fio | fio-", "| ssd_exporter | ssd_exporter, version", "| read_4k_q4 | 1 | ", "## Every pair"} {
		if !bytes.Contains(md, []byte(want)) {
			t.Errorf("the report has no %q:\n%s", want, md)
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
}

func TestRowsAreChosenByPattern(t *testing.T) {
	for _, c := range []struct {
		patterns []string
		want     int
	}{{nil, 11}, {[]string{"read_4k_*"}, 5}, {[]string{"mix*_q32", "seqread_1m_q2"}, 3}} {
		rows, err := chooseRows(c.patterns)
		if err != nil || len(rows) != c.want {
			t.Errorf("%q: %d rows (%v), want %d", c.patterns, len(rows), err, c.want)
		}
	}
	for _, bad := range []string{"read_8k", "["} {
		if _, err := chooseRows([]string{bad}); err == nil {
			t.Errorf("%q chooses rows", bad)
		}
	}
}

func TestBothSidesGetTheSameWorkload(t *testing.T) {
	f := &fio{file: "/d/probe.bin", size: 1 << 20, batch: map[string]int{"read_4k_q32": 4}}
	for name, want := range map[string][]string{
		"read_4k_q32":    {"--rw=randread", "--iodepth=32", "--bs=4096", "--offset=0", "--size=1048576", "--iodepth_batch_submit=4"},
		"mixed20_4k_q4":  {"--rw=randrw", "--rwmixread=20", "--iodepth=4", "--offset=524288", "--size=524288"},
		"seqread_1m_q2":  {"--rw=read", "--bs=1048576", "--offset=0"},
		"seqwrite_1m_q2": {"--rw=write", "--offset=524288"},
	} {
		rows, err := chooseRows([]string{name})
		if err != nil {
			t.Fatal(err)
		}
		args := f.args(rows[0])
		for _, w := range append(want, "--allow_file_create=0", "--filename=/d/probe.bin", "--norandommap", "--registerfiles", "--fixedbufs") {
			if !slices.Contains(args, w) {
				t.Errorf("%s: fio is not given %s: %v", name, w, args)
			}
		}
	}
}

func TestOutputOfBothSidesIsUnderstood(t *testing.T) {
	mix := row{"mixed20_4k_q4", 4096, 20, false, 4}
	got, err := parseFio([]byte(`fio: a warning
{"jobs": [{"error": 0, "usr_cpu": 10.0, "sys_cpu": 30.0, "job_runtime": 1000,
 "read": {"iops": 200.5, "total_ios": 200, "io_bytes": 819200, "lat_ns": {"percentile": {"50.000000": 1000, "99.000000": 2000}}},
 "write": {"iops": 800.5, "total_ios": 800, "io_bytes": 3276800, "lat_ns": {"percentile": {"50.000000": 3000, "99.000000": 4000}}}}]}`), mix)
	want := sample{
		iops: 1001, ios: 1000, ownCPU: 400 * time.Microsecond, p50: 3 * time.Microsecond, p99: 4 * time.Microsecond, written: 3276800, engine: "io_uring",
	}
	if err != nil || got != want {
		t.Errorf("fio: %+v (%v)\nwant %+v", got, err, want)
	}
	got, err = parseProduct([]byte(`{"iops": 1001, "cpu_seconds_per_io": 0.0004, "engine": "uring", "valid": false, "detail": "why", "written_bytes": 4096,
 "read": {"ios": 200, "errors": 0, "latency_seconds": {"p50": 1e-6, "p99": null}},
 "write": {"ios": 800, "errors": 0, "latency_seconds": {"p50": 3e-6, "p99": null}}}`), mix)
	want = sample{iops: 1001, ios: 1000, ownCPU: 400 * time.Microsecond, p50: 3 * time.Microsecond, written: 4096, engine: "uring", invalid: "why"}
	if err != nil || got != want {
		t.Errorf("product: %+v (%v)\nwant %+v", got, err, want)
	}
	for _, broken := range []string{"", "fio: no such file", `{"jobs": []}`, `{"jobs": [{"error": 5}]}`} {
		if _, err := parseFio([]byte(broken), mix); err == nil {
			t.Errorf("fio's %q is understood", broken)
		}
	}
}

func TestASummaryIsOfPairedRatios(t *testing.T) {
	var pairs []pair
	for i := range 5 { // the machine gets slower, for both
		speed := float64(1000 - 100*i)
		pairs = append(pairs, pair{
			fio:  sample{iops: speed, cpu: 100, ownCPU: 50, p50: 10},
			ours: sample{iops: speed * 1.1, cpu: 60, ownCPU: 50, p50: 9, engine: "uring"},
		})
	}
	cells := strings.Join(summarise(row{name: "r"}, pairs, 0).cells(), " ")
	if want := "r 5 800 880 1.10 1.10 0.1 µs 0.1 µs 0.60 1.00 0.0 µs 0.0 µs 0.90 – – – uring 1 0"; cells != want {
		t.Errorf("cells %q\nwant  %q", cells, want)
	}
}

// A person must know before it starts what a comparison costs the disk.
func TestWritingTimeIsSaidBefore(t *testing.T) {
	c := &comparison{rows: allRows(), pairs: 15, duration: time.Second}
	if got := c.writingTime(); got != 90*time.Second { // (2 × 20 % + 2 × 80 % + 100 %) × 2 sides × 15
		t.Errorf("all rows write for %v, want 90 s", got)
	}
	reads, err := chooseRows([]string{"read*", "seqread*"})
	if err != nil {
		t.Fatal(err)
	}
	c.rows = reads
	if got := c.writingTime(); got != 0 {
		t.Errorf("reads write for %v", got)
	}
}
