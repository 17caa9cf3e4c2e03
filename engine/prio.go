package engine

import (
	"os"

	"golang.org/x/sys/unix"
)

// I/O priorities as in include/uapi/linux/ioprio.h: the class in the upper three of 16 bits.
const (
	ioprioWhoProcess = 1
	ioprioClassShift = 13

	ioprioClassNone       = 0
	ioprioClassRealtime   = 1
	ioprioClassBestEffort = 2
	ioprioClassIdle       = 3
)

// ioPriority returns the I/O priority of a thread; 0 is the calling one.
func ioPriority(tid int) (int, bool) {
	v, _, errno := unix.Syscall(unix.SYS_IOPRIO_GET, ioprioWhoProcess, uintptr(tid), 0)
	return int(v), errno == 0
}

// adoptIOPriority gives the calling thread the I/O priority of the process's main thread. I/O priorities belong to
// threads, and the runtime may have started this one before the main thread's was set.
func adoptIOPriority() {
	want, ok := ioPriority(os.Getpid())
	if !ok {
		return
	}
	if have, ok := ioPriority(0); ok && have != want {
		// Refused only for realtime without the privilege; the fingerprint tells what the priority is.
		_, _, _ = unix.Syscall(unix.SYS_IOPRIO_SET, ioprioWhoProcess, 0, uintptr(want))
	}
}

// ioPriorityName is the class that the run's I/O has; "" when the kernel does not tell.
func ioPriorityName() string {
	v, ok := ioPriority(os.Getpid())
	if !ok {
		return ""
	}
	switch v >> ioprioClassShift {
	case ioprioClassNone:
		return "none"
	case ioprioClassRealtime:
		return "realtime"
	case ioprioClassBestEffort:
		return "best-effort"
	case ioprioClassIdle:
		return "idle"
	}
	return ""
}
