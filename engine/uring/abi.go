package uring

// The kernel's interface as in include/uapi/linux/io_uring.h; golang.org/x/sys/unix has the system call numbers only.

const (
	setupCoopTaskrun  = 1 << 8
	setupSingleIssuer = 1 << 12
	setupDeferTaskrun = 1 << 13
	setupNoSQArray    = 1 << 16

	featSingleMmap = 1 << 0
	featNoDrop     = 1 << 1
	featExtArg     = 1 << 8

	// needFeatures are what this package is written for; all of them exist since Linux 5.11.
	needFeatures = featSingleMmap | featNoDrop | featExtArg

	enterGetEvents      = 1 << 0
	enterExtArg         = 1 << 3
	enterRegisteredRing = 1 << 4

	opReadFixed  = 4
	opWriteFixed = 5
	opRead       = 22
	opWrite      = 23

	registerBuffers   = 0
	registerFiles     = 2
	registerRingFDs   = 20
	unregisterRingFDs = 21

	sqeFixedFile = 1 << 0

	offRings = 0
	offSQEs  = 0x10000000

	maxEntries = 32768 // IORING_MAX_ENTRIES
)

// params is struct io_uring_params.
type params struct {
	sqEntries, cqEntries, flags, sqThreadCPU, sqThreadIdle, features, wqFD uint32

	resv [3]uint32
	sq   sqOffsets
	cq   cqOffsets
}

// sqOffsets is struct io_sqring_offsets.
type sqOffsets struct {
	head, tail, ringMask, ringEntries, flags, dropped, array, resv1 uint32

	userAddr uint64
}

// cqOffsets is struct io_cqring_offsets.
type cqOffsets struct {
	head, tail, ringMask, ringEntries, overflow, cqes, flags, resv1 uint32

	userAddr uint64
}

// sqe is struct io_uring_sqe.
type sqe struct {
	opcode, flags uint8
	ioprio        uint16
	fd            int32
	off           uint64
	addr          uint64
	len           uint32
	rwFlags       uint32
	userData      uint64
	bufIndex      uint16
	personality   uint16
	spliceFD      int32
	_             [2]uint64
}

// cqe is struct io_uring_cqe.
type cqe struct {
	userData uint64
	res      int32
	flags    uint32
}

// timespec is struct __kernel_timespec.
type timespec struct{ sec, nsec int64 }

// waitArg is struct io_uring_getevents_arg, and behind it the time that it points to.
type waitArg struct {
	sigmask   uint64
	sigmaskSz uint32
	minWait   uint32
	ts        uint64
	timeout   timespec
}

// ringUpdate is struct io_uring_rsrc_update.
type ringUpdate struct {
	offset, resv uint32
	data         uint64
}
