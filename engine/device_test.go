package engine

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ssd_exporter/blockdev"
)

func TestForeignIOs(t *testing.T) {
	kib := func(n uint64) uint64 { return n << 10 }
	tests := map[string]struct {
		device blockdev.Counters
		ours   [2]Traffic
		want   int64
	}{
		"alone":                          {blockdev.Counters{ReadIOs: 100, ReadBytes: kib(400)}, [2]Traffic{{100, 400 << 10}, {}}, 0},
		"others read as well":            {blockdev.Counters{ReadIOs: 150, ReadBytes: kib(600)}, [2]Traffic{{100, 400 << 10}, {}}, 50},
		"others write while we read":     {blockdev.Counters{ReadIOs: 100, ReadBytes: kib(400), WriteIOs: 7, WriteBytes: kib(28)}, [2]Traffic{{100, 400 << 10}, {}}, 7},
		"our large reads are split":      {blockdev.Counters{ReadIOs: 200, ReadBytes: kib(102400)}, [2]Traffic{{100, 100 << 20}, {}}, 0},
		"split, and others besides":      {blockdev.Counters{ReadIOs: 210, ReadBytes: kib(102440)}, [2]Traffic{{100, 100 << 20}, {}}, 10},
		"our sequential I/Os are merged": {blockdev.Counters{WriteIOs: 25, WriteBytes: kib(400)}, [2]Traffic{{}, {100, 400 << 10}}, 0},
		"a cache answered":               {blockdev.Counters{}, [2]Traffic{{100, 400 << 10}, {}}, 0},
		"flushes do not count":           {blockdev.Counters{FlushIOs: 100, WriteIOs: 100, WriteBytes: kib(400)}, [2]Traffic{{}, {100, 400 << 10}}, 0},
	}
	for name, tt := range tests {
		if got := ForeignIOs(tt.device, tt.ours); got != tt.want {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
	}
}

// countingDisk is a sysfs with one disk whose counters follow what a fake disk was given.
type countingDisk struct {
	fakeDisk
	t       *testing.T
	dir     string
	answers float64 // the share of our I/Os that the device sees
	others  int     // foreign writes of 4 KiB
	reads   int
}

func newCountingDisk(t *testing.T, answers float64, others int) *countingDisk {
	c := &countingDisk{t: t, dir: t.TempDir(), answers: answers, others: others}
	for _, d := range []string{"block", "class/block", "devices/fake0/queue"} {
		if err := os.MkdirAll(filepath.Join(c.dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, link := range []string{"block/fake0", "class/block/fake0"} {
		if err := os.Symlink(filepath.Join(c.dir, "devices/fake0"), filepath.Join(c.dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	c.stat(1000, 1000)
	c.result = func(io fakeIO) int32 {
		c.reads++
		c.stat(1000+int(float64(c.reads)*c.answers), 1000+c.others)
		return int32(io.size)
	}
	return c
}

func (c *countingDisk) stat(reads, writes int) {
	line := strings.Fields("0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0")
	line[0], line[2] = strconv.Itoa(reads), strconv.Itoa(reads*8)
	line[4], line[6] = strconv.Itoa(writes), strconv.Itoa(writes*8)
	if err := os.WriteFile(filepath.Join(c.dir, "devices/fake0/stat"), []byte(strings.Join(line, " ")+"\n"), 0o600); err != nil {
		c.t.Fatal(err)
	}
}

func TestTheDevicesOwnCountersDecideWhatIsBelieved(t *testing.T) {
	tests := map[string]struct {
		answers float64
		others  int
		memory  bool
		want    []Invalid
	}{
		"everything reached the device": {answers: 1},
		"a cache answered a fifth":      {answers: 0.8, want: []Invalid{InvalidCache}},
		"nothing reached the device":    {answers: 0, want: []Invalid{InvalidCache}},
		"others were busy":              {answers: 1, others: 500},
		"the file lives in memory":      {answers: 1, memory: true, want: []Invalid{InvalidMemory}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := newCountingDisk(t, tt.answers, tt.others)
			target := fakeTarget()
			target.Filesystem = blockdev.Filesystem{Type: "ext4", Leaves: []string{"fake0"}, Memory: tt.memory}
			r, err := run(t.Context(), reads(4, Limits{MaxTime: time.Minute, MaxIOs: 400}), target, Options{Roots: blockdev.Roots{Sysfs: d.dir}}, d.environment())
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(r.Reasons, tt.want) || r.Valid != (tt.want == nil) {
				t.Errorf("valid %v, reasons %v, want %v (%s)", r.Valid, r.Reasons, tt.want, r.Detail)
			}
			if r.DeviceRatio == nil || r.ForeignIOPS == nil || r.Device == nil {
				t.Fatalf("ratio %v, foreign %v, device %v: the counters were there", r.DeviceRatio, r.ForeignIOPS, r.Device)
			}
			if (*r.ForeignIOPS > 0) != (tt.others > 0) || (*r.ForeignIOs > 0) != (tt.others > 0) {
				t.Errorf("%d foreign I/Os, %.0f a second", *r.ForeignIOs, *r.ForeignIOPS)
			}
		})
	}
}

func TestWhatCannotBeKnownOfTheDeviceIsAbsent(t *testing.T) {
	r := runFake(t, &fakeDisk{}, reads(1, Limits{MaxTime: time.Minute, MaxIOs: 200}))
	if r.Device != nil || r.DeviceRatio != nil || r.ForeignIOPS != nil || !r.Valid {
		t.Errorf("no counters: device %v, ratio %v, foreign %v, valid %v (%s)", r.Device, r.DeviceRatio, r.ForeignIOPS, r.Valid, r.Detail)
	}
}

func TestWithoutAKnownDiskNothingIsBelieved(t *testing.T) {
	target := fakeTarget()
	target.Filesystem = blockdev.Filesystem{Type: "zfs", Why: "ZFS does not tell"}
	r, err := run(t.Context(), reads(1, Limits{MaxTime: time.Minute, MaxIOs: 200}), target, Options{}, (&fakeDisk{}).environment())
	if err != nil {
		t.Fatal(err)
	}
	if r.Valid || !slices.Equal(r.Reasons, []Invalid{InvalidOther}) || !strings.Contains(r.Detail, "nothing could show that the I/O reached a disk: ZFS does not tell") {
		t.Errorf("valid %v, reasons %v, detail %q", r.Valid, r.Reasons, r.Detail)
	}
}

func TestADiskThatDoesNotCountProvesNothing(t *testing.T) {
	for name, prepare := range map[string]func(*countingDisk) error{
		"counters are switched off": func(d *countingDisk) error {
			return os.WriteFile(filepath.Join(d.dir, "devices/fake0/queue/iostats"), []byte("0\n"), 0o600)
		},
		"nothing was ever counted": func(d *countingDisk) error {
			d.result = nil
			d.stat(0, 0)
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newCountingDisk(t, 0, 0)
			if err := prepare(d); err != nil {
				t.Fatal(err)
			}
			target := fakeTarget()
			target.Filesystem = blockdev.Filesystem{Leaves: []string{"fake0"}}
			r, err := run(t.Context(), reads(4, Limits{MaxTime: time.Minute, MaxIOs: 400}), target, Options{Roots: blockdev.Roots{Sysfs: d.dir}}, d.environment())
			if err != nil {
				t.Fatal(err)
			}
			if r.DeviceRatio != nil || r.ForeignIOPS != nil || !r.Valid {
				t.Errorf("ratio %v, foreign %v, valid %v (%s): nothing is known", r.DeviceRatio, r.ForeignIOPS, r.Valid, r.Detail)
			}
		})
	}
}

func TestFewSamples(t *testing.T) {
	slow := func(fakeIO) time.Duration { return 100 * time.Millisecond }
	tests := map[string]struct {
		stop Limits
		want bool
	}{
		"cut short by time after 10":       {Limits{MaxTime: time.Second, MaxIOs: 4000}, true},
		"asked for 10 and got them":        {Limits{MaxTime: time.Minute, MaxIOs: 10}, false},
		"below the workload's own minimum": {Limits{MaxTime: 20 * time.Second, MinIOs: 1000}, true},
		"time ended it, after enough":      {Limits{MaxTime: 20 * time.Second}, false},
	}
	for name, tt := range tests {
		r := runFake(t, &fakeDisk{latency: slow}, reads(1, tt.stop))
		if got := slices.Contains(r.Reasons, InvalidFewSamples); got != tt.want {
			t.Errorf("%s: few_samples %v after %d I/Os (%s)", name, got, r.IOs(), r.Stopped)
		}
	}
}

func TestADeadlineIsSeenWhileTheDepthIsStillBeingFilled(t *testing.T) {
	d := &fakeDisk{price: 300 * time.Millisecond, latency: func(fakeIO) time.Duration { return 10 * time.Millisecond }}
	r := runFake(t, d, reads(64, Limits{MaxTime: time.Second}))
	for _, io := range d.log {
		if io.at > time.Second+d.price {
			t.Fatalf("I/O %d of depth 64 was issued at %v, long after the deadline of 1s", io.n, io.at)
		}
	}
	if r.Elapsed != 0 || !slices.Contains(r.Reasons, InvalidFewSamples) {
		t.Errorf("elapsed %v, reasons %v: full depth was never reached, so there is no rate", r.Elapsed, r.Reasons)
	}
}

func TestNoRateOfZeroForIOsThatHappened(t *testing.T) {
	judged := func(elapsed time.Duration, reads, writes OpResult) []Invalid {
		r := Result{Elapsed: elapsed, Stopped: StoppedMaxTime, Ops: [2]OpResult{Read: reads, Write: writes}}
		j := judgement{r: &r}
		j.samples(Limits{MaxTime: time.Second})
		return r.Reasons
	}
	few := []Invalid{InvalidFewSamples}
	tests := map[string]struct {
		elapsed       time.Duration
		reads, writes OpResult
		want          []Invalid
	}{
		"both rated":                   {time.Second, OpResult{IOs: 200, Rated: 180}, OpResult{IOs: 50, Rated: 40}, nil},
		"only reads, as was asked for": {time.Second, OpResult{IOs: 200, Rated: 180}, OpResult{}, nil},
		"no time":                      {0, OpResult{IOs: 200, Rated: 180}, OpResult{}, few},
		"writes came back too late":    {time.Second, OpResult{IOs: 200, Rated: 180}, OpResult{IOs: 50}, few},
		"too few, and none rated":      {0, OpResult{IOs: 2}, OpResult{}, few},
	}
	for name, tt := range tests {
		if got := judged(tt.elapsed, tt.reads, tt.writes); !slices.Equal(got, tt.want) {
			t.Errorf("%s: reasons %v, want %v", name, got, tt.want)
		}
	}
}

func TestASparseFileIsNotMeasured(t *testing.T) {
	target := realTarget(t, 8<<20)
	if len(target.Filesystem.Leaves) == 0 {
		t.Skipf("the disk below %s is unknown: %s", t.TempDir(), target.Filesystem.Why)
	}
	path := filepath.Join(t.TempDir(), "sparse")
	fd, err := unix.Open(path, unix.O_CREAT|unix.O_RDWR|unix.O_DIRECT|unix.O_CLOEXEC, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(fd) }()
	if err := unix.Ftruncate(fd, 64<<20); err != nil {
		t.Fatal(err)
	}
	target.FD, target.Size = fd, 64<<20
	w := reads(4, Limits{MaxTime: 10 * time.Second, MaxIOs: 20000})
	sparse, err := Run(t.Context(), w, target, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(sparse.Reasons, InvalidCache) {
		t.Errorf("a hole was read at %.0f IOPS: valid %v, reasons %v, %.3f of its bytes reached the device", sparse.TotalIOPS(), sparse.Valid, sparse.Reasons, *sparse.DeviceRatio)
	}
}

func TestAFileInMemoryIsNotMeasured(t *testing.T) {
	dir, err := os.MkdirTemp("/dev/shm", "engine")
	if err != nil {
		t.Skipf("no /dev/shm: %v", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "f")
	if err := os.WriteFile(path, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	fs, err := blockdev.Resolve(blockdev.Roots{}, path)
	if err != nil || !fs.Memory {
		t.Skipf("/dev/shm is no memory file system here (%s, %v)", fs.Type, err)
	}
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(fd) }()
	r, err := Run(t.Context(), reads(1, Limits{MaxTime: time.Second, MaxIOs: 500}), Target{FD: fd, Size: 1 << 20, Filesystem: fs}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(r.Reasons, InvalidMemory) {
		t.Errorf("valid %v, reasons %v", r.Valid, r.Reasons)
	}
}
