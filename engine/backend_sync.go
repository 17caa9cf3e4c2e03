package engine

import (
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// syncBackend does one I/O at a time by pread and pwrite. Depth comes from threads: each outstanding I/O has one.
type syncBackend struct {
	fd        int
	blocking  bool
	fdatasync bool

	slot   int
	op     Op
	off    int64
	buf    []byte
	queued bool
	res    int32
	done   bool

	state atomic.Int32
}

// States of a syncBackend, which decide who owns the bookkeeping of its thread.
const (
	syncIdle      = iota // the thread
	syncInCall           // the thread, unless abandon takes it
	syncAbandoned        // the one who abandoned it
)

func openSync(c backendConfig) (backend, error) {
	// The raw call passes the offset in one register, as only 64-bit machines do.
	blocking := c.blocking || unsafe.Sizeof(uintptr(0)) < 8
	return &syncBackend{fd: c.fd, blocking: blocking, fdatasync: c.fdatasync}, nil
}

func (b *syncBackend) queue(slot int, op Op, off int64, buf []byte) {
	b.slot, b.op, b.off, b.buf, b.queued = slot, op, off, buf, true
}

func (b *syncBackend) submit(wait time.Duration) error {
	if !b.queued {
		if wait > 0 && !b.done {
			// Nothing is in flight: the open loop waits for the next start time. A signal may cut it short.
			ts := unix.NsecToTimespec(int64(wait))
			_ = unix.Nanosleep(&ts, nil)
		}
		return nil
	}
	b.queued = false
	b.state.Store(syncInCall)
	res := b.transfer()
	if !b.state.CompareAndSwap(syncInCall, syncIdle) {
		return errAbandoned
	}
	b.res, b.done = res, true
	return nil
}

func (b *syncBackend) abandon() bool {
	return b.state.CompareAndSwap(syncInCall, syncAbandoned)
}

// transfer does the I/O, and the fdatasync that belongs to it.
func (b *syncBackend) transfer() int32 {
	n, errno := b.readOrWrite()
	for errno == unix.EINTR {
		n, errno = b.readOrWrite()
	}
	if errno == 0 && b.op == Write && b.fdatasync {
		errno = b.sync()
	}
	if errno != 0 {
		return -int32(errno)
	}
	return int32(n)
}

func (b *syncBackend) readOrWrite() (n int, errno syscall.Errno) {
	if !b.blocking {
		nr := uintptr(unix.SYS_PREAD64)
		if b.op == Write {
			nr = unix.SYS_PWRITE64
		}
		r, _, errno := syscall.RawSyscall6(nr, uintptr(b.fd), uintptr(unsafe.Pointer(unsafe.SliceData(b.buf))), uintptr(len(b.buf)), uintptr(b.off), 0, 0)
		return int(r), errno
	}
	var err error
	if b.op == Write {
		n, err = unix.Pwrite(b.fd, b.buf, b.off)
	} else {
		n, err = unix.Pread(b.fd, b.buf, b.off)
	}
	errno, _ = err.(syscall.Errno) //nolint:errorlint // x/sys returns bare errnos
	return n, errno
}

func (b *syncBackend) sync() syscall.Errno {
	errno, _ := unix.Fdatasync(b.fd).(syscall.Errno) //nolint:errorlint // x/sys returns bare errnos
	return errno
}

func (b *syncBackend) reap(into []completion) int {
	if !b.done || len(into) == 0 {
		return 0
	}
	b.done = false
	into[0] = completion{slot: int32(b.slot), res: b.res}
	return 1
}

func (b *syncBackend) close() {}
