package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	beatEvery   = 100 * time.Millisecond
	orphanGrace = time.Second // between the end of the parent and ours, for a clean stop
)

// Reasons for which a child's context is cancelled.
var (
	errAborted = errors.New("stopped on request")
	errOrphan  = errors.New("the exporter that asked for this is gone")
)

// command is what follows the Request on a child's standard input. Its end means that the parent is gone.
type command struct {
	Abort bool
}

// child answers one request. Its methods may be called from any goroutine.
type child struct {
	mu       sync.Mutex // guards out and the fields below
	out      *json.Encoder
	finished bool

	progress sync.Mutex // apart from mu, since writing to a full pipe may take long
	beat     Beat       // Idle is computed when it is sent
	moved    time.Time  // when beat.Done last changed
}

// serve reads a request, answers it, and returns the exit code.
func serve(in io.Reader, out io.Writer) int {
	// Beyond RLIMIT_FSIZE a write shall fail, not kill.
	signal.Ignore(unix.SIGXFSZ)
	// The parent decides what an interrupt from the terminal means.
	signal.Ignore(unix.SIGINT, unix.SIGHUP)

	dec := json.NewDecoder(in)
	var req Request
	if err := dec.Decode(&req); err != nil {
		fmt.Fprintf(os.Stderr, "reading the request: %v\n", err)
		return exitRequest
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	terminate := make(chan os.Signal, 1)
	signal.Notify(terminate, unix.SIGTERM)
	go func() {
		<-terminate
		cancel(errAborted)
	}()
	go listen(dec, cancel)

	c := &child{out: json.NewEncoder(out), beat: Beat{Phase: "open"}, moved: time.Now()}
	go c.beats(ctx)
	reply := handle(ctx, req, c)
	if err := c.finish(reply); err != nil {
		fmt.Fprintf(os.Stderr, "answering: %v\n", err)
		return exitRequest
	}
	return 0
}

// listen obeys commands until the parent is gone. Then the work is cancelled, and if that does not end the process soon,
// because it sits in a system call, this does.
func listen(dec *json.Decoder, cancel context.CancelCauseFunc) {
	for {
		var c command
		if err := dec.Decode(&c); err != nil {
			cancel(errOrphan)
			time.Sleep(orphanGrace)
			os.Exit(exitOrphan)
		}
		if c.Abort {
			cancel(errAborted)
		}
	}
}

// beats sends a heartbeat every 100 ms for as long as the process lives, whatever the disk does.
func (c *child) beats(ctx context.Context) {
	for range time.Tick(beatEvery) {
		if c.send(Reply{Beat: c.now()}) != nil && ctx.Err() == nil {
			os.Exit(exitOrphan) // nobody reads
		}
	}
}

// moveTo notes how far the work has come.
func (c *child) moveTo(b Beat) {
	c.progress.Lock()
	defer c.progress.Unlock()
	if b.Done != c.beat.Done || b.Phase != c.beat.Phase {
		c.moved = time.Now()
	}
	c.beat = b
}

// now is the heartbeat due now.
func (c *child) now() *Beat {
	c.progress.Lock()
	defer c.progress.Unlock()
	b := c.beat
	b.Idle = time.Since(c.moved)
	return &b
}

// send writes one line; nothing follows the final reply.
func (c *child) send(r Reply) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.finished {
		return nil
	}
	c.finished = r.Final
	return c.out.Encode(r)
}

func (c *child) finish(r Reply) error {
	r.Final = true
	return c.send(r)
}
