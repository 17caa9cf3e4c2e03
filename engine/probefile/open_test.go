package probefile

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"ssd_exporter/blockdev"
)

func flagsOf(t *testing.T, fd int) int {
	t.Helper()
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	must(t, err)
	return flags
}

func TestOpenGivesATargetForDirectIO(t *testing.T) {
	dir := prepared(t)
	fsys := roomy()
	fsys.Leaves = []string{"sdz"}
	for _, write := range []bool{false, true} {
		f, err := Open(dir, write, fsys)
		must(t, err)
		target := f.Target()
		mode := unix.O_RDONLY
		if write {
			mode = unix.O_RDWR
		}
		flags := flagsOf(t, target.FD)
		if flags&unix.O_ACCMODE != mode || flags&unix.O_DIRECT == 0 {
			t.Errorf("write %v: flags %#x", write, flags)
		}
		if target.Writable != write || target.Size != testSize || target.Codec != nil || target.Filesystem.Leaves[0] != "sdz" {
			t.Errorf("write %v: target %+v", write, target)
		}
		if a := target.OffsetAlign; a < 1 || a > 4096 || a&(a-1) != 0 || target.MemAlign < 1 {
			t.Errorf("alignment %d and %d", target.MemAlign, target.OffsetAlign)
		}
		if !f.State().Filled || f.State().UUID == "" {
			t.Errorf("state %+v", f.State())
		}
		must(t, f.Close())
		if _, err := unix.FcntlInt(uintptr(target.FD), unix.F_GETFD, 0); !errors.Is(err, unix.EBADF) {
			t.Errorf("the descriptor is still open: %v", err)
		}
	}
}

func TestOpenToWriteHoldsTheFloor(t *testing.T) {
	dir := prepared(t)
	full := roomy()
	full.FreeBytes = full.SizeBytes/50 - 1
	var s *SpaceError
	if _, err := Open(dir, true, full); !errors.As(err, &s) || s.Need != full.SizeBytes/50 {
		t.Errorf("%v, want a SpaceError", err)
	}
	f, err := Open(dir, false, full)
	if err != nil {
		t.Fatalf("reading needs no space: %v", err)
	}
	must(t, f.Close())
}

func TestOpenWithoutAProbeFileIsNotExist(t *testing.T) {
	dir := t.TempDir()
	for name, err := range map[string]error{
		"Open":   second(Open(dir, true, roomy())),
		"Stat":   second(Stat(dir)),
		"Remove": Remove(dir),
	} {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v, want fs.ErrNotExist", name, err)
		}
	}
	if es, _ := os.ReadDir(dir); len(es) > 0 {
		t.Errorf("they left %v", es)
	}
	memory := blockdev.Filesystem{Type: "tmpfs", Memory: true}
	if _, err := Open(prepared(t), false, memory); !errors.Is(err, ErrUnsupported) {
		t.Errorf("in memory: %v, want ErrUnsupported", err)
	}
}

func TestRemoveLeavesNothing(t *testing.T) {
	dir := prepared(t)
	writeFile(t, path(dir, tempName), "left by a crash")
	must(t, Remove(dir))
	if es, _ := os.ReadDir(dir); len(es) > 0 {
		t.Errorf("it left %v", es)
	}
}

func TestRemoveRefusesAFolderWithOtherFiles(t *testing.T) {
	dir := prepared(t)
	writeFile(t, path(dir, "thesis.tex"), "precious")
	if reason, ok := isRefused(Remove(dir)); !ok || !strings.Contains(reason, "thesis.tex") {
		t.Errorf("reason %q", reason)
	}
	mustBeFilled(t, dir)
	must(t, os.Remove(path(dir, "thesis.tex")))
	must(t, Remove(dir))
}

func TestOpenRawRefusesEverythingButBlockDevices(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, dir+"/file", "x")
	must(t, unix.Mkfifo(dir+"/fifo", 0o600))
	must(t, os.Symlink(dir+"/file", dir+"/link"))
	for _, p := range []string{dir, dir + "/file", dir + "/fifo", dir + "/link", "/dev/null"} {
		if reason, ok := isRefused(second(OpenRaw(p, roomy()))); !ok || reason != "not a block device" {
			t.Errorf("%s: reason %q", p, reason)
		}
	}
	if _, err := OpenRaw(dir+"/none", roomy()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing path: %v", err)
	}
}

func TestARawDiskCannotBeWritten(t *testing.T) {
	needRoot(t)
	image := filepath.Join(diskDir(t), "image")
	content := bytes.Repeat([]byte("precious"), testSize/8)
	must(t, os.WriteFile(image, content, 0o600))
	out, err := exec.Command("losetup", "--find", "--show", image).CombinedOutput()
	if err != nil {
		t.Skipf("no loop devices here: run as root outside of a container, with util-linux (%v: %s)", err, out)
	}
	loop := strings.TrimSpace(string(out))
	t.Cleanup(func() {
		if out, err := exec.Command("losetup", "--detach", loop).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	link := t.TempDir() + "/by-id"
	must(t, os.Symlink(loop, link))
	software := roomy()
	software.Leaves, software.Software = nil, true
	if _, err := OpenRaw(link, software); !errors.Is(err, ErrUnsupported) {
		t.Errorf("with unknown disks below it: %v, want ErrUnsupported", err)
	}
	f, err := OpenRaw(link, roomy())
	must(t, err)
	defer f.Close()
	target := f.Target()
	if target.Writable || target.Size != testSize || f.State().Size != testSize {
		t.Errorf("target %+v, state %+v", target, f.State())
	}
	if flags := flagsOf(t, target.FD); flags&unix.O_ACCMODE != unix.O_RDONLY || flags&unix.O_DIRECT == 0 {
		t.Errorf("flags %#x", flags)
	}
	buf, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	must(t, err)
	defer func() { must(t, unix.Munmap(buf)) }()
	if n, err := unix.Pread(target.FD, buf, 4096); n != 4096 || !bytes.Equal(buf, content[:4096]) {
		t.Errorf("reading gave %d bytes, %v", n, err)
	}
	if _, err := unix.Pwrite(target.FD, buf, 0); !errors.Is(err, unix.EBADF) {
		t.Errorf("writing gave %v, want EBADF", err)
	}
}

func TestWhatMightBeMemoryIsNeitherFilledNorMeasured(t *testing.T) {
	// As of an overlay on tmpfs whose upper folder is not visible from here.
	unknown := blockdev.Filesystem{Type: "overlay", Why: "its upper folder is not visible from here", FreeBytes: 1 << 40, SizeBytes: 1 << 40}
	dir := mounted(t, "tmpfs", 32)
	st, err := Prepare(context.Background(), spec(dir), unknown, nil)
	if !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), unknown.Why) || st.Written != 0 {
		t.Errorf("Prepare: %d bytes written, %v; want none and ErrUnsupported", st.Written, err)
	}
	if _, err := Prepare(context.Background(), spec(dir), roomy(), nil); err != nil { // as if the disks were known
		t.Fatal(err)
	}
	if _, err := Open(dir, false, unknown); !errors.Is(err, ErrUnsupported) {
		t.Errorf("Open: %v, want ErrUnsupported", err)
	}
	must(t, Remove(dir))
}

func TestDirectIOOnADeviceOfSoftwareProvesNothing(t *testing.T) {
	dir := prepared(t)
	fsys := roomy()
	fsys.Leaves, fsys.Stack, fsys.Why, fsys.Software = nil, []string{"zd0"}, "zd0 is made by software that does not tell where its data is", true
	if _, err := Open(dir, false, fsys); !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), fsys.Why) {
		t.Errorf("on a ZFS volume: %v, want ErrUnsupported and why", err)
	}
	fsys.Leaves = []string{"sda"} // counters of its own will tell
	f, err := Open(dir, false, fsys)
	must(t, err)
	must(t, f.Close())
}
