package engine

import (
	"bytes"
	"compress/flate"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"ssd_exporter/blockdev"
)

// watched is everything that went through the backends of a run.
type watched struct {
	mu      sync.Mutex
	ios     []watchedIO
	flying  map[*watcher]map[int]watchedIO
	overlap string
	content bool // keep what is written
}

type watchedIO struct {
	op   Op
	off  int64
	size int
	data []byte
}

// watcher stands between a lane and its backend.
type watcher struct {
	backend
	all *watched
}

func (w *watcher) queue(slot int, op Op, off int64, buf []byte) {
	a := w.all
	a.mu.Lock()
	io := watchedIO{op: op, off: off, size: len(buf)}
	if a.content && op == Write {
		io.data = bytes.Clone(buf)
	}
	for _, lane := range a.flying {
		for _, o := range lane {
			if io.off < o.off+int64(o.size) && o.off < io.off+int64(io.size) && (io.op == Write || o.op == Write) {
				a.overlap = "two I/Os at one address at once"
			}
		}
	}
	a.ios = append(a.ios, io)
	if a.flying[w] == nil {
		a.flying[w] = make(map[int]watchedIO)
	}
	a.flying[w][slot] = io
	a.mu.Unlock()
	w.backend.queue(slot, op, off, buf)
}

func (w *watcher) reap(into []completion) int {
	n := w.backend.reap(into)
	w.all.mu.Lock()
	for _, c := range into[:n] {
		delete(w.all.flying[w], int(c.slot))
	}
	w.all.mu.Unlock()
	return n
}

// cancelling cancels once something has completed.
type cancelling struct {
	backend
	cancel func()
}

func (c *cancelling) reap(into []completion) int {
	n := c.backend.reap(into)
	if n > 0 {
		c.cancel()
	}
	return n
}

// lastWritten remembers what was written last, as a Codec does, and checks each read against it.
type lastWritten struct {
	mu     sync.Mutex
	blocks map[int64][]byte
	n      byte
	checks int
}

func (c *lastWritten) Stamp(block []byte, off int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
	for i := range block {
		block[i] = c.n ^ byte(i) ^ byte(off>>12)
	}
	c.blocks[off] = bytes.Clone(block)
}

func (c *lastWritten) Check(block []byte, off int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	want, ok := c.blocks[off]
	if !ok {
		return nil
	}
	c.checks++
	if !bytes.Equal(block, want) {
		return errors.New("not what was written")
	}
	return nil
}

// compressed is the size of deflated data over its own.
func compressed(t *testing.T, data []byte) float64 {
	t.Helper()
	var out bytes.Buffer
	z, err := flate.NewWriter(&out, flate.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := z.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return float64(out.Len()) / float64(len(data))
}

// written is the content of all writes, one behind the other.
func written(seen *watched) []byte {
	var data []byte
	for _, io := range seen.ios {
		data = append(data, io.data...)
	}
	return data
}

// realTarget is a fully written file on a disk, opened for direct I/O.
func realTarget(t testing.TB, size int64) Target {
	t.Helper()
	path := filepath.Join(t.TempDir(), "target")
	fs, err := blockdev.Resolve(blockdev.Roots{}, filepath.Dir(path))
	if err != nil {
		t.Fatalf("resolve %s: %v", path, err)
	}
	if fs.Memory {
		t.Skipf("%s lies in memory (%s): run with TMPDIR=DIR on a disk, as in `TMPDIR=/var/tmp go test ./engine/`", path, fs.Type)
	}
	data := make([]byte, size)
	for i := 0; i < len(data); i += 8 {
		x := draw(99, uint64(i))
		for k := range 8 {
			data[i+k] = byte(x >> (8 * k))
		}
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_DIRECT|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skipf("no direct I/O on %s (%s): %v; run with TMPDIR=DIR on ext4 or xfs", path, fs.Type, err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	if err := unix.Fsync(fd); err != nil {
		t.Fatal(err)
	}
	mem, off, ok := blockdev.DirectAlign(fd)
	if !ok {
		mem, off = 4096, 4096
	}
	return Target{FD: fd, Size: size, Writable: true, MemAlign: mem, OffsetAlign: off, Filesystem: fs}
}
