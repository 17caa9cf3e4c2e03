package worker

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ssd_exporter/blockdev"
	"ssd_exporter/engine"
)

func TestTheLifeOfAProbeFile(t *testing.T) {
	dir := diskDir(t)
	r := do(t, Request{Dir: dir, Inspect: true})
	if r.Filesystem == nil || r.Filesystem.Type == "" || r.Filesystem.FreeBytes == 0 || r.File != nil {
		t.Fatalf("before: %+v of %+v", r.File, r.Filesystem)
	}
	fails(t, reads(dir, engine.Limits{MaxIOs: 10, MaxTime: time.Second}), Missing)

	r = do(t, prepare(dir))
	if r.File == nil || !r.File.Filled || r.File.Written != testSize || r.Filesystem == nil {
		t.Fatalf("prepared: %+v", r.File)
	}
	r = do(t, Request{Dir: dir, Inspect: true})
	if r.File == nil || !r.File.Filled || r.File.Size != testSize {
		t.Fatalf("inspected: %+v", r.File)
	}
	r = do(t, reads(dir, engine.Limits{MaxIOs: 200, MaxTime: 10 * time.Second}))
	if r.Result == nil || r.Result.Ops[engine.Read].IOs != 200 || r.Result.IOPS(engine.Read) <= 0 || r.File == nil {
		t.Fatalf("read: %+v", r.Result)
	}
	if h := r.Result.Ops[engine.Read].Response; h.Count() != 200 || h.Max() <= 0 {
		t.Errorf("the histogram did not cross the border: %d values up to %v", h.Count(), h.Max())
	}
	if p := r.Result.Fingerprint.IOPrio; p != "idle" {
		t.Errorf("the I/O priority was %q", p)
	}
	r = do(t, writes(dir))
	if r.Result == nil || r.Result.Ops[engine.Write].IOs != 100 || r.Result.Written != 100*4096 {
		t.Fatalf("written: %+v", r.Result)
	}
	do(t, Request{Dir: dir, Remove: true})
	if es, err := os.ReadDir(dir); err != nil || len(es) > 0 {
		t.Errorf("left: %v, %v", es, err)
	}
	fails(t, Request{Dir: dir, Remove: true}, Missing)
}

func TestWhatCannotBeDoneHasItsKindAndAdvice(t *testing.T) {
	dir := diskDir(t)
	file := filepath.Join(dir, "file")
	must(t, os.WriteFile(file, []byte("x"), 0o600))
	for _, c := range []struct {
		name  string
		r     Request
		kind  Kind
		says  string
		errno string
	}{
		{"a folder that is not there", Request{Dir: dir + "/none", Inspect: true}, Missing, "create the folder", "ENOENT"},
		{"a probe file that is not there", reads(dir, engine.Limits{MaxIOs: 1, MaxTime: time.Second}), Missing, "prepare", "ENOENT"},
		{"a file in place of a folder", Request{Dir: file, Inspect: true}, Unsupported, file, ""},
		{"a path through a file", Request{Dir: file + "/x", Inspect: true}, Missing, file, "ENOTDIR"},
		{"a character device", Request{Dir: "/dev/null", Inspect: true}, Unsupported, "/dev/null", ""},
		{"a workload that makes no sense", Request{Dir: dir, Run: &Run{Workload: engine.Workload{Name: "empty"}}}, Internal, "empty", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := fails(t, c.r, c.kind)
			if !strings.Contains(e.Message, c.says) || e.Errno != c.errno {
				t.Errorf("message %q, errno %q; want %q and %q", e.Message, e.Errno, c.says, c.errno)
			}
		})
	}
}

func TestMemoryIsNotADisk(t *testing.T) {
	fs, err := blockdev.Resolve(blockdev.Roots{}, "/dev/shm")
	if err != nil || !fs.Memory {
		t.Skipf("/dev/shm is no tmpfs here: mount one there (%v)", err)
	}
	dir, err := os.MkdirTemp("/dev/shm", "worker-test-")
	if err != nil {
		t.Skipf("/dev/shm is not writable: %v; chmod 1777 it", err)
	}
	defer os.RemoveAll(dir)
	if e := fails(t, prepare(dir), Unsupported); !strings.Contains(e.Message, "memory") || !strings.Contains(e.Message, dir) {
		t.Errorf("message %q", e.Message)
	}
}

func TestARequestThatAsksForNothingOrTwoThingsIsRefusedAtOnce(t *testing.T) {
	for _, r := range []Request{
		{Dir: "/"}, {Inspect: true}, {Dir: "/", Inspect: true, Remove: true},
	} {
		if _, err := Start(t.Context(), r); err == nil {
			t.Errorf("%+v was accepted", r)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Start(ctx, Request{Dir: "/", Inspect: true}); !errors.Is(err, context.Canceled) {
		t.Errorf("started under a cancelled context: %v", err)
	}
}

func TestAWorkerStartsNoWorker(t *testing.T) {
	t.Setenv(markerEnv, stageServe)
	if _, err := Start(t.Context(), Request{Dir: "/", Inspect: true}); !errors.Is(err, ErrNested) {
		t.Errorf("%v, want ErrNested", err)
	}
}

func TestTheChildIsConfined(t *testing.T) {
	w := start(t, slowFill(diskDir(t)))
	reach(t, w, "fill")
	for limit, want := range map[string]string{
		"Max file size":      "8388608 8388608 bytes",
		"Max core file size": "0 0 bytes",
	} {
		if got := procField(t, proc(w.PID(), "limits"), limit); got != want {
			t.Errorf("%s is %q, want %q", limit, got, want)
		}
	}
	tasks, err := os.ReadDir(proc(w.PID(), "task"))
	must(t, err)
	if len(tasks) < 2 {
		t.Errorf("%d threads", len(tasks))
	}
	for _, task := range tasks {
		if got := procField(t, proc(w.PID(), "task", task.Name(), "status"), "NoNewPrivs:"); got != "1" {
			t.Errorf("thread %s: NoNewPrivs %q", task.Name(), got)
		}
		tid, err := strconv.Atoi(task.Name())
		must(t, err)
		prio, _, errno := unix.Syscall(unix.SYS_IOPRIO_GET, 1, uintptr(tid), 0)
		if errno != 0 || prio>>13 != 3 {
			t.Errorf("thread %s: I/O priority class %d (%v), want 3, idle", task.Name(), prio>>13, errno)
		}
	}
	env, err := os.ReadFile(proc(w.PID(), "environ"))
	must(t, err)
	for v := range strings.SplitSeq(strings.TrimRight(string(env), "\x00"), "\x00") {
		name, _, _ := strings.Cut(v, "=")
		switch name {
		case markerEnv, "GORACE", "GOGC", "GOMEMLIMIT", "GOCOVERDIR", "GODEBUG", "GOTRACEBACK", "TZ":
		default:
			t.Errorf("the child inherited %s", name)
		}
	}
}

func TestAbortEndsAFillThatCanBeContinued(t *testing.T) {
	dir := diskDir(t)
	w := start(t, slowFill(dir))
	b := reach(t, w, "fill")
	if b.Total != testSize || b.Written != b.Done { // nothing was there before, and all that is there must be charged
		t.Errorf("beat %+v", b)
	}
	w.Abort()
	r := final(t, w)
	if kindOf(r) == Aborted && (!strings.Contains(r.Error.Message, errAborted.Error()) || strings.Contains(r.Error.Message, "context")) {
		t.Errorf("message %q", r.Error.Message)
	}
	if kindOf(r) != Aborted || r.File == nil || r.File.Filled || r.File.Written == 0 || r.File.Position != r.File.Written {
		t.Fatalf("%v, %+v", r.Error, r.File)
	}
	gone(t, w)
	again := do(t, prepare(dir))
	if !again.File.Filled || again.File.Written != testSize-r.File.Position {
		t.Errorf("continued: %+v", again.File)
	}
}

func TestAbortEndsARunWithWhatItHas(t *testing.T) {
	dir := diskDir(t)
	do(t, prepare(dir))
	for name, stop := range map[string]func(*Worker){
		"Abort":   (*Worker).Abort,
		"SIGTERM": func(w *Worker) { must(t, unix.Kill(w.PID(), unix.SIGTERM)) },
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t, reads(dir, engine.Limits{MaxTime: time.Minute}))
			reach(t, w, "run")
			stop(w)
			r := final(t, w)
			if kindOf(r) != Aborted || r.Result == nil || r.Result.Ops[engine.Read].IOs == 0 || r.Result.Stopped != engine.StoppedCancelled {
				t.Errorf("%v, %+v", r.Error, r.Result)
			}
			gone(t, w)
		})
	}
}

func TestTheEndOfTheContextEndsTheChild(t *testing.T) {
	dir := diskDir(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	beats := 0
	r, err := Do(ctx, slowFill(dir), func(b Beat) {
		beats++
		if b.Phase == "fill" {
			cancel()
		}
	})
	if kindOf(r) != Aborted || err == nil || beats == 0 {
		t.Errorf("%v after %d beats", err, beats)
	}
}

func TestARawDiskIsReadAndNothingElse(t *testing.T) {
	loop, image := attach(t, testSize, true)
	if r := do(t, Request{Dir: loop, Inspect: true}); r.Filesystem == nil || r.File != nil {
		t.Errorf("inspected: %+v", r)
	}
	r := do(t, reads(loop, engine.Limits{MaxIOs: 50, MaxTime: 10 * time.Second}))
	if r.Result == nil || r.Result.Ops[engine.Read].IOs != 50 {
		t.Errorf("read: %+v", r.Result)
	}
	for _, req := range []Request{writes(loop), prepare(loop), {Dir: loop, Remove: true}} {
		fails(t, req, Unsupported)
	}
	if b, err := os.ReadFile(image); err != nil || len(b) != testSize || strings.Trim(string(b), "\x00") != "" {
		t.Errorf("the disk was changed (%v)", err)
	}
}

func TestALoopDeviceThatGoesThroughThePageCacheIsNotProbed(t *testing.T) {
	loop, _ := attach(t, 320<<20, false)
	if dio, err := os.ReadFile("/sys/block/" + filepath.Base(loop) + "/loop/dio"); err != nil || strings.TrimSpace(string(dio)) != "0" {
		t.Skipf("this kernel does direct I/O whatever it is told (%q, %v)", dio, err)
	}
	dir := mounted(t, loop)
	for _, r := range []Request{{Dir: dir, Inspect: true}, prepare(dir), {Dir: loop, Inspect: true}, reads(loop, engine.Limits{MaxIOs: 50, MaxTime: time.Second})} {
		if e := fails(t, r, Unsupported); !strings.Contains(e.Message, "losetup --direct-io=on "+loop) {
			t.Errorf("message %q", e.Message)
		}
	}
	// A file that was made before the device was changed must not be read any longer, and can still be removed.
	direct := func(how string) {
		if out, err := exec.Command("losetup", "--direct-io="+how, loop).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	direct("on")
	do(t, prepare(dir))
	direct("off")
	fails(t, reads(dir, engine.Limits{MaxIOs: 50, MaxTime: time.Second}), Unsupported)
	fails(t, writes(dir), Unsupported)
	do(t, Request{Dir: dir, Remove: true})
}

func TestForeignIOEndsARun(t *testing.T) {
	dir := diskDir(t)
	prepared := do(t, prepare(dir))
	if len(prepared.Filesystem.Leaves) == 0 {
		t.Skipf("the disk below %s is not known: %s; set TMPDIR to a folder on a disk", dir, prepared.Filesystem.Why)
	}
	other := filepath.Join(dir, "other")
	must(t, os.WriteFile(other, make([]byte, 1<<20), 0o600))
	fd, err := unix.Open(other, unix.O_RDWR|unix.O_DIRECT, 0)
	must(t, err)
	defer unix.Close(fd)
	buf, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	must(t, err)
	defer func() { must(t, unix.Munmap(buf)) }()

	r := reads(dir, engine.Limits{MaxTime: 20 * time.Second})
	r.Run.Abort = AbortRule{ForeignIOPS: 50}
	w := start(t, r)
	reach(t, w, "run")
	stop := make(chan struct{})
	go func() {
		defer close(stop)
		for i := 0; ; i++ {
			select {
			case <-w.answer:
				return
			default:
			}
			if _, err := unix.Pread(fd, buf, int64(i%256)*4096); err != nil {
				t.Errorf("foreign I/O: %v", err)
				return
			}
		}
	}()
	reply := final(t, w)
	<-stop
	if kindOf(reply) != ForeignIO || reply.Result == nil || reply.Result.Stopped != engine.StoppedCancelled {
		t.Errorf("%v, %+v", reply.Error, reply.Result)
	}
}
