package probefile

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"ssd_exporter/blockdev"
)

const testSize = 8 << 20

// roomy is a file system with space for everything; what the tests write is small.
func roomy() blockdev.Filesystem {
	return blockdev.Filesystem{Type: "ext4", MountPoint: "/", Leaves: []string{"sda"}, FreeBytes: 1 << 40, SizeBytes: 1 << 40}
}

// diskDir is a temporary folder on a real disk.
func diskDir(t *testing.T) string {
	t.Helper()
	for _, parent := range []string{os.TempDir(), "."} {
		fs, err := blockdev.Resolve(blockdev.Roots{}, parent)
		if err != nil || fs.Memory || fs.Network {
			continue
		}
		dir, err := os.MkdirTemp(parent, "probefile-test-")
		if err != nil {
			continue
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		if dir, err = filepath.Abs(dir); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	t.Skip("neither TMPDIR nor the source folder is on a disk: run with TMPDIR=<a folder on a disk>")
	return ""
}

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: sudo go test ./engine/probefile")
	}
}

func spec(dir string) Spec { return Spec{Dir: dir, Size: testSize, MinSize: testSize} }

// prepared is a folder with a filled probe file.
func prepared(t *testing.T) string {
	t.Helper()
	dir := diskDir(t)
	if _, err := Prepare(context.Background(), spec(dir), roomy(), nil); err != nil {
		t.Fatal(err)
	}
	return dir
}

// path is a file in the probe folder of dir; the folder itself without name.
func path(dir string, name ...string) string {
	return filepath.Join(append([]string{dir, Folder}, name...)...)
}

func readRecordOf(t *testing.T, dir string) record {
	t.Helper()
	b, err := os.ReadFile(path(dir, RecordName))
	if err != nil {
		t.Fatal(err)
	}
	r, err := parseRecord(b)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func writeRecordOf(t *testing.T, dir string, r record) {
	t.Helper()
	b, err := encodeRecord(r)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, path(dir, RecordName), string(b))
}

func writeFile(t *testing.T, name, content string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// mustBeFilled opens the file for writing, which proves it.
func mustBeFilled(t *testing.T, dir string) {
	t.Helper()
	f, err := Open(dir, true, roomy())
	if err != nil {
		t.Fatal(err)
	}
	must(t, f.Close())
}

// mounted is a fresh file system of the given type in an image file (tmpfs: none), of so many MiB.
func mounted(t *testing.T, fstype string, mib int) string {
	t.Helper()
	needRoot(t)
	dir := t.TempDir()
	args := []string{"-t", fstype, "-o", "size=" + strconv.Itoa(mib) + "m", "tmpfs", dir}
	if fstype != "tmpfs" {
		mkfs, err := exec.LookPath("mkfs." + fstype)
		if err != nil {
			t.Skipf("no mkfs.%s: apt-get install xfsprogs btrfs-progs", fstype)
		}
		image := filepath.Join(diskDir(t), "image")
		writeFile(t, image, "")
		must(t, os.Truncate(image, int64(mib)<<20))
		if out, err := exec.Command(mkfs, "-q", image).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		args = []string{"-t", fstype, "-o", "loop", image, dir}
	}
	if out, err := exec.Command("mount", args...).CombinedOutput(); err != nil {
		t.Skipf("no mounting here: run as root outside of a container (mount: %v: %s)", err, out)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Errorf("unmounting %s: %v", dir, err)
		}
	})
	return dir
}

// isRefused says whether err is a refusal, and gives its reason.
func isRefused(err error) (string, bool) {
	if r, ok := errors.AsType[*RefusedError](err); ok {
		return r.Reason, r.Fix != "" && r.Path != ""
	}
	return "", false
}
