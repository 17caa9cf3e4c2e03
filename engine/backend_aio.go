package engine

import (
	"fmt"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// iocb is struct iocb of include/uapi/linux/aio_abi.h on little-endian machines.
type iocb struct {
	data    uint64
	key     uint32
	rwFlags uint32
	opcode  uint16
	prio    int16
	fd      uint32
	buf     uint64
	nbytes  uint64
	offset  int64
	_       uint64
	flags   uint32
	resFD   uint32
}

// ioEvent is struct io_event of the same header.
type ioEvent struct {
	data, obj uint64
	res, res2 int64
}

// Opcodes of iocb.
const (
	aioPread  = 0
	aioPwrite = 1
)

// aioBackend is Linux AIO: one context. Everything that the kernel is pointed to lies outside the Go heap and stacks.
type aioBackend struct {
	ctx      uintptr
	fd       int
	blocking bool
	control  arena
	cbs      []iocb    // by slot
	queued   []uintptr // addresses of control blocks, oldest first
	n        int       // of queued
	events   []ioEvent
	timeout  *unix.Timespec
	got      int // events not yet reaped …
	taken    int // … from here on
}

func openAIO(c backendConfig) (backend, error) {
	b := &aioBackend{fd: c.fd, blocking: c.blocking}
	if _, _, errno := unix.Syscall(unix.SYS_IO_SETUP, uintptr(c.depth), uintptr(unsafe.Pointer(&b.ctx)), 0); errno != 0 {
		return nil, fmt.Errorf("io_setup for %d I/Os: %w", c.depth, errno)
	}
	cbSize, ptrSize, evSize := int(unsafe.Sizeof(iocb{})), int(unsafe.Sizeof(uintptr(0))), int(unsafe.Sizeof(ioEvent{}))
	tsSize := int(unsafe.Sizeof(unix.Timespec{}))
	mem, err := newArena(pageAligned(c.depth*(cbSize+ptrSize+evSize) + tsSize))
	if err != nil {
		b.close()
		return nil, err
	}
	b.control = mem
	base := unsafe.Pointer(&mem.mem[0])
	b.cbs = unsafe.Slice((*iocb)(base), c.depth)
	b.events = unsafe.Slice((*ioEvent)(unsafe.Add(base, c.depth*cbSize)), c.depth)
	b.timeout = (*unix.Timespec)(unsafe.Add(base, c.depth*(cbSize+evSize)))
	b.queued = unsafe.Slice((*uintptr)(unsafe.Add(base, c.depth*(cbSize+evSize)+tsSize)), c.depth)
	return b, nil
}

func (b *aioBackend) queue(slot int, op Op, off int64, buf []byte) {
	opcode := uint16(aioPread)
	if op == Write {
		opcode = aioPwrite
	}
	b.cbs[slot] = iocb{
		data: uint64(slot), opcode: opcode, fd: uint32(b.fd),
		buf: uint64(uintptr(unsafe.Pointer(unsafe.SliceData(buf)))), nbytes: uint64(len(buf)), offset: off,
	}
	b.queued[b.n] = uintptr(unsafe.Pointer(&b.cbs[slot]))
	b.n++
}

func (b *aioBackend) submit(wait time.Duration) error {
	if err := b.handOver(); err != nil || wait < 0 {
		return err
	}
	if b.got > b.taken {
		return nil
	}
	*b.timeout = unix.NsecToTimespec(int64(wait))
	minimum := uintptr(1)
	if wait == 0 {
		minimum = 0
	}
	n, errno := b.call(unix.SYS_IO_GETEVENTS, minimum, uintptr(len(b.events)), uintptr(unsafe.Pointer(unsafe.SliceData(b.events))), uintptr(unsafe.Pointer(b.timeout)))
	switch errno {
	case 0:
		b.got, b.taken = int(n), 0
	case unix.EINTR: // the Go runtime preempts threads by signal
	default:
		return fmt.Errorf("io_getevents: %w", errno)
	}
	return nil
}

// handOver submits what is queued. EAGAIN leaves the rest for the next call, when something has completed.
func (b *aioBackend) handOver() error {
	for b.n > 0 {
		n, errno := b.call(unix.SYS_IO_SUBMIT, uintptr(b.n), uintptr(unsafe.Pointer(unsafe.SliceData(b.queued))), 0, 0)
		switch {
		case errno == unix.EINTR:
			continue
		case errno == unix.EAGAIN:
			return nil
		case errno != 0:
			return fmt.Errorf("io_submit of %d I/Os: %w", b.n, errno)
		}
		copy(b.queued, b.queued[n:b.n])
		b.n -= int(n)
	}
	return nil
}

func (b *aioBackend) call(nr, a2, a3, a4, a5 uintptr) (uintptr, syscall.Errno) {
	var n uintptr
	var errno syscall.Errno
	if b.blocking {
		n, _, errno = syscall.Syscall6(nr, b.ctx, a2, a3, a4, a5, 0)
	} else {
		n, _, errno = syscall.RawSyscall6(nr, b.ctx, a2, a3, a4, a5, 0)
	}
	return n, errno
}

func (b *aioBackend) reap(into []completion) int {
	n := 0
	for ; b.taken < b.got && n < len(into); b.taken++ {
		e := &b.events[b.taken]
		into[n] = completion{slot: int32(e.data), res: int32(e.res)}
		n++
	}
	return n
}

func (b *aioBackend) close() {
	if b.ctx != 0 {
		// Fails only for a context that does not exist.
		_, _, _ = unix.Syscall(unix.SYS_IO_DESTROY, b.ctx, 0, 0)
		b.ctx = 0
	}
	b.control.free()
}
