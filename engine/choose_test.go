package engine

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"ssd_exporter/blockdev"
)

func TestTheBackendIsChosenByTestAndSaysWhy(t *testing.T) {
	refuse := func(errnos map[Backend]syscall.Errno) opener {
		d := &fakeDisk{}
		return func(kind Backend, c backendConfig) (backend, error) {
			if errno, ok := errnos[kind]; ok {
				return nil, fmt.Errorf("set up: %w", errno)
			}
			return d.environment().open(kind, c)
		}
	}
	sync := mix(0, 1, Limits{MaxTime: time.Minute, MaxIOs: 100})
	sync.Streams[0].Sync = Fdatasync
	deep, shallow := reads(4, Limits{MaxTime: time.Minute, MaxIOs: 100}), reads(1, Limits{MaxTime: time.Minute, MaxIOs: 100})
	tests := map[string]struct {
		w       Workload
		ask     Backend
		blocks  bool // the target has no NOWAIT support
		errnos  map[Backend]syscall.Errno
		sysctl  string
		want    Backend
		why     string
		wantErr error
	}{
		"io_uring where all works":         {w: deep, want: URing, why: "best that works here"},
		"a sysctl forbids io_uring":        {w: deep, errnos: map[Backend]syscall.Errno{URing: unix.EPERM}, sysctl: "2", want: AIO, why: "uring does not work: set up: operation not permitted (kernel.io_uring_disabled = 2)"},
		"a container forbids io_uring":     {w: deep, errnos: map[Backend]syscall.Errno{URing: unix.EPERM}, sysctl: "0", want: AIO, why: "(probably a seccomp filter, as containers have)"},
		"an old kernel":                    {w: deep, errnos: map[Backend]syscall.Errno{URing: unix.ENOSYS}, want: AIO, why: "(not in this kernel, or a seccomp filter)"},
		"no memory may be locked":          {w: deep, errnos: map[Backend]syscall.Errno{URing: unix.ENOMEM}, want: AIO, why: "RLIMIT_MEMLOCK"},
		"neither io_uring nor AIO":         {w: deep, errnos: map[Backend]syscall.Errno{URing: unix.EPERM, AIO: unix.EAGAIN}, want: Pread, why: "fs.aio-nr = 65536 of fs.aio-max-nr = 65536"},
		"no NOWAIT at depth 1":             {w: shallow, blocks: true, want: Pread, why: "RWF_NOWAIT"},
		"no NOWAIT at depth 4":             {w: deep, blocks: true, want: AIO, why: "RWF_NOWAIT"},
		"fdatasync":                        {w: sync, want: Pread, why: "fdatasync"},
		"fdatasync, whatever is asked for": {w: sync, ask: URing, want: Pread, why: "fdatasync"},
		"asked for":                        {w: deep, ask: AIO, want: AIO, why: "asked for"},
		"asked for and impossible":         {w: deep, ask: URing, errnos: map[Backend]syscall.Errno{URing: unix.EPERM}, wantErr: unix.EPERM},
		"nothing works":                    {w: deep, errnos: map[Backend]syscall.Errno{URing: unix.EPERM, AIO: unix.ENOSYS, Pread: unix.ENOMEM}, wantErr: unix.ENOMEM},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			procfs := t.TempDir()
			for file, value := range map[string]string{"kernel/io_uring_disabled": tt.sysctl, "fs/aio-nr": "65536", "fs/aio-max-nr": "65536"} {
				path := filepath.Join(procfs, "sys", file)
				if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(value+"\n"), 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			e := (&fakeDisk{}).environment()
			e.open = refuse(tt.errnos)
			e.nowait = func(int, int64) bool { return !tt.blocks }
			r, err := run(t.Context(), tt.w, fakeTarget(), Options{Backend: tt.ask, Roots: blockdev.Roots{Procfs: procfs}}, e)
			if tt.wantErr != nil {
				if r != nil || !errors.Is(err, tt.wantErr) || !strings.Contains(err.Error(), "open an I/O engine") {
					t.Errorf("result %v, error %v", r, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if r.Fingerprint.Engine != tt.want || !strings.Contains(r.EngineWhy, tt.why) {
				t.Errorf("%s because %q, want %s because of %q", r.Fingerprint.Engine, r.EngineWhy, tt.want, tt.why)
			}
		})
	}
}

func TestADepthBeyondThreadsIsRefusedByTheThreadBackend(t *testing.T) {
	w := reads(600, Limits{MaxTime: time.Second})
	_, err := run(t.Context(), w, fakeTarget(), Options{Backend: Pread}, (&fakeDisk{}).environment())
	if err == nil || !strings.Contains(err.Error(), "600 threads would be needed, at most 512") {
		t.Errorf("error %v", err)
	}
}

func TestNowaitIsTestedOnTheTarget(t *testing.T) {
	if target := realTarget(t, 1<<20); !supportsNowait(target.FD, target.Size) {
		t.Skipf("the disk below %s does not support RWF_NOWAIT", t.TempDir())
	}
	// A pipe has no offsets: an error that says nothing of NOWAIT must not be taken for a no.
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = unix.Close(p[0]), unix.Close(p[1]) }()
	if !supportsNowait(p[0], 1<<20) {
		t.Error("ESPIPE was taken for missing NOWAIT support")
	}
}

// blockedEnv makes TestMain run under a seccomp filter that answers io_uring_setup with this errno.
const blockedEnv = "ENGINE_TEST_BLOCK_IO_URING"

func TestMain(m *testing.M) {
	if name := os.Getenv(blockedEnv); name != "" {
		errno := map[string]syscall.Errno{"EPERM": unix.EPERM, "ENOSYS": unix.ENOSYS}[name]
		if err := blockURing(errno); err != nil {
			fmt.Printf("no filter: %v\n", err)
			os.Exit(0)
		}
	}
	code := m.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Println("threads or goroutines are left behind:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// blockURing forbids io_uring_setup to all threads of this process.
func blockURing(errno syscall.Errno) error {
	const nrOffset = 0 // of seccomp_data.nr
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: nrOffset},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_IO_URING_SETUP, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(errno)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	runtime.LockOSThread() // both calls are of one thread; the second takes the others along
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if _, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&prog))); e != 0 {
		return e
	}
	return nil
}

func TestABlockedURingFallsBackForReal(t *testing.T) {
	if os.Getenv(blockedEnv) != "" {
		target := realTarget(t, 1<<20)
		r, err := Run(t.Context(), mix(800, 4, Limits{MaxTime: time.Minute, MaxIOs: 500}), target, Options{})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("engine %s, %d I/Os, because %s\n", r.Fingerprint.Engine, r.IOs(), r.EngineWhy)
		return
	}
	for _, errno := range []string{"EPERM", "ENOSYS"} {
		t.Run(errno, func(t *testing.T) {
			cmd := exec.Command(os.Args[0], "-test.run=^TestABlockedURingFallsBackForReal$", "-test.v")
			cmd.Env = append(slices.Clone(os.Environ()), blockedEnv+"="+errno)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if s := string(out); strings.Contains(s, "no filter: ") || strings.Contains(s, "SKIP") {
				t.Skipf("this needs seccomp and a disk with direct I/O: %s", s)
			}
			if s := string(out); !strings.Contains(s, "engine aio, 500 I/Os") || !strings.Contains(s, "uring does not work") {
				t.Errorf("under the filter:\n%s", s)
			}
		})
	}
}

func TestThreadsHaveTheIOPriorityOfTheMainThread(t *testing.T) {
	was, ok := ioPriority(os.Getpid())
	if !ok {
		t.Skip("the kernel has no I/O priorities")
	}
	set := func(v int) {
		if _, _, errno := unix.Syscall(unix.SYS_IOPRIO_SET, ioprioWhoProcess, uintptr(os.Getpid()), uintptr(v)); errno != 0 {
			t.Skipf("ioprio_set: %v", errno)
		}
	}
	set(ioprioClassIdle << ioprioClassShift)
	defer set(was)
	d := &fakeDisk{}
	e := d.environment()
	inThread := -1
	inner := e.open
	e.open = func(kind Backend, c backendConfig) (backend, error) {
		inThread, _ = ioPriority(0)
		return inner(kind, c)
	}
	r, err := run(t.Context(), reads(1, Limits{MaxTime: time.Minute, MaxIOs: 100}), fakeTarget(), Options{}, e)
	if err != nil {
		t.Fatal(err)
	}
	if inThread>>ioprioClassShift != ioprioClassIdle || r.Fingerprint.IOPrio != "idle" {
		t.Errorf("priority of the thread %#x, in the fingerprint %q; want idle", inThread, r.Fingerprint.IOPrio)
	}
}
