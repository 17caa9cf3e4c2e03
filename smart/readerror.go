package smart

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"ssd_exporter/blockdev"
)

// Error says which disk could not be read, why and what to do, in one line.
func (e *ReadError) Error() string {
	s := "reading S.M.A.R.T. of " + e.Disk + ": "
	if e.Err != nil {
		s += e.Err.Error()
	} else {
		s += string(e.Reason)
	}
	if e.Fix != "" {
		s += " (" + e.Fix + ")"
	}
	return s
}

// Unwrap gives the cause: an errno, a *CommandError, context.DeadlineExceeded, …
func (e *ReadError) Unwrap() error { return e.Err }

// errUnsupported, errParse and errIO put a cause that carries no errno into one of the reasons.
var (
	errUnsupported = errors.New("it has no S.M.A.R.T. to read")
	errParse       = errors.New("the answer cannot be understood")
	errIO          = errors.New("the disk cannot be reached")
)

// permissionToOpen says what opening the node needs, and what comes next, so that it is granted in one go.
func permissionToOpen(d blockdev.Disk, err error) string {
	if errors.Is(err, unix.EPERM) { // not the file mode, which gives EACCES
		return "the container or sandbox withholds the device: pass " + d.Device + " in and give it " + capabilityFor(d)
	}
	if wayOf(d) == wayNVMe {
		return "run as root: that needs read access to " + d.Device + ", and then " + capabilityFor(d)
	}
	return "run as root, or give read access to " + d.Device + " (group disk), and " + capabilityFor(d)
}

// capabilityFor names the capability with which the kernel lets the disk's commands pass (block/scsi_ioctl.c,
// drivers/nvme/host/ioctl.c).
func capabilityFor(d blockdev.Disk) string {
	if wayOf(d) == wayNVMe {
		return "CAP_SYS_ADMIN for NVMe admin commands"
	}
	return "CAP_SYS_RAWIO for ATA pass-through"
}

// reasonOf maps the cause of a failed read to the closed set.
func reasonOf(err error) Reason {
	var c *CommandError
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return Timeout
	case errors.Is(err, errUnsupported):
		return Unsupported
	case errors.Is(err, errParse):
		return Parse
	case errors.Is(err, errIO):
		return IO
	case errors.As(err, &c):
		return c.reason()
	case errors.Is(err, fs.ErrPermission):
		return Permission
	case errors.Is(err, unix.ENOTTY), errors.Is(err, unix.EINVAL), errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENOSYS):
		return Unsupported
	case errors.Is(err, unix.EIO), errors.Is(err, unix.ENODEV), errors.Is(err, unix.ENXIO), errors.Is(err, unix.ENOENT),
		errors.Is(err, unix.ETIMEDOUT), errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EBUSY), errors.Is(err, unix.EINTR):
		return IO
	}
	return Other
}
