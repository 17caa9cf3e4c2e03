package uring

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ringOn makes a ring on a new file, on a locked thread, and skips where io_uring is forbidden.
func ringOn(t *testing.T, entries int) (*Ring, *os.File) {
	t.Helper()
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	r, err := New(entries, int(f.Fd()))
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSYS) {
		t.Skipf("%v: see `sysctl kernel.io_uring_disabled`, or run outside of the container", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r, f
}

// pages maps memory that is not on the Go heap.
func pages(t *testing.T, n int) []byte {
	t.Helper()
	mem, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANONYMOUS|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(mem) })
	return mem
}

// waitFor reaps n completions by their user data.
func waitFor(t *testing.T, r *Ring, n int) map[uint64]int32 {
	t.Helper()
	got := map[uint64]int32{}
	into := make([]Completion, 2) // fewer than there may be
	for deadline := time.Now().Add(10 * time.Second); len(got) < n; {
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d completions: %v", len(got), n, got)
		}
		if err := r.SubmitAndWait(50 * time.Millisecond); err != nil {
			t.Fatal(err)
		}
		for k := r.Reap(into); k > 0; k = r.Reap(into) {
			for _, c := range into[:k] {
				got[c.UserData] = c.Res
			}
		}
	}
	return got
}

func TestWritesAreReadBack(t *testing.T) {
	for name, registered := range map[string]bool{"plain": false, "registered": true} {
		t.Run(name, func(t *testing.T) {
			r, _ := ringOn(t, 8)
			mem := pages(t, 16*4096)
			if registered {
				if err := errors.Join(r.RegisterBuffers(mem), r.RegisterFile(), r.RegisterRing()); err != nil {
					t.Skipf("%v: raise `ulimit -l`", err)
				}
			}
			for i := range 8 {
				block := mem[i*4096:][:4096]
				copy(block, bytes.Repeat([]byte{byte('a' + i)}, 4096))
				if !r.Write(block, int64(i)*4096, uint64(i)) {
					t.Fatalf("write %d found no room in a queue of 8", i)
				}
			}
			if r.Write(mem[:4096], 0, 99) {
				t.Error("a ninth entry fits a queue of 8")
			}
			for i, res := range waitFor(t, r, 8) {
				if res != 4096 {
					t.Errorf("write %d: %d", i, res)
				}
			}
			for i := range 8 {
				r.Read(mem[(8+i)*4096:][:4096], int64(7-i)*4096, uint64(i))
				if err := r.Submit(); err != nil {
					t.Fatal(err)
				}
			}
			waitFor(t, r, 8)
			for i := range 8 {
				if got, want := mem[(8+i)*4096+17], byte('a'+7-i); got != want {
					t.Errorf("block %d holds %q, want %q", 7-i, got, want)
				}
			}
		})
	}
}

func TestErrorsAndShortReadsComeBackAsTheKernelSaysThem(t *testing.T) {
	r, f := ringOn(t, 4)
	if _, err := f.Write(make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	mem := pages(t, 8192)
	if err := unix.Mprotect(mem[4096:], unix.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	r.Read(mem[:4096], 0, 1)     // 100 bytes are there
	r.Read(mem[:4096], 1<<20, 2) // none there
	r.Read(mem[4096:], 0, 3)     // not to be written to
	got := waitFor(t, r, 3)
	if got[1] != 100 || got[2] != 0 || got[3] != -int32(unix.EFAULT) {
		t.Errorf("results %v, want 100, 0 and -EFAULT", got)
	}
}

func TestAWaitEndsWithItsTime(t *testing.T) {
	r, _ := ringOn(t, 1)
	for _, blocking := range []bool{false, true} {
		r.SetBlocking(blocking)
		start := time.Now()
		if err := r.SubmitAndWait(20 * time.Millisecond); err != nil {
			t.Errorf("a wait without completions is no error: %v", err)
		}
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("a wait of 20 ms took %v", took)
		}
	}
	if err := r.SubmitAndWait(0); err != nil {
		t.Errorf("a look without completions: %v", err)
	}
	if n := r.Reap(make([]Completion, 1)); n != 0 {
		t.Errorf("%d completions of nothing", n)
	}
}

func TestTheQueueGoesRound(t *testing.T) {
	r, f := ringOn(t, 4)
	if err := f.Truncate(1 << 20); err != nil {
		t.Fatal(err)
	}
	mem := pages(t, 4096)
	for i := range 1000 {
		r.Read(mem, int64(i%256)*4096, uint64(i))
		if got := waitFor(t, r, 1); got[uint64(i)] != 4096 {
			t.Fatalf("read %d: %v", i, got)
		}
	}
}

func TestNothingIsAllocatedPerIO(t *testing.T) {
	r, f := ringOn(t, 4)
	if err := f.Truncate(1 << 20); err != nil {
		t.Fatal(err)
	}
	mem := pages(t, 4096)
	into := make([]Completion, 4)
	if n := testing.AllocsPerRun(200, func() {
		r.Read(mem, 0, 1)
		for r.Reap(into) == 0 {
			_ = r.SubmitAndWait(time.Second)
		}
	}); n != 0 {
		t.Errorf("%v allocations per I/O", n)
	}
}

func TestImpossibleSizesAreRefused(t *testing.T) {
	for _, entries := range []int{-1, 0, maxEntries + 1} {
		if r, err := New(entries, 0); !errors.Is(err, unix.EINVAL) {
			t.Errorf("%d entries: ring %v, error %v", entries, r, err)
		}
	}
}

func TestTheKernelsStructuresHaveTheirSizes(t *testing.T) {
	sizes := map[string][2]uintptr{
		"params":  {unsafe.Sizeof(params{}), 120},
		"sqe":     {unsafe.Sizeof(sqe{}), 64},
		"cqe":     {unsafe.Sizeof(cqe{}), 16},
		"waitArg": {unsafe.Offsetof(waitArg{}.timeout), 24},
		"update":  {unsafe.Sizeof(ringUpdate{}), 16},
	}
	for name, s := range sizes {
		if s[0] != s[1] {
			t.Errorf("%s has %d bytes, the kernel's has %d", name, s[0], s[1])
		}
	}
}
