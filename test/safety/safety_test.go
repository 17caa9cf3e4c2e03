package safety

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"ssd_exporter/test/rig"
)

var product rig.Build

func TestMain(m *testing.M) {
	code := m.Run()
	product.Close()
	os.Exit(code)
}

const profile = `
targets:
  - name: disk
    path: %q
    file_size: 256MiB
    schedule: "@every 5s"
guards: {utilisation: 1, in_flight: 100000, foreign_iops: 1e9, window: 100ms}
budget: {bytes_per_day: 40GB}
`

// place is a folder with somebody's data in it, and a state folder elsewhere.
type place struct{ target, state string }

const precious = "somebody's data"

func newPlace(t *testing.T) place {
	t.Helper()
	dir, err := filepath.EvalSymlinks(rig.DiskDir(t))
	if err != nil {
		t.Fatal(err)
	}
	p := place{target: filepath.Join(dir, "target"), state: filepath.Join(dir, "state")}
	if err := os.Mkdir(p.target, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(p.target, "file"), []byte(precious), 0o644); err != nil {
		t.Fatal(err)
	}
	return p
}

// mayChange are the only names that may be opened for writing, made, renamed or deleted.
func (p place) mayChange() *regexp.Regexp {
	target, state := regexp.QuoteMeta(p.target), regexp.QuoteMeta(p.state)
	return regexp.MustCompile(`^(` +
		target + `/ssd_exporter\.probe(/(probe\.bin|probe\.json(\.lock|\.tmp)?|CACHEDIR\.TAG|README\.txt))?|` +
		state + `(/(history\.db|control\.sock|ledger(/(users\.lock|\.new-\d+|[0-9A-Za-z#+.:=@_~-]+\.ledger))?))?` +
		`)( \(deleted\))?$`)
}

// trace runs the product under strace; end reads what it did.
func trace(t *testing.T, args ...string) (p *rig.Process, end func() []call) {
	t.Helper()
	strace := rig.Need(t, "strace")
	file := filepath.Join(t.TempDir(), "trace")
	options := []string{"-f", "--seccomp-bpf", "-yy", "-s", "4096", "-e", "trace=" + traced, "-o", file}
	if out, err := exec.Command(strace, append(slices.Clone(options), "true")...).CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: strace may not trace here (%v: %s): allow ptrace (CAP_SYS_PTRACE in a container)", err, out)
	}
	p = rig.Start(t, strace, append(append(options, product.Binary(t)), args...)...)
	return p, func() []call {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		calls, err := parse(f)
		if err != nil {
			t.Fatal(err)
		}
		return calls
	}
}

func TestServiceOpensNothingForWritingButItsOwn(t *testing.T) {
	t.Parallel()
	place := newPlace(t)
	config := filepath.Join(t.TempDir(), "ssd_exporter.yml")
	if err := os.WriteFile(config, fmt.Appendf(nil, profile, place.target), 0o600); err != nil {
		t.Fatal(err)
	}
	address := rig.FreeAddress(t)
	p, end := trace(t, "--config.file="+config, "--state.path="+place.state, "--web.listen-address="+address)
	const workloads = 9
	var total float64
	p.Eventually(2*time.Minute, "each workload has been run", func() error {
		page, _, err := rig.Get(context.Background(), "http://"+address+"/metrics")
		if total = attempts(string(page)); err == nil && total < workloads {
			err = fmt.Errorf("%v runs", total)
		}
		return err
	})
	stopTraced(t, p)
	place.check(t, end())
}

func TestProbeCommandOpensNothingForWritingButItsOwnAndLeavesNothing(t *testing.T) {
	t.Parallel()
	place := newPlace(t)
	p, end := trace(t, "--state.path="+place.state, "probe", place.target, "--file-size=256MiB", "--read-percent=80", "--duration=1s", "--engine=sync")
	select {
	case <-p.Exited():
	case <-time.After(2 * time.Minute):
		t.Fatal("it does not end")
	}
	place.check(t, end())
	if _, err := os.Lstat(filepath.Join(place.target, "ssd_exporter.probe")); !os.IsNotExist(err) {
		t.Errorf("the probe folder is still there: %v", err)
	}
}

// stopTraced stops the product, not strace, which would leave it behind.
func stopTraced(t *testing.T, p *rig.Process) {
	t.Helper()
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", p.PID()))
	if err != nil {
		t.Fatalf("the child of strace: %v", err)
	}
	for pid := range strings.FieldsSeq(string(children)) {
		if out, err := exec.Command("kill", "-TERM", pid).CombinedOutput(); err != nil {
			t.Fatalf("kill -TERM %s: %v: %s", pid, err, out)
		}
	}
	select {
	case <-p.Exited():
	case <-time.After(20 * time.Second):
		t.Fatal("it does not end")
	}
}

// attempts is how many runs there were, however they ended.
func attempts(page string) (total float64) {
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "ssd_probe_runs_total{") {
			var v float64
			if _, err := fmt.Sscan(line[strings.LastIndexByte(line, ' ')+1:], &v); err == nil {
				total += v
			}
		}
	}
	return total
}

// check holds every call against the promise, and that the trace saw the work at all.
func (p place) check(t *testing.T, calls []call) {
	t.Helper()
	allowed := p.mayChange()
	var created, written, read int
	for _, c := range calls {
		if why := p.offence(c, allowed); why != "" {
			t.Errorf("%s: %s", why, c.raw)
		}
		if filepath.Base(c.got) != "probe.bin" {
			continue
		}
		switch {
		case strings.Contains(c.args, "O_EXCL"):
			created++
		case strings.Contains(c.args, "O_RDWR"):
			written++
		case strings.Contains(c.args, "O_DIRECT"):
			read++
		}
	}
	if created != 1 || written == 0 {
		t.Errorf("the trace saw the probe file being created %d times and opened for writing %d times: it is no proof", created, written)
	}
	t.Logf("%d calls; the probe file was opened %d times for writing and %d times for reading", len(calls), written, read)
	p.checkTree(t)
}

// offence says which promise a call breaks.
func (p place) offence(c call, allowed *regexp.Regexp) string {
	switch {
	case c.opens() && !c.writes():
		return "" // reading
	case c.opens() && c.device() && c.got != "/dev/null<char 1:3>":
		return "a device is opened for writing"
	case c.opens() && c.got == "/dev/null<char 1:3>":
		return ""
	case c.opens() && !strings.Contains(c.args, "O_NOFOLLOW") && strings.HasPrefix(c.paths[0], p.target) && !strings.Contains(c.args, `"/proc/self/fd/`):
		return "a link would be followed below the target"
	case c.name == "ioctl":
		return ioctlOffence(c)
	}
	switch c.name {
	case "mknod", "mknodat", "symlink", "symlinkat", "mount", "umount2", "pivot_root", "swapon", "open_by_handle_at", "truncate", "fallocate":
		return "never needed"
	}
	for _, path := range c.paths {
		if !allowed.MatchString(path) {
			return "not ours to change"
		}
	}
	if len(c.paths) == 0 {
		return "changes something that has no name"
	}
	return ""
}

// harmless are the requests that read; the last two concern flags of the probe file, on btrfs.
var harmless = []string{
	"FS_IOC_FIEMAP", "BLKSSZGET", "BLKPBSZGET", "BLKGETSIZE64", "BTRFS_IOC_DEV_INFO", "BTRFS_IOC_FS_INFO", "TCGETS", "TIOCGWINSZ",
	"HDIO_GET_IDENTITY", "SG_IO", "NVME_IOCTL_ADMIN_CMD", "NVME_IOCTL_ID", "FS_IOC_GETFLAGS", "FS_IOC_SETFLAGS",
}

func ioctlOffence(c call) string {
	for _, name := range harmless {
		if strings.Contains(c.args, ", "+name) {
			return ""
		}
	}
	return "an ioctl that is not known to be harmless"
}

// checkTree holds that nothing but what is ours lies about, and that what was there is as it was.
func (p place) checkTree(t *testing.T) {
	t.Helper()
	allowed := p.mayChange()
	own := []string{filepath.Dir(p.target), p.target, filepath.Join(p.target, "file")}
	err := filepath.WalkDir(filepath.Dir(p.target), func(path string, _ fs.DirEntry, err error) error {
		if err == nil && !slices.Contains(own, path) && !allowed.MatchString(path) {
			t.Errorf("left behind: %s", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if b, err := os.ReadFile(filepath.Join(p.target, "file")); err != nil || string(b) != precious {
		t.Errorf("somebody's file holds %q, %v", b, err)
	}
}

func TestEveryKindOfHarmIsSeenInATrace(t *testing.T) {
	p := place{target: "/t", state: "/s"}
	for _, c := range []struct{ story, line, want string }{
		{"a disk is opened for writing", `1 openat(AT_FDCWD</>, "/dev/sda", O_RDWR|O_CLOEXEC) = 5</dev/sda<block 8:0>>`, "a device is opened for writing"},
		{"the attempt counts", `1 openat(AT_FDCWD</>, "/dev/sda", O_RDWR|O_CLOEXEC) = -1 EPERM (Operation not permitted)`, "a device is opened for writing"},
		{"a disk behind a link", `1 openat(AT_FDCWD</>, "/proc/self/fd/9", O_RDWR|O_DIRECT) = 5</dev/loop0<block 7:0>>`, "a device is opened for writing"},
		{"a disk is read", `1 openat(AT_FDCWD</>, "/dev/sda", O_RDONLY|O_DIRECT) = 5</dev/sda<block 8:0>>`, ""},
		{"somebody's file", `1 openat(8</t>, "file", O_WRONLY|O_NOFOLLOW) = 5</t/file>`, "not ours to change"},
		{"out of the folder by dots", `1 openat(8</t/ssd_exporter.probe>, "../file", O_WRONLY|O_NOFOLLOW) = -1 EACCES (Permission denied)`, "not ours to change"},
		{"a name of ours elsewhere", `1 openat(8</u/ssd_exporter.probe>, "probe.bin", O_RDWR|O_CREAT|O_EXCL|O_NOFOLLOW, 0600) = 5</u/ssd_exporter.probe/probe.bin>`, "not ours to change"},
		{"a link is followed", `1 openat(8</t/ssd_exporter.probe>, "probe.bin", O_RDWR) = 5</t/ssd_exporter.probe/probe.bin>`, "a link would be followed below the target"},
		{"what was proven is reopened", `1 openat(AT_FDCWD</>, "/proc/self/fd/9", O_RDWR|O_DIRECT) = 5</t/ssd_exporter.probe/probe.bin>`, ""},
		{"somebody's file is deleted", `1 unlinkat(5</t>, "file", 0) = 0`, "not ours to change"},
		{"somebody's file is renamed onto ours", `1 renameat(5</t>, "file", 8</t/ssd_exporter.probe>, "probe.json") = 0`, "not ours to change"},
		{"the record is replaced", `1 renameat(8</t/ssd_exporter.probe>, "probe.json.tmp", 8</t/ssd_exporter.probe>, "probe.json") = 0`, ""},
		{"the target's own mode", `1 fchmod(8</t>, 0700) = 0`, "not ours to change"},
		{"a discard", `1 ioctl(5</dev/sda<block 8:0>>, BLKDISCARD, [0, 4096]) = 0`, "an ioctl that is not known to be harmless"},
		{"a mount", `1 mount("/dev/sda", "/t/ssd_exporter.probe", "ext4", 0, NULL) = 0`, "never needed"},
	} {
		t.Run(c.story, func(t *testing.T) {
			calls, err := parse(strings.NewReader(c.line + "\n"))
			if err != nil || len(calls) != 1 {
				t.Fatalf("%d calls, %v", len(calls), err)
			}
			if got := p.offence(calls[0], p.mayChange()); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
