package uring

import (
	"fmt"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Completion is one finished I/O.
type Completion struct {
	UserData uint64
	Res      int32 // bytes transferred, or a negated errno
}

// Ring is one io_uring instance. It belongs to the OS thread that made it: the caller locks its goroutine to the thread
// (runtime.LockOSThread) before New and keeps it locked until Close, since a ring with a single issuer refuses every
// other thread.
//
// An I/O is queued (Read, Write), handed over by Submit or SubmitAndWait, and comes back through Reap.
type Ring struct {
	fd         int
	enterFD    int     // fd, or its index once the ring is registered with itself
	enterFlags uintptr // of every io_uring_enter
	flags      uint32  // of the setup that succeeded
	blocking   bool    // waits let go of the Go scheduler's processor

	rings  []byte // mapping: both ring headers and the completion queue
	sqeMem []byte // mapping: submission queue entries
	wait   *waitArg
	argMem []byte // mapping that holds wait; the kernel reads it during the call

	sqHead, sqTail *uint32
	cqHead, cqTail *uint32
	sqMask, cqMask uint32
	sqes           []sqe
	cqes           []cqe
	tail           uint32 // entries queued so far; published by the next Submit

	fixedBase, fixedEnd uintptr // the registered memory; both 0 when there is none
	fileFD              int32
	fileFlags           uint8
}

// New sets up a ring that can hold entries I/Os in flight, for I/O on the open file fd. It tries the setup flags from
// the most to the least helpful and remembers which the kernel took (Flags).
//
// The error is an errno for errors.Is: EPERM (seccomp, kernel.io_uring_disabled), ENOSYS (no io_uring, or one without
// timed waits: before Linux 5.11), ENOMEM (RLIMIT_MEMLOCK on old kernels), EINVAL.
func New(entries, fd int) (*Ring, error) {
	if entries < 1 || entries > maxEntries {
		return nil, fmt.Errorf("io_uring with %d entries: accepted are 1 to %d: %w", entries, maxEntries, unix.EINVAL)
	}
	var p params
	ringFD, err := setup(uint32(entries), &p)
	if err != nil {
		return nil, err
	}
	r := &Ring{fd: ringFD, enterFD: ringFD, flags: p.flags, fileFD: int32(fd)}
	if p.features&needFeatures != needFeatures {
		r.Close()
		return nil, fmt.Errorf("io_uring lacks timed waits (features %#x, Linux 5.11 or later has them): %w", p.features, unix.ENOSYS)
	}
	if err := r.mapRings(&p); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// setup walks down the ladder of flags: each kernel refuses those that it does not know with EINVAL.
func setup(entries uint32, p *params) (int, error) {
	ladder := [...]uint32{
		setupSingleIssuer | setupDeferTaskrun | setupNoSQArray, // 6.6
		setupSingleIssuer | setupDeferTaskrun,                  // 6.1
		setupCoopTaskrun,                                       // 5.19
		0,
	}
	var errno syscall.Errno
	for _, flags := range ladder {
		*p = params{flags: flags}
		var fd uintptr
		fd, _, errno = unix.Syscall(unix.SYS_IO_URING_SETUP, uintptr(entries), uintptr(unsafe.Pointer(p)), 0)
		if errno == 0 {
			return int(fd), nil // the kernel sets close-on-exec
		}
		if errno != unix.EINVAL {
			break
		}
	}
	return -1, fmt.Errorf("io_uring_setup with %d entries: %w", entries, errno)
}

// mapRings maps what the kernel shares with us, and one page of our own that it reads the wait argument from.
func (r *Ring) mapRings(p *params) error {
	size := max(int(p.sq.array+p.sqEntries*4), int(p.cq.cqes+p.cqEntries*uint32(unsafe.Sizeof(cqe{}))))
	const prot, shared = unix.PROT_READ | unix.PROT_WRITE, unix.MAP_SHARED | unix.MAP_POPULATE
	var err error
	if r.rings, err = unix.Mmap(r.fd, offRings, size, prot, shared); err != nil {
		return fmt.Errorf("map the queues of io_uring (%d bytes): %w", size, err)
	}
	if r.sqeMem, err = unix.Mmap(r.fd, offSQEs, int(p.sqEntries)*int(unsafe.Sizeof(sqe{})), prot, shared); err != nil {
		return fmt.Errorf("map the entries of io_uring: %w", err)
	}
	if r.argMem, err = unix.Mmap(-1, 0, int(unsafe.Sizeof(waitArg{})), prot, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS); err != nil {
		return fmt.Errorf("map the wait argument of io_uring: %w", err)
	}
	r.wait = (*waitArg)(unsafe.Pointer(&r.argMem[0]))
	r.wait.ts = uint64(uintptr(unsafe.Pointer(&r.wait.timeout)))

	word := func(off uint32) *uint32 { return (*uint32)(unsafe.Pointer(&r.rings[off])) }
	r.sqHead, r.sqTail, r.sqMask = word(p.sq.head), word(p.sq.tail), *word(p.sq.ringMask)
	r.cqHead, r.cqTail, r.cqMask = word(p.cq.head), word(p.cq.tail), *word(p.cq.ringMask)
	r.sqes = unsafe.Slice((*sqe)(unsafe.Pointer(&r.sqeMem[0])), p.sqEntries)
	r.cqes = unsafe.Slice((*cqe)(unsafe.Pointer(&r.rings[p.cq.cqes])), p.cqEntries)
	r.tail = atomic.LoadUint32(r.sqTail)
	if p.flags&setupNoSQArray == 0 {
		array := unsafe.Slice((*uint32)(unsafe.Pointer(&r.rings[p.sq.array])), p.sqEntries)
		for i := range array {
			array[i] = uint32(i)
		}
	}
	return nil
}

// Flags are the setup flags that the kernel took (IORING_SETUP_*).
func (r *Ring) Flags() uint32 { return r.flags }

// SetBlocking says how waits treat the Go scheduler. False, the default: the waiting thread keeps its processor (P), which
// saves two hand-overs per wait, but the garbage collector waits for the end of the wait and one P serves nobody else.
// True: a plain system call. Use true when there may be as many rings as Ps.
func (r *Ring) SetBlocking(b bool) { r.blocking = b }

// RegisterBuffers pins mem, so that I/O within it need not be pinned one by one. It counts against RLIMIT_MEMLOCK: the
// ring works without it, and ENOMEM is no reason to give up.
func (r *Ring) RegisterBuffers(mem []byte) error {
	if len(mem) == 0 {
		return nil
	}
	iov := unix.Iovec{Base: &mem[0]}
	iov.SetLen(len(mem))
	if errno := r.register(registerBuffers, unsafe.Pointer(&iov), 1); errno != 0 {
		return fmt.Errorf("register %d bytes of buffers with io_uring: %w", len(mem), errno)
	}
	r.fixedBase = uintptr(unsafe.Pointer(&mem[0]))
	r.fixedEnd = r.fixedBase + uintptr(len(mem))
	return nil
}

// RegisterFile makes the file of New a registered one, which saves taking a reference per I/O.
func (r *Ring) RegisterFile() error {
	fd := r.fileFD
	if errno := r.register(registerFiles, unsafe.Pointer(&fd), 1); errno != 0 {
		return fmt.Errorf("register the file with io_uring: %w", errno)
	}
	r.fileFD, r.fileFlags = 0, sqeFixedFile
	return nil
}

// RegisterRing registers the ring with itself for the calling thread, which saves a look-up per system call (5.18).
func (r *Ring) RegisterRing() error {
	up := ringUpdate{offset: ^uint32(0), data: uint64(r.fd)}
	if errno := r.register(registerRingFDs, unsafe.Pointer(&up), 1); errno != 0 {
		return fmt.Errorf("register the ring with io_uring: %w", errno)
	}
	r.enterFD = int(up.offset)
	r.enterFlags = enterRegisteredRing
	return nil
}

func (r *Ring) register(op uintptr, arg unsafe.Pointer, n uintptr) syscall.Errno {
	_, _, errno := unix.Syscall6(unix.SYS_IO_URING_REGISTER, uintptr(r.fd), op, uintptr(arg), n, 0, 0)
	return errno
}

// Read queues a read of len(buf) bytes at byte offset off. buf is not on the Go heap and stays untouched until the
// completion. It returns false when the queue is full.
func (r *Ring) Read(buf []byte, off int64, userData uint64) bool {
	return r.queue(opRead, opReadFixed, buf, off, userData)
}

// Write queues a write; otherwise as Read.
func (r *Ring) Write(buf []byte, off int64, userData uint64) bool {
	return r.queue(opWrite, opWriteFixed, buf, off, userData)
}

func (r *Ring) queue(op, fixedOp uint8, buf []byte, off int64, userData uint64) bool {
	if r.tail-atomic.LoadUint32(r.sqHead) > r.sqMask {
		return false
	}
	addr := uintptr(unsafe.Pointer(unsafe.SliceData(buf)))
	if addr >= r.fixedBase && addr+uintptr(len(buf)) <= r.fixedEnd {
		op = fixedOp
	}
	s := &r.sqes[r.tail&r.sqMask]
	*s = sqe{
		opcode: op, flags: r.fileFlags, fd: r.fileFD, off: uint64(off),
		addr: uint64(addr), len: uint32(len(buf)), userData: userData,
	}
	r.tail++
	return true
}

// Submit hands what is queued to the kernel without waiting. What the kernel did not take (EAGAIN, EBUSY: it is out of
// memory or behind with completions) stays queued for the next call.
func (r *Ring) Submit() error { return r.enter(0, 0) }

// SubmitAndWait hands what is queued to the kernel and waits, in the same system call, until one I/O has completed or
// the timeout has passed. A timeout, and a signal that cut the wait short, are no errors: look at Reap.
func (r *Ring) SubmitAndWait(timeout time.Duration) error {
	if timeout <= 0 {
		// Completions of a ring with deferred task work appear only when somebody asks for them.
		return r.enter(0, enterGetEvents)
	}
	r.wait.timeout = timespec{sec: int64(timeout / time.Second), nsec: int64(timeout % time.Second)}
	return r.enter(1, enterGetEvents|enterExtArg)
}

func (r *Ring) enter(minComplete, flags uintptr) error {
	n := r.tail - atomic.LoadUint32(r.sqHead)
	if n == 0 && flags == 0 {
		return nil
	}
	atomic.StoreUint32(r.sqTail, r.tail)
	var arg, argSize uintptr
	if flags&enterExtArg != 0 {
		arg, argSize = uintptr(unsafe.Pointer(r.wait)), unsafe.Offsetof(waitArg{}.timeout)
	}
	var errno syscall.Errno
	if r.blocking && minComplete > 0 {
		_, _, errno = syscall.Syscall6(unix.SYS_IO_URING_ENTER, uintptr(r.enterFD), uintptr(n), minComplete, flags|r.enterFlags, arg, argSize)
	} else {
		_, _, errno = syscall.RawSyscall6(unix.SYS_IO_URING_ENTER, uintptr(r.enterFD), uintptr(n), minComplete, flags|r.enterFlags, arg, argSize)
	}
	switch errno {
	case 0, unix.ETIME, unix.EINTR, unix.EAGAIN, unix.EBUSY:
		// EINTR is ordinary: the Go runtime preempts threads by signal.
		return nil
	}
	return fmt.Errorf("io_uring_enter with %d entries: %w", n, errno)
}

// Reap takes completions, as many as there are now and fit, and returns their number.
func (r *Ring) Reap(into []Completion) int {
	head, tail := *r.cqHead, atomic.LoadUint32(r.cqTail) // the head is ours alone
	n := 0
	for ; head != tail && n < len(into); head++ {
		c := &r.cqes[head&r.cqMask]
		into[n] = Completion{UserData: c.userData, Res: c.res}
		n++
	}
	if n > 0 {
		atomic.StoreUint32(r.cqHead, head)
	}
	return n
}

// Close frees the ring. No I/O may be in flight: the kernel would write into buffers that the caller believes free.
func (r *Ring) Close() {
	if r.enterFlags&enterRegisteredRing != 0 {
		// The thread's registration holds a reference: without this the ring would live as long as the thread.
		up := ringUpdate{offset: uint32(r.enterFD)}
		_ = r.register(unregisterRingFDs, unsafe.Pointer(&up), 1)
		r.enterFlags = 0
	}
	// Unmapping and closing what is ours does not fail, and nothing could be done about it.
	for _, mem := range [][]byte{r.rings, r.sqeMem, r.argMem} {
		if mem != nil {
			_ = unix.Munmap(mem)
		}
	}
	if r.fd >= 0 {
		_ = unix.Close(r.fd)
	}
	r.fd, r.rings, r.sqeMem, r.argMem = -1, nil, nil, nil
}
