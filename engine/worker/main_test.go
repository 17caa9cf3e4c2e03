package worker

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"ssd_exporter/blockdev"
	"ssd_exporter/engine"
	"ssd_exporter/engine/probefile"
)

// parentEnv makes this test binary a parent that starts a slow fill of the folder it names, and waits to be killed.
const parentEnv = "WORKER_TEST_PARENT"

func TestMain(m *testing.M) {
	Hook()
	if dir := os.Getenv(parentEnv); dir != "" {
		w, err := Start(context.Background(), slowFill(dir))
		if err != nil {
			panic(err)
		}
		for r := range w.Replies() {
			if r.Beat != nil && r.Beat.Phase == "fill" {
				fmt.Println(w.PID())
			}
		}
		return
	}
	goleak.VerifyTestMain(m)
}

const testSize = 8 << 20

func prepare(dir string) Request {
	return Request{Dir: dir, Prepare: &probefile.Spec{Size: testSize, MinSize: testSize}}
}

// slowFill takes eight seconds.
func slowFill(dir string) Request {
	r := prepare(dir)
	r.Prepare.FillRate = 1 << 20
	return r
}

// reads is a run of 4 KiB reads, one at a time.
func reads(dir string, limits engine.Limits) Request {
	return Request{Dir: dir, Run: &Run{Workload: engine.Workload{
		Name:    "read_4k_q1",
		Streams: []engine.Stream{{BlockSize: 4096, ReadPermille: 1000}},
		Stop:    limits,
	}}}
}

// writes is a run of 4 KiB writes.
func writes(dir string) Request {
	return Request{Dir: dir, Run: &Run{Workload: engine.Workload{
		Name:    "write_4k_q2",
		Streams: []engine.Stream{{BlockSize: 4096, Depth: 2, Region: engine.Hot}},
		Stop:    engine.Limits{MaxIOs: 100, MaxTime: 10 * time.Second, MaxWriteBytes: 1 << 20},
	}}}
}

// diskDir is a temporary folder on a real disk.
func diskDir(t *testing.T) string {
	t.Helper()
	for _, parent := range []string{os.TempDir(), "."} {
		fs, err := blockdev.Resolve(blockdev.Roots{}, parent)
		if err != nil || fs.Memory || fs.Network || fs.FreeBytes < max(20*testSize, fs.SizeBytes/20) {
			continue
		}
		dir, err := os.MkdirTemp(parent, "worker-test-")
		if err != nil {
			continue
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		if dir, err = filepath.Abs(dir); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	t.Skip("neither TMPDIR nor the source folder is on a disk with space: run with TMPDIR=<a folder on a disk>")
	return ""
}

// attach makes a loop device of so many bytes, which does direct I/O on its file or goes through the page cache.
func attach(t *testing.T, bytes int64, direct bool) (loop, image string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: sudo go test ./engine/worker")
	}
	image = filepath.Join(diskDir(t), "image")
	must(t, os.WriteFile(image, nil, 0o600))
	must(t, os.Truncate(image, bytes))
	out, err := exec.Command("losetup", "--find", "--show", "--direct-io="+map[bool]string{true: "on", false: "off"}[direct], image).CombinedOutput()
	if err != nil {
		t.Skipf("no loop devices here: run as root outside of a container, with util-linux (%v: %s)", err, out)
	}
	loop = strings.TrimSpace(string(out))
	t.Cleanup(func() {
		if out, err := exec.Command("losetup", "--detach", loop).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	return loop, image
}

// loopDir is a fresh ext4 of its own.
func loopDir(t *testing.T) string {
	t.Helper()
	loop, _ := attach(t, 320<<20, true)
	return mounted(t, loop)
}

// mounted is a fresh ext4 on a loop device.
func mounted(t *testing.T, loop string) string {
	t.Helper()
	dir := t.TempDir()
	for _, c := range [][]string{{"mkfs.ext4", "-q", loop}, {"mount", "-t", "ext4", loop, dir}} {
		if out, err := exec.Command(c[0], c[1:]...).CombinedOutput(); err != nil {
			t.Skipf("no loop mounts here: run as root outside of a container, with e2fsprogs (%s: %v: %s)", c[0], err, out)
		}
	}
	t.Cleanup(func() {
		for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			err := unix.Unmount(dir, 0)
			if err == nil || time.Now().After(deadline) {
				must(t, err)
				return
			}
		}
	})
	return dir
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// do runs a request that must succeed.
func do(t *testing.T, r Request) Reply {
	t.Helper()
	reply, err := Do(t.Context(), r, nil)
	must(t, err)
	if !reply.Final {
		t.Fatalf("the last reply is not final: %+v", reply)
	}
	return reply
}

// fails runs a request that must fail with that kind.
func fails(t *testing.T, r Request, kind Kind) *Error {
	t.Helper()
	_, err := Do(t.Context(), r, nil)
	var e *Error
	if !errors.As(err, &e) || e.Kind != kind {
		t.Fatalf("%v, want kind %s", err, kind)
	}
	return e
}

func start(t *testing.T, r Request) *Worker {
	t.Helper()
	w, err := Start(t.Context(), r)
	must(t, err)
	t.Cleanup(func() {
		w.Kill()
		gone(t, w)
	})
	return w
}

// reach waits for a beat in a phase that has got somewhere.
func reach(t *testing.T, w *Worker, phase string) Beat {
	t.Helper()
	for r := range w.Replies() {
		if r.Final {
			t.Fatalf("the worker ended before phase %q: %+v, %v", phase, r, r.Error)
		}
		if r.Beat.Phase == phase && r.Beat.Done > 0 {
			return *r.Beat
		}
	}
	t.Fatalf("the replies ended before phase %q", phase)
	return Beat{}
}

// final waits for the last reply and for the end of Replies.
func final(t *testing.T, w *Worker) Reply {
	t.Helper()
	var last Reply
	limit := time.After(20 * time.Second)
	for {
		select {
		case r, ok := <-w.Replies():
			if !ok {
				if !last.Final {
					t.Fatalf("the last reply is not final: %+v", last)
				}
				return last
			}
			last = r
		case <-limit:
			t.Fatal("no final reply in 20 s")
		}
	}
}

func gone(t *testing.T, w *Worker) {
	t.Helper()
	select {
	case <-w.Done():
	case <-time.After(20 * time.Second):
		t.Fatalf("process %d is still there", w.PID())
	}
}

// kindOf is a reply's kind of failure, "" for none.
func kindOf(r Reply) Kind {
	if r.Error == nil {
		return ""
	}
	return r.Error.Kind
}

// procField reads a line of a file in /proc that begins with name.
func procField(t *testing.T, file, name string) string {
	t.Helper()
	f, err := os.Open(file)
	must(t, err)
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if rest, ok := strings.CutPrefix(s.Text(), name); ok {
			return strings.Join(strings.Fields(rest), " ")
		}
	}
	t.Fatalf("%s has no line %q", file, name)
	return ""
}

func proc(pid int, name ...string) string {
	return filepath.Join(append([]string{"/proc", strconv.Itoa(pid)}, name...)...)
}
