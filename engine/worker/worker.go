package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	abortGrace = 2 * time.Second // between the end of the context and the kill
	exitGrace  = 2 * time.Second // between the answer and the kill
	lostGrace  = time.Second     // between the kill and giving up on the child
)

// ErrNested says that a worker tried to start a worker, because its program does not call Hook first.
var ErrNested = errors.New("worker: this process is a worker itself; worker.Hook must be the first statement of main and TestMain")

// Worker is a running child. Its methods may be called from any goroutine.
type Worker struct {
	cmd     *exec.Cmd
	stdin   *os.File
	stdout  *os.File
	stderr  *tail
	dir     string
	replies chan Reply
	answer  chan struct{} // closed after the final reply
	done    chan struct{}
	beat    atomic.Pointer[time.Time]
	write   sync.Mutex // of stdin
	killed  sync.Once
	byUs    atomic.Bool // Kill was called
}

// Start starts a child. ctx ends it (Abort, then kill after a grace time of 2 s). The caller need not read Replies for
// the child to make progress.
func Start(ctx context.Context, r Request) (*Worker, error) {
	if os.Getenv(markerEnv) != "" {
		return nil, ErrNested
	}
	if err := r.check(); err != nil {
		return nil, fmt.Errorf("worker: %w", err)
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("worker: starting: %w", err)
	}
	line, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("worker: encoding the request: %w", err)
	}
	w := &Worker{
		dir:     r.Dir,
		stderr:  newTail(),
		replies: make(chan Reply, 16),
		answer:  make(chan struct{}),
		done:    make(chan struct{}),
	}
	if err := w.spawn(); err != nil {
		return nil, fmt.Errorf("worker: starting a child of /proc/self/exe: %w", err)
	}
	now := time.Now()
	w.beat.Store(&now)
	w.send(line)
	go w.wait()
	go w.read()
	go w.supervise(ctx)
	return w, nil
}

// spawn starts the process with three pipes.
func (w *Worker) spawn() error {
	var ends []*os.File
	closeAll := func(fs []*os.File) {
		for _, f := range fs {
			f.Close()
		}
	}
	for range 3 {
		r, p, err := os.Pipe()
		if err != nil {
			closeAll(ends)
			return err
		}
		ends = append(ends, r, p)
	}
	w.cmd = &exec.Cmd{
		Path:   "/proc/self/exe",
		Args:   []string{os.Args[0], "[probe worker]", w.dir}, // for ps; Hook reads none of it
		Env:    childEnv(),
		Stdin:  ends[0],
		Stdout: ends[3],
		Stderr: ends[5], // a pipe: RLIMIT_FSIZE would stop a log file
		// Its own process group, so that Ctrl-C reaches the parent, which decides. PDEATHSIG is not used: it fires
		// when the thread that forked ends, and Go's threads come and go. The end of standard input does its work.
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
	}
	w.stdin, w.stdout = ends[1], ends[2]
	err := w.cmd.Start()
	closeAll([]*os.File{ends[0], ends[3], ends[5]})
	if err != nil {
		closeAll([]*os.File{ends[1], ends[2], ends[4]})
		return err
	}
	go w.stderr.readFrom(ends[4])
	return nil
}

// childEnv is all that a child needs: nothing of the parent's that is not named here.
func childEnv() []string {
	env := []string{markerEnv + "=" + stageConfine, "GORACE=atexit_sleep_ms=0"}
	for _, name := range []string{"GOCOVERDIR", "GODEBUG", "GOTRACEBACK", "TZ"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// Replies gives heartbeats, of which some are dropped when they are not read, and then the final reply, after which it
// is closed. A crash is a final Reply with Kind Crashed.
func (w *Worker) Replies() <-chan Reply { return w.replies }

// Abort asks the child to stop issuing and to answer with what it has.
func (w *Worker) Abort() {
	w.send([]byte(`{"Abort":true}`))
}

// Kill ends the child; it may linger in state D. The final reply comes within a second all the same.
func (w *Worker) Kill() {
	w.killed.Do(func() {
		w.byUs.Store(true)
		_ = w.cmd.Process.Kill() // an error means that it is gone already
		go func() {
			select {
			case <-w.answer:
			case <-time.After(lostGrace):
				w.stdout.Close() // ends read: the child holds its end open as long as it is in state D
			}
		}()
	})
}

// Done is closed when the process is gone. Never wait for it unconditionally.
func (w *Worker) Done() <-chan struct{} { return w.done }

// LastBeat is when the last sign of life came; at first it is the time of the start.
func (w *Worker) LastBeat() time.Time { return *w.beat.Load() }

// PID is the child's process number.
func (w *Worker) PID() int { return w.cmd.Process.Pid }

// Do runs a request to its end and returns the final reply: for commands. beat may be nil. The error is the reply's
// own *Error, or says why no child could be started. The child has been waited for, so that its CPU time counts as its
// parent's, unless it does not end within 2 s of its answer.
func Do(ctx context.Context, r Request, beat func(Beat)) (Reply, error) {
	w, err := Start(ctx, r)
	if err != nil {
		return Reply{}, err
	}
	var final Reply
	for reply := range w.Replies() {
		switch {
		case reply.Final:
			final = reply
		case beat != nil && reply.Beat != nil:
			beat(*reply.Beat)
		}
	}
	select {
	case <-w.Done():
	case <-time.After(exitGrace):
	}
	if final.Error != nil {
		return final, final.Error
	}
	return final, nil
}

// send writes a line to the child. One that does not read has its pipe's 64 KiB of room; beyond, it is given up.
func (w *Worker) send(line []byte) {
	w.write.Lock()
	defer w.write.Unlock()
	// An error means that the child is gone or stuck, which the other goroutines notice.
	_ = w.stdin.SetWriteDeadline(time.Now().Add(time.Second))
	_, _ = w.stdin.Write(append(line, '\n'))
}

// wait reaps the child.
func (w *Worker) wait() {
	_ = w.cmd.Wait() // its status is in ProcessState
	close(w.done)
}

// read passes replies on until the final one, and makes one up when the child ends without.
func (w *Worker) read() {
	defer close(w.answer)
	defer close(w.replies)
	defer w.stdout.Close()
	dec := json.NewDecoder(w.stdout)
	for {
		var r Reply
		if err := dec.Decode(&r); err != nil {
			w.replies <- Reply{Final: true, Error: w.crash(err)}
			return
		}
		now := time.Now()
		w.beat.Store(&now)
		if r.Final {
			w.replies <- r
			return
		}
		// The last place is the final reply's, so that neither it nor this goroutine ever waits for a reader.
		if len(w.replies) < cap(w.replies)-1 {
			w.replies <- r
		}
	}
}

// supervise ends the child when ctx ends, and when it has answered but does not go.
func (w *Worker) supervise(ctx context.Context) {
	select {
	case <-w.done:
	case <-w.answer:
	case <-ctx.Done():
		w.Abort()
		select {
		case <-w.done:
		case <-w.answer:
		case <-time.After(abortGrace):
			w.Kill()
		}
	}
	<-w.answer // read gives one within lostGrace of the end, or of the kill
	w.closeStdin()
	select {
	case <-w.done:
	case <-time.After(exitGrace):
		w.Kill()
	}
}

func (w *Worker) closeStdin() {
	w.write.Lock()
	defer w.write.Unlock()
	w.stdin.Close()
}

// crash describes the end of a child that gave no answer.
func (w *Worker) crash(readErr error) *Error {
	select {
	case <-w.done:
	case <-time.After(lostGrace):
		if w.byUs.Load() {
			return &Error{Kind: Crashed, Message: w.dir + ": the worker was killed and has not gone away: " +
				"the kernel holds it in a system call on the disk, which hangs; see the kernel log"}
		}
		return &Error{Kind: Crashed, Message: fmt.Sprintf("%s: the worker's answer cannot be read: %v", w.dir, readErr)}
	}
	how := w.cmd.ProcessState.String()
	if w.byUs.Load() {
		how += ", by us: it did not stop when asked"
	}
	msg := fmt.Sprintf("%s: the worker ended without an answer (%s)", w.dir, how)
	if last := w.stderr.wait(); last != "" {
		msg += "; its last words: " + last
	}
	return &Error{Kind: Crashed, Message: msg}
}
