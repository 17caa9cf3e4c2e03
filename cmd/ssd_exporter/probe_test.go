package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/google/go-cmp/cmp"

	"ssd_exporter/blockdev"
	"ssd_exporter/engine"
	"ssd_exporter/engine/ledger"
	"ssd_exporter/engine/probefile"
	"ssd_exporter/engine/worker"
	"ssd_exporter/monitor"
)

// parsed are the flags of a probe command line.
func parsed(t *testing.T, args ...string) *probeFlags {
	t.Helper()
	k := kingpin.New("ssd_exporter", "")
	f := &probeFlags{}
	f.register(k.Command("probe", ""))
	if _, err := k.Parse(append([]string{"probe"}, args...)); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestFlagsMakeAWorkload(t *testing.T) {
	stream := func(change func(*engine.Stream)) engine.Stream {
		s := engine.Stream{BlockSize: 4096, ReadPermille: 1000, Pattern: engine.Random, Region: engine.All, Depth: 1, Arrival: engine.Closed}
		change(&s)
		return s
	}
	for _, c := range []struct {
		args   []string
		want   engine.Stream
		warmup engine.Limits
		stop   time.Duration
	}{
		{[]string{"--depth=32"}, stream(func(s *engine.Stream) { s.Depth = 32 }), engine.Limits{MaxIOs: 64, MaxTime: 2 * time.Second}, 5 * time.Second},
		{
			[]string{"--block-size=1m", "--read-percent=20", "--pattern=sequential", "--duration=250ms"},
			stream(func(s *engine.Stream) {
				s.BlockSize, s.ReadPermille, s.Pattern, s.Region = 1<<20, 200, engine.Sequential, engine.Hot
			}),
			engine.Limits{MaxIOs: 64, MaxTime: 2 * time.Second},
			250 * time.Millisecond,
		},
		{
			[]string{"--rate=250", "--warmup=0s"},
			stream(func(s *engine.Stream) { s.Arrival, s.Rate = engine.Paced, 250 }),
			engine.Limits{},
			5 * time.Second,
		},
	} {
		f := parsed(t, append([]string{"dir"}, c.args...)...)
		all, err := f.workloads(false)
		if err != nil || len(all) != 1 || !f.single() {
			t.Fatalf("%v: %d workloads (%v)", c.args, len(all), err)
		}
		if diff := cmp.Diff([]engine.Stream{c.want}, all[0].Streams); diff != "" {
			t.Errorf("%v: %s", c.args, diff)
		}
		if all[0].Warmup != c.warmup || all[0].Stop.MaxTime != c.stop {
			t.Errorf("%v: warm-up %+v, stop %+v", c.args, all[0].Warmup, all[0].Stop)
		}
	}
}

func TestWithoutAWorkloadFlagTheProfileRuns(t *testing.T) {
	f := parsed(t, "dir", "--file-size=512m", "--engine=aio", "--output=json")
	for raw, want := range map[bool][]monitor.Workload{false: monitor.Light(), true: monitor.ReadOnly()} {
		all, err := f.workloads(raw)
		if err != nil || len(all) != len(want) {
			t.Fatalf("raw %v: %d workloads (%v), want %d", raw, len(all), err, len(want))
		}
		for i := range all {
			if diff := cmp.Diff(want[i].Workload, all[i]); diff != "" {
				t.Errorf("raw %v: %s", raw, diff)
			}
		}
	}
}

func TestARawDiskIsOnlyRead(t *testing.T) {
	f := parsed(t, "/dev/sdz", "--read-percent=99")
	_, err := f.workloads(true)
	if e, ok := errors.AsType[*exitError](err); !ok || e.code != exitUsage || !strings.Contains(err.Error(), "a raw disk is only read") {
		t.Errorf("error %v", err)
	}
}

func TestWritesAreLimitedToWhatIsAgreedTo(t *testing.T) {
	const file = 1 << 30
	for _, c := range []struct {
		name string
		args []string
		fill int64
		want int64 // -1: refused
	}{
		{"reads write nothing", []string{"--depth=4"}, file, 0},
		{"a closed loop may write what the file leaves of 10 GB", []string{"--read-percent=80"}, file, 10e9 - file},
		{"or of what was agreed to", []string{"--read-percent=80", "--yes-write=40GB"}, 0, 40e9},
		{"an open loop writes what its rate says", []string{"--read-percent=80", "--rate=1000", "--duration=10s"}, 0, 2001 * 4096},
		{"and is refused when that is too much", []string{"--read-percent=0", "--rate=1000", "--duration=1h"}, 0, -1},
		{"a file that is too large is refused", []string{"--depth=4"}, 11e9, -1},
		{"the profile", nil, file, 250*4096 + 1000*4096 + 4000*4096 + 200*4096 + 256<<20},
		{"the profile needs consent when little is agreed to", []string{"--yes-write=1GB"}, file, -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := parsed(t, append([]string{"dir"}, c.args...)...)
			all, err := f.workloads(false)
			if err != nil {
				t.Fatal(err)
			}
			p := &probing{flags: f, workloads: all, fill: c.fill}
			err = p.limitWrites()
			if c.want < 0 {
				if e, ok := errors.AsType[*exitError](err); !ok || e.code != exitUsage || !strings.Contains(err.Error(), "--yes-write=") {
					t.Errorf("error %v", err)
				}
				return
			}
			if got := p.measuredWrites(); err != nil || got != c.want {
				t.Errorf("%d bytes (%v), want %d", got, err, c.want)
			}
		})
	}
}

// diskDir is a fresh folder on a disk; the test is skipped where there is none.
func diskDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if inRAM(dir) {
		t.Skip("SKIPPED: the folder for temporary files is in RAM; set TMPDIR to one on a disk")
	}
	return dir
}

// testProbing is a probe of a file of 16 MiB in dir, and what it prints.
func testProbing(t *testing.T, dir string, args ...string) (p *probing, stdout, stderr *bytes.Buffer) {
	t.Helper()
	stdout, stderr = &bytes.Buffer{}, &bytes.Buffer{}
	a := newApp(strings.NewReader(""), stdout, stderr)
	a.stateDir = filepath.Join(dir, "state")
	if !slices.ContainsFunc(args, func(s string) bool { return strings.HasPrefix(s, "--file-size") }) {
		args = append(args, "--file-size=16m")
	}
	p = &probing{app: a, flags: parsed(t, append([]string{dir}, args...)...), progress: newProgress(stderr, false)}
	return p, stdout, stderr
}

// cancelAt cancels when the line of progress matches.
type cancelAt struct {
	line   *regexp.Regexp
	cancel context.CancelFunc
}

func (c cancelAt) Write(b []byte) (int, error) {
	if c.line.Match(b) {
		c.cancel()
	}
	return len(b), nil
}

// interrupted runs p and interrupts it when its progress matches.
func interrupted(t *testing.T, p *probing, line string) error {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	p.progress = newProgress(cancelAt{regexp.MustCompile(line), cancel}, true)
	var now time.Time
	p.progress.now = func() time.Time { // shows a line at every beat
		now = now.Add(quietFor)
		return now
	}
	err := p.run(ctx)
	if err == nil || !strings.HasPrefix(err.Error(), "interrupted: ") {
		t.Errorf("error %v", err)
	}
	if left, err := os.ReadDir(p.flags.target); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
	return err
}

func TestAnInterruptShowsWhatThereIsAndRemovesTheFile(t *testing.T) {
	p, stdout, stderr := testProbing(t, diskDir(t), "--duration=1h", "--read-percent=50", "--output=json")
	if err := interrupted(t, p, `^.*measurement  \[.* [1-9][0-9,]* I/Os`); err == nil {
		t.Fatal(stderr)
	}
	var report struct {
		Partial bool   `json:"partial"`
		Stopped string `json:"stopped"`
		Read    struct {
			IOs int64 `json:"ios"`
		} `json:"read"`
	}
	if err := json.Unmarshal(stdout.Bytes(), &report); err != nil {
		t.Fatalf("%v\n%s", err, stdout)
	}
	if !report.Partial || report.Stopped != "cancelled" || report.Read.IOs == 0 {
		t.Errorf("report %+v", report)
	}
}

func TestAnInterruptWhileFillingRemovesTheFile(t *testing.T) {
	p, stdout, _ := testProbing(t, diskDir(t), "--file-size=512m", "--depth=1", "--duration=1h")
	_ = interrupted(t, p, "fill|measurement") // a disk may fill the file between two beats
	if p.file == nil && stdout.Len() > 0 {
		t.Errorf("output %q of a file that was not filled", stdout)
	}
}

func TestAFileThatTheServiceUsesIsLeftAlone(t *testing.T) {
	dir := diskDir(t)
	p, _, stderr := testProbing(t, dir, "--duration=1ms", "--keep-file")
	if err := p.run(context.Background()); p.file == nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	fs, err := blockdev.Resolve(blockdev.Roots{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	open, err := probefile.Open(dir, false, fs)
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	p, stdout, _ := testProbing(t, dir, "--duration=1ms")
	err = p.run(context.Background())
	want := "; it is the service, or another probe: give another folder on the same disk, or try again in a minute"
	if err == nil || !strings.HasSuffix(err.Error(), want) || stdout.Len() > 0 {
		t.Errorf("error %v\nwant …%s", err, want)
	}
	if _, err := probefile.Stat(dir); err != nil {
		t.Errorf("the file is gone: %v", err)
	}
}

// charged is what the ledger in state holds of a disk.
func charged(t *testing.T, state string, disk blockdev.ID) ledger.Account {
	t.Helper()
	l, err := ledger.Open(filepath.Join(state, "ledger"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	a, err := l.Account(disk, 1000, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestWritesAreChargedToTheServicesAccountOfTheDisk(t *testing.T) {
	dir := diskDir(t)
	state, file := filepath.Join(dir, "state"), filepath.Join(dir, "d")
	for _, d := range []string{filepath.Join(state, "ledger"), file, filepath.Join(dir, "sys/class/block")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	p, _, stderr := testProbing(t, file, "--duration=300ms", "--read-percent=50")
	p.app.stateDir = state
	if err := p.inspect(context.Background()); err != nil {
		t.Fatal(err)
	}
	p.fs.Leaves = []string{"sdz"} // wherever the test runs
	real := p.app.roots
	p.app.roots.Sysfs = filepath.Join(dir, "sys")
	if err := p.plan(context.Background()); err != nil {
		t.Fatal(err)
	}
	p.app.roots = real
	if want := "Charged to the disk's account in " + filepath.Join(state, "ledger") + "."; !strings.Contains(stderr.String(), want) {
		t.Errorf("stderr %q, want %q", stderr, want)
	}
	all, err := p.work(context.Background())
	if err != nil || len(all) != 1 {
		t.Fatalf("%d measurements (%v)", len(all), err)
	}
	if err := p.account.close(); err != nil {
		t.Fatal(err)
	}
	a := charged(t, state, "sdz")
	if got, want := a.Written[ledger.Probe], all[0].result.Written; got != want || want == 0 {
		t.Errorf("%d bytes charged for the probe, want %d", got, want)
	}
	if got := a.Written[ledger.Fill]; got != 16<<20 {
		t.Errorf("%d bytes charged for the fill, want 16 MiB", got)
	}
	if a.Reserved[ledger.Probe]+a.Reserved[ledger.Fill] != 0 {
		t.Errorf("still reserved: %v", a.Reserved)
	}
}

func TestAnAccountThatCannotBeOpenedForbidsWriting(t *testing.T) {
	dir := diskDir(t)
	state, file := filepath.Join(dir, "state"), filepath.Join(dir, "d")
	if err := errors.Join(os.MkdirAll(state, 0o700), os.Mkdir(file, 0o700), os.WriteFile(filepath.Join(state, "ledger"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	p, _, _ := testProbing(t, file, "--duration=1ms")
	p.app.stateDir = state
	p.fs = blockdev.Filesystem{Type: "ext4", Leaves: []string{"sdz"}, FreeBytes: 1 << 40, SizeBytes: 1 << 40}
	err := p.plan(context.Background())
	if e, ok := errors.AsType[*exitError](err); !ok || e.code != exitState || !strings.Contains(err.Error(), "is not a folder; give the service's folder with --state.path") {
		t.Errorf("error %v", err)
	}
}

func TestADiskThatIsNeverWrittenToIsRefused(t *testing.T) {
	dir := t.TempDir()
	sys := filepath.Join(dir, "sys")
	device := filepath.Join(sys, "devices/mmc_host/mmc0/mmc0:0001/block/mmcblk0")
	if err := errors.Join(os.MkdirAll(filepath.Join(device, "queue"), 0o700), os.MkdirAll(filepath.Join(sys, "class/block"), 0o700),
		os.Symlink("../..", filepath.Join(device, "device")), os.Symlink(device, filepath.Join(sys, "class/block/mmcblk0")),
		os.WriteFile(filepath.Join(device, "size"), []byte("60000000\n"), 0o600), os.WriteFile(filepath.Join(device, "dev"), []byte("179:0\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	p, _, _ := testProbing(t, dir, "--depth=4")
	p.app.roots.Sysfs = sys
	p.fs = blockdev.Filesystem{Type: "ext4", Leaves: []string{"mmcblk0"}, FreeBytes: 1 << 40, SizeBytes: 1 << 40}
	err := p.plan(context.Background())
	if err == nil || !strings.Contains(err.Error(), "is never written to: it is an eMMC or SD card, or worn out; to measure reads alone, give its node") {
		t.Errorf("error %v", err)
	}
	p.found, p.fill = &probefile.State{Size: 16 << 20, Filled: true}, 0
	if err := p.plan(context.Background()); err != nil {
		t.Errorf("reads of a file that is there: %v", err)
	}
}

func TestWhatAChildMayHaveWritten(t *testing.T) {
	p := &probing{progress: newProgress(io.Discard, false)}
	for _, c := range []struct {
		name string
		err  error
		last int64
		want int64
	}{
		{"refused before its first I/O", &worker.Error{Kind: worker.Refused}, 0, 0},
		{"failed on the way", &worker.Error{Kind: worker.IO}, 300, 300},
		{"crashed: everything", &worker.Error{Kind: worker.Crashed}, 300, 1000},
		{"said nothing: everything", nil, 300, 1000},
	} {
		p.progress.last.Written = c.last
		if got := p.written(c.err, 1000); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}
