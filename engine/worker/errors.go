package worker

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"golang.org/x/sys/unix"

	"ssd_exporter/engine"
	"ssd_exporter/engine/probefile"
)

// foreignError says that others needed the disk.
type foreignError struct{ iops, limit float64 }

func (e *foreignError) Error() string {
	return fmt.Sprintf("others did %.0f I/Os per second on the disk, and %.0f end a probe", e.iops, e.limit)
}

// describe makes the answer to a failed request. Errors of the packages below already say what was being done and
// to which file; what a person can do is added where they cannot know.
func describe(dir string, err error) *Error {
	kind, fix := classify(err)
	e := &Error{Kind: kind, Message: err.Error()}
	if !strings.Contains(e.Message, dir) {
		e.Message = dir + ": " + e.Message
	}
	if fix != "" {
		e.Message += "; " + fix
	}
	if errno, ok := errors.AsType[unix.Errno](err); ok {
		e.Errno = errnoName(errno)
	}
	return e
}

// errnoName is the usual one of the names that a number has.
func errnoName(errno unix.Errno) string {
	switch errno {
	case unix.EUCLEAN:
		return "EUCLEAN"
	case unix.EOPNOTSUPP:
		return "EOPNOTSUPP"
	}
	return unix.ErrnoName(errno)
}

// classify finds the Kind of an error, and advice where its message has none.
func classify(err error) (kind Kind, fix string) {
	var (
		refused *probefile.RefusedError
		space   *probefile.SpaceError
		foreign *foreignError
	)
	switch {
	case errors.As(err, &refused):
		return Refused, ""
	case errors.As(err, &foreign):
		return ForeignIO, ""
	case errors.Is(err, errAborted), errors.Is(err, errOrphan):
		return Aborted, ""
	case errors.As(err, &space):
		return NoSpace, ""
	case errors.Is(err, probefile.ErrBusy):
		return Busy, ""
	case errors.Is(err, probefile.ErrUnsupported), errors.Is(err, engine.ErrUnfit):
		return Unsupported, ""
	case errors.Is(err, probefile.ErrNotFilled):
		return Missing, "prepare it first"
	}
	return classifyErrno(err)
}

// classifyErrno finds the Kind of an error of the operating system.
func classifyErrno(err error) (kind Kind, fix string) {
	for _, c := range []struct {
		kind   Kind
		fix    string
		errnos []error
	}{
		{NoSpace, "free some space or choose another folder", []error{unix.ENOSPC, unix.EDQUOT}},
		{ReadOnly, "the file system is mounted read-only: see the kernel log for why", []error{unix.EROFS}},
		{Permission, "run as a user who may write there, or change the folder's owner", []error{fs.ErrPermission}},
		{Missing, "", []error{fs.ErrNotExist, unix.ENOTDIR}},
		{Unsupported, "", []error{unix.EOPNOTSUPP, unix.ENOTTY}},
		{IO, "the disk may be failing or gone: see the kernel log and its SMART values", []error{
			unix.EIO, unix.ENODEV, unix.ENXIO, unix.ETIMEDOUT, unix.EREMOTEIO, unix.EBADMSG, unix.EUCLEAN, unix.ESTALE,
			unix.ENODATA, unix.EILSEQ, unix.ENOMEDIUM, unix.ESHUTDOWN, unix.ENOTCONN, unix.ENOLINK,
		}},
	} {
		for _, target := range c.errnos {
			if errors.Is(err, target) {
				return c.kind, c.fix
			}
		}
	}
	return Internal, ""
}
