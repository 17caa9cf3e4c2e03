package blockdev

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// These tests ask the machine that they run on, whatever it is.

func resolveHere(t *testing.T, path string) Filesystem {
	t.Helper()
	f, err := Resolve(Roots{}, path)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %s on %s, leaves %v, stack %v, why %q", path, f.Type, f.Source, f.Leaves, f.Stack, f.Why)
	return f
}

func TestMachineTempDirIsResolvedOrSaysWhy(t *testing.T) {
	dir := t.TempDir()
	f := resolveHere(t, dir)
	if (len(f.Leaves) == 0) != (f.Why != "") {
		t.Errorf("leaves %v and why %q: want exactly one of the two", f.Leaves, f.Why)
	}
	if f.Type == "" || f.MountPoint == "" || f.SizeBytes <= 0 || f.FreeBytes > f.SizeBytes {
		t.Errorf("incomplete: %+v", f)
	}
	disks, err := Disks(Roots{})
	if err != nil {
		t.Fatal(err)
	}
	for _, leaf := range f.Leaves {
		if !slices.Contains(f.Stack, leaf) {
			t.Errorf("leaf %s is not in the stack %v", leaf, f.Stack)
		}
		if !anyHas(disks, leaf) {
			t.Errorf("leaf %s is not among Disks: %v", leaf, identities(disks))
		}
	}
}

func TestMachineFileAndLinkLeadToTheSameDisk(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "file with space"), filepath.Join(dir, "link")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	of, want := resolveHere(t, file), resolveHere(t, dir)
	if d := cmp.Diff(want.Stack, of.Stack); d != "" {
		t.Errorf("file: -folder +file\n%s", d)
	}
	if d := cmp.Diff(of.Stack, resolveHere(t, link).Stack); d != "" {
		t.Errorf("link: -file +link\n%s", d)
	}
}

func TestMachineAlignmentOfAnOpenFile(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	mem, off, ok := DirectAlign(int(f.Fd()))
	if !ok {
		t.Skipf("SKIP: this kernel or file system does not say (STATX_DIOALIGN); run with TMPDIR on ext4 or xfs and Linux 6.1 or later")
	}
	got := resolveHere(t, f.Name())
	if got.DirectMem != mem || got.DirectOffset != off {
		t.Errorf("Resolve says %d/%d, the open file %d/%d", got.DirectMem, got.DirectOffset, mem, off)
	}
	if _, _, ok := DirectAlign(-1); ok {
		t.Error("alignment of a file that is not open")
	}
}

func TestMachineCountersSeeAWrite(t *testing.T) {
	dir := t.TempDir()
	where := resolveHere(t, dir)
	if len(where.Leaves) == 0 {
		t.Skipf("SKIP: no disk below %s (%s); set TMPDIR to a folder on a disk", dir, where.Why)
	}
	if where.Type == "overlay" || where.Type == "btrfs" {
		t.Skipf("SKIP: %s may compress; set TMPDIR to a folder on ext4 or xfs", where.Type)
	}
	read := func() Counters {
		var sum Counters
		for _, leaf := range where.Leaves {
			c, err := Read(Roots{}, leaf)
			if err != nil {
				t.Fatal(err)
			}
			sum = sum.Add(c)
		}
		return sum
	}
	before := read()
	f, err := os.Create(filepath.Join(dir, "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const size = 256 << 10
	if _, err := f.Write(make([]byte, size)); err != nil {
		t.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	if d := read().Sub(before); d.WriteBytes < size || d.WriteIOs == 0 {
		t.Errorf("the disks wrote %d bytes in %d I/Os, want at least %d", d.WriteBytes, d.WriteIOs, size)
	}
}

func TestMachinePathsThatCannotBeResolved(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "absent")
	if _, err := Resolve(Roots{}, missing); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), missing) {
		t.Errorf("missing: err = %v, want fs.ErrNotExist and the path", err)
	}
	if _, err := Resolve(Roots{}, "/dev/null"); err == nil {
		t.Error("/dev/null is no place for a probe")
	}
	_, err := Resolve(Roots{Procfs: t.TempDir()}, t.TempDir())
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "--path.procfs") {
		t.Errorf("no procfs: err = %v, want fs.ErrNotExist and a word about --path.procfs", err)
	}
}

func TestMachineProcOfAnotherNamespace(t *testing.T) {
	// A procfs without "self", as a container sees the host's when process namespaces are not related.
	proc := t.TempDir()
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(proc, "1"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(proc, "1", "mountinfo"), table, 0o600); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	got, err := Resolve(Roots{Procfs: proc}, dir)
	if err != nil {
		t.Fatal(err)
	}
	if want := resolveHere(t, dir); got.Type != want.Type || got.MountPoint != want.MountPoint {
		t.Errorf("got %s at %s, want %s at %s", got.Type, got.MountPoint, want.Type, want.MountPoint)
	}
}

// shm is a fresh folder in memory.
func shm(t *testing.T) string {
	t.Helper()
	var st unix.Statfs_t
	if err := unix.Statfs("/dev/shm", &st); err != nil || st.Type != unix.TMPFS_MAGIC {
		t.Skip("SKIP: /dev/shm is no tmpfs here; mount -t tmpfs tmpfs /dev/shm")
	}
	dir, err := os.MkdirTemp("/dev/shm", "blockdev-test-")
	if err != nil {
		t.Skipf("SKIP: %v; chmod 1777 /dev/shm", err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func TestMachineTmpfsIsMemory(t *testing.T) {
	f := resolveHere(t, shm(t))
	if !f.Memory || len(f.Leaves) != 0 || f.DirectOffset != 0 || f.Type != "tmpfs" {
		t.Errorf("got %+v, want memory without leaves and without direct I/O", f)
	}
}

func requireRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("SKIP: mounting and loop devices need root; sudo go test ./blockdev/")
	}
}

// mountHere mounts for the time of the test.
func mountHere(t *testing.T, source, target, fsType, data string) {
	t.Helper()
	if err := os.MkdirAll(target, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount(source, target, fsType, 0, data); err != nil {
		t.Skipf("SKIP: this machine does not let a test mount %s (%v); run it with CAP_SYS_ADMIN and the kernel module", fsType, err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(target, unix.MNT_DETACH); err != nil {
			t.Errorf("unmounting %s: %v", target, err)
		}
	})
}

func TestMachineOverlay(t *testing.T) {
	requireRoot(t)
	for _, tc := range []struct {
		story string
		base  func(*testing.T) string
	}{
		{"upper folder in the temporary folder", func(t *testing.T) string { return t.TempDir() }},
		{"upper folder in memory", shm},
	} {
		t.Run(tc.story, func(t *testing.T) {
			base := tc.base(t)
			for _, d := range []string{"lower", "up,per dir", "work"} {
				if err := os.Mkdir(filepath.Join(base, d), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			merged := filepath.Join(t.TempDir(), "merged dir")
			mountHere(t, "overlay", merged, "overlay",
				"lowerdir="+base+"/lower,upperdir="+base+`/up\,per dir,workdir=`+base+"/work")
			want, got := resolveHere(t, base), resolveHere(t, merged)
			if got.Type != "overlay" || got.MountPoint != merged {
				t.Errorf("got %s at %s", got.Type, got.MountPoint)
			}
			if d := cmp.Diff(want.Leaves, got.Leaves); d != "" {
				t.Errorf("leaves: -upper +overlay\n%s", d)
			}
			if got.Memory != want.Memory {
				t.Errorf("memory = %v, want %v", got.Memory, want.Memory)
			}
		})
	}
}

// loopDevice attaches a sparse file for the time of the test.
func loopDevice(t *testing.T, file string, bytes int64) string {
	t.Helper()
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(bytes); err != nil {
		t.Fatal(err)
	}
	ctl, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("SKIP: no loop devices here: %v; modprobe loop", err)
	}
	defer ctl.Close()
	for range 20 {
		n, err := unix.IoctlRetInt(int(ctl.Fd()), unix.LOOP_CTL_GET_FREE)
		if err != nil {
			t.Skipf("SKIP: no free loop device: %v; modprobe loop", err)
		}
		node := "/dev/loop" + itoa(n)
		dev, err := os.OpenFile(node, os.O_RDWR, 0)
		if err != nil {
			t.Skipf("SKIP: %v; run outside of a container", err)
		}
		err = unix.IoctlSetInt(int(dev.Fd()), unix.LOOP_SET_FD, int(f.Fd()))
		if errors.Is(err, unix.EBUSY) { // someone else was faster
			dev.Close()
			continue
		}
		if err != nil {
			dev.Close()
			t.Fatalf("attaching %s: %v", node, err)
		}
		t.Cleanup(func() {
			if err := unix.IoctlSetInt(int(dev.Fd()), unix.LOOP_CLR_FD, 0); err != nil {
				t.Errorf("detaching %s: %v", node, err)
			}
			dev.Close()
		})
		return node
	}
	t.Skip("SKIP: all loop devices are taken; losetup -D")
	return ""
}

func TestMachineLoopDevices(t *testing.T) {
	requireRoot(t)
	t.Run("on a file system", func(t *testing.T) {
		dir := t.TempDir()
		node := loopDevice(t, filepath.Join(dir, "disk image"), 1<<20)
		want, got := resolveHere(t, dir), resolveHere(t, node)
		if d := cmp.Diff(want.Leaves, got.Leaves); d != "" {
			t.Errorf("leaves: -folder +loop\n%s", d)
		}
		if d := cmp.Diff(append([]string{filepath.Base(node)}, want.Stack...), got.Stack); d != "" {
			t.Errorf("stack: -want +got\n%s", d)
		}
		if got.SizeBytes != 1<<20 || got.Source != node || got.Type != "" {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("in memory", func(t *testing.T) {
		got := resolveHere(t, loopDevice(t, filepath.Join(shm(t), "img"), 1<<20))
		if !got.Memory || len(got.Leaves) != 0 {
			t.Errorf("got %+v, want memory", got)
		}
	})
	t.Run("file deleted", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "img")
		node := loopDevice(t, file, 1<<20)
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		got := resolveHere(t, node)
		if len(got.Leaves) != 0 || !strings.Contains(got.Why, "not visible") {
			t.Errorf("leaves %v, why %q; want none and the reason", got.Leaves, got.Why)
		}
	})
}

func TestMachineBtrfsOnTwoDevices(t *testing.T) {
	requireRoot(t)
	mkfs, err := exec.LookPath("mkfs.btrfs")
	if err != nil {
		t.Skip("SKIP: no mkfs.btrfs; apt-get install btrfs-progs")
	}
	dir := t.TempDir()
	a := loopDevice(t, filepath.Join(dir, "a"), 128<<20)
	b := loopDevice(t, filepath.Join(dir, "b"), 128<<20)
	if out, err := exec.Command(mkfs, "-q", "-f", "-m", "raid1", "-d", "raid1", a, b).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	mnt := filepath.Join(t.TempDir(), "vol")
	mountHere(t, a, mnt, "btrfs", "device="+a+",device="+b)
	got, want := resolveHere(t, mnt), resolveHere(t, dir)
	if d := cmp.Diff(want.Leaves, got.Leaves); d != "" {
		t.Errorf("leaves: -want +got\n%s", d)
	}
	for _, node := range []string{a, b} {
		if !slices.Contains(got.Stack, filepath.Base(node)) {
			t.Errorf("stack %v lacks %s", got.Stack, node)
		}
	}
	if got.Type != "btrfs" || got.MountPoint != mnt || len(want.Leaves) > 0 && got.DirectOffset != 4096 {
		t.Errorf("got %+v, want btrfs at %s with blocks of 4096", got, mnt)
	}
}
