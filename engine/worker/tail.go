package worker

import (
	"os"
	"strings"
	"sync"
	"time"
)

// maxTail bounds what is kept of a child's standard error, in bytes: the beginning of a panic tells more than its end,
// so half is kept of each.
const maxTail = 4096

// tail keeps what a child says on standard error, for the message of a crash.
type tail struct {
	mu         sync.Mutex
	head, rest []byte
	ended      chan struct{} // closed at the end of the pipe
}

func newTail() *tail { return &tail{ended: make(chan struct{})} }

// readFrom reads f to its end and closes it.
func (t *tail) readFrom(f *os.File) {
	defer close(t.ended)
	defer f.Close()
	buf := make([]byte, 1024)
	for {
		n, err := f.Read(buf)
		t.keep(buf[:n])
		if err != nil {
			return
		}
	}
}

func (t *tail) keep(b []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := min(len(b), maxTail/2-len(t.head))
	t.head = append(t.head, b[:n]...)
	t.rest = append(t.rest, b[n:]...)
	if over := len(t.rest) - maxTail/2; over > 0 {
		t.rest = append(t.rest[:0], t.rest[over:]...)
	}
}

// wait gives what was said, once the pipe has ended or a short time has passed.
func (t *tail) wait() string {
	select {
	case <-t.ended:
	case <-time.After(200 * time.Millisecond):
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.head) + string(t.rest))
}
