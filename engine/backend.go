package engine

import (
	"errors"
	"time"
)

// backend hands I/Os of one thread to the kernel and brings them back. It is used by the one locked OS thread that opened
// it. After open it allocates nothing.
type backend interface {
	// queue prepares an I/O of len(buf) bytes at byte offset off. buf stays untouched until the completion.
	queue(slot int, op Op, off int64, buf []byte)
	// submit hands over what is queued. Above 0, it then waits until something completes or that time has passed,
	// whichever is first; at 0 it looks for completions without waiting; noWait does not even look.
	// An error means that the backend is broken, never that an I/O failed.
	submit(wait time.Duration) error
	// reap takes completions, at most as many as fit.
	reap(into []completion) int
	// close frees the backend. No I/O is in flight.
	close()
}

// noWait is the wait of a submit that more submits will follow.
const noWait time.Duration = -1

// completion is the end of one I/O: bytes transferred, or a negated errno.
type completion struct {
	slot int32
	res  int32
}

// backendConfig is what a backend is opened for.
type backendConfig struct {
	fd        int
	depth     int
	memory    []byte // holds every buffer that will be queued
	blocking  bool   // system calls that wait must let go of the scheduler's processor
	fdatasync bool   // after each write; only pread/pwrite threads do it
}

// stuckable is a backend whose submit can hang in the kernel without end.
type stuckable interface {
	// abandon takes the thread's bookkeeping away from it while it hangs; false when it does not hang. The hung
	// submit returns errAbandoned, should it ever return.
	abandon() bool
}

var errAbandoned = errors.New("the I/O came back after it had been given up")
