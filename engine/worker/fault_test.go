package worker

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ssd_exporter/engine"
)

func TestAChildThatIsKilledIsACrashWithItsReason(t *testing.T) {
	for name, c := range map[string]struct {
		signal unix.Signal
		says   string
	}{
		"killed from outside":          {unix.SIGKILL, "killed"},
		"the runtime's own last words": {unix.SIGQUIT, "SIGQUIT: quit"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := diskDir(t)
			w := start(t, slowFill(dir))
			reach(t, w, "fill")
			must(t, unix.Kill(w.PID(), c.signal))
			r := final(t, w)
			if kindOf(r) != Crashed || !strings.Contains(r.Error.Message, c.says) || !strings.Contains(r.Error.Message, dir) {
				t.Errorf("%+v", r.Error)
			}
			if n := len(r.Error.Message); n > 2*maxTail {
				t.Errorf("a message of %d bytes", n)
			}
			gone(t, w)
			if again := do(t, prepare(dir)); !again.File.Filled {
				t.Errorf("afterwards: %+v", again.File)
			}
		})
	}
}

func TestAChildThatDoesNotObeyIsKilled(t *testing.T) {
	dir := diskDir(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w, err := Start(ctx, slowFill(dir))
	must(t, err)
	reach(t, w, "fill")
	must(t, unix.Kill(w.PID(), unix.SIGSTOP))
	silent := w.LastBeat()
	cancel()
	r := final(t, w)
	if kindOf(r) != Crashed || !strings.Contains(r.Error.Message, "by us") {
		t.Errorf("%+v", r.Error)
	}
	if last := w.LastBeat(); last.Sub(silent) > time.Second {
		t.Errorf("a stopped child gave signs of life for %v", last.Sub(silent))
	}
	gone(t, w)
}

func TestTheChildEndsWithItsParent(t *testing.T) {
	parent := exec.Command("/proc/self/exe")
	parent.Env = append(os.Environ(), parentEnv+"="+diskDir(t))
	out, err := parent.StdoutPipe()
	must(t, err)
	must(t, parent.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		_ = parent.Process.Kill()
		t.Fatal(err)
	}
	child, err := strconv.Atoi(strings.TrimSpace(line))
	must(t, err)
	// A handle on exactly this process: its number may be given away once it is gone.
	fd, err := unix.PidfdOpen(child, 0)
	must(t, err)
	defer unix.Close(fd)
	must(t, parent.Process.Kill())
	_ = parent.Wait() // killed
	poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for deadline := time.Now().Add(10 * time.Second); ; {
		n, err := unix.Poll(poll, int(time.Until(deadline).Milliseconds()))
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if n != 1 {
			t.Errorf("child %d outlived its parent by 10 s (%v)", child, err)
			_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
		}
		return
	}
}

func TestAReaderWhoDoesNotReadHoldsNobodyUp(t *testing.T) {
	req := slowFill(diskDir(t))
	req.Prepare.FillRate = 3 << 20 // 25 beats, of which there is room for 15
	w := start(t, req)
	gone(t, w)
	n := 0
	var last Reply
	for last = range w.Replies() {
		n++
	}
	if !last.Final || last.Error != nil || !last.File.Filled || n > cap(w.replies) {
		t.Errorf("%d replies, at last %+v", n, last)
	}
}

func TestBeatsComeWhileTheDiskHangsAndNobodyWaitsForIt(t *testing.T) {
	dir := loopDir(t)
	do(t, prepare(dir))
	f, err := os.Open(dir)
	must(t, err)
	defer f.Close()
	const fifreeze, fithaw = 0xC0045877, 0xC0045878 // linux/fs.h
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), fifreeze, 0); errno != 0 {
		t.Skipf("file systems cannot be frozen here: %v; run as root outside of a container", errno)
	}
	thawed := false
	thaw := func() {
		if !thawed {
			thawed = true
			if _, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), fithaw, 0); errno != 0 {
				t.Errorf("thawing %s: %v", dir, errno)
			}
		}
	}
	defer thaw()
	w := start(t, writes(dir))
	hangs := false
	for r := range w.Replies() {
		if r.Final {
			t.Fatalf("a run on a frozen file system ended: %+v, %v", r.Result, r.Error)
		}
		if r.Beat.Idle > 500*time.Millisecond {
			hangs = true
			break
		}
	}
	if !hangs {
		t.Fatal("no beat told of the hang")
	}
	w.Kill()
	if r := final(t, w); kindOf(r) != Crashed {
		t.Errorf("%+v", r.Error)
	}
	thaw()
	gone(t, w)
}

func TestAReadOnlyFileSystemHasItsKind(t *testing.T) {
	dir := loopDir(t)
	do(t, prepare(dir))
	must(t, unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	if e := fails(t, writes(dir), ReadOnly); e.Errno != "EROFS" {
		t.Errorf("%+v", e)
	}
	do(t, reads(dir, engine.Limits{MaxIOs: 10, MaxTime: 10 * time.Second}))
}
