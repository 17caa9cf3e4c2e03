package rig

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// Root is the folder of the product's checkout.
func Root(t testing.TB) string {
	t.Helper()
	_, file, _, ok := runtime.Caller(0)
	if !ok {
		t.Fatal("cannot tell where the test's source lies")
	}
	return filepath.Dir(filepath.Dir(filepath.Dir(file)))
}

// Build builds the product once for all tests of a package.
type Build struct {
	once sync.Once
	path string
	out  []byte
	err  error
}

// Binary is the path of the built product.
func (b *Build) Binary(t testing.TB) string {
	t.Helper()
	b.once.Do(func() {
		dir, err := os.MkdirTemp("", "ssd_exporter-build-")
		if err != nil {
			b.err = err
			return
		}
		b.path = filepath.Join(dir, "ssd_exporter")
		cmd := exec.Command("go", "build", "-o", b.path, "./cmd/ssd_exporter")
		cmd.Dir = Root(t)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		b.out, b.err = cmd.CombinedOutput()
	})
	if b.err != nil {
		t.Fatalf("building ssd_exporter: %v\n%s", b.err, b.out)
	}
	return b.path
}

// Close removes what was built.
func (b *Build) Close() {
	if b.path != "" {
		_ = os.RemoveAll(filepath.Dir(b.path))
	}
}

// Need finds a program or skips the test loudly.
func Need(t testing.TB, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		t.Skipf("SKIPPED: %s is not installed; `make test-deps` (Debian, root) brings it", program)
	}
	return path
}

// DiskDir is a fresh folder that lies on a disk, not in RAM; it is removed at the end of the test.
func DiskDir(t testing.TB) string {
	t.Helper()
	for _, base := range []string{os.TempDir(), "/var/tmp", Root(t)} {
		var st unix.Statfs_t
		if unix.Statfs(base, &st) != nil || st.Type == unix.TMPFS_MAGIC || st.Type == unix.RAMFS_MAGIC {
			continue
		}
		dir, err := os.MkdirTemp(base, "ssd_exporter-test-")
		if err != nil {
			continue
		}
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		return dir
	}
	t.Skip("SKIPPED: no writable folder on a disk (all are in RAM): set TMPDIR to one")
	return ""
}
