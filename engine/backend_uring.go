package engine

import (
	"time"

	"ssd_exporter/engine/uring"
)

// uringBackend drives one io_uring.
type uringBackend struct {
	ring *uring.Ring
	done []uring.Completion
}

func openURing(c backendConfig) (backend, error) {
	ring, err := uring.New(c.depth, c.fd)
	if err != nil {
		return nil, err
	}
	ring.SetBlocking(c.blocking)
	// Each of these saves time and none is needed: locked memory may be limited, and old kernels lack the last.
	_ = ring.RegisterBuffers(c.memory)
	_ = ring.RegisterFile()
	_ = ring.RegisterRing()
	return &uringBackend{ring: ring, done: make([]uring.Completion, c.depth)}, nil
}

func (b *uringBackend) queue(slot int, op Op, off int64, buf []byte) {
	// The queue has an entry per slot, so it is never full.
	if op == Write {
		b.ring.Write(buf, off, uint64(slot))
	} else {
		b.ring.Read(buf, off, uint64(slot))
	}
}

func (b *uringBackend) submit(wait time.Duration) error {
	if wait < 0 {
		return b.ring.Submit()
	}
	return b.ring.SubmitAndWait(wait)
}

func (b *uringBackend) reap(into []completion) int {
	n := b.ring.Reap(b.done[:min(len(into), len(b.done))])
	for i, c := range b.done[:n] {
		into[i] = completion{slot: int32(c.UserData), res: c.Res}
	}
	return n
}

func (b *uringBackend) close() { b.ring.Close() }
