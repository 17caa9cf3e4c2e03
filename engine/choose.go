package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// candidates are the backends to try on a target, best first, and why in this order.
func (pl *plan) candidates(nowait func(fd int, size int64) bool) ([]Backend, string) {
	switch {
	case pl.fdatasync():
		// One call after the other is what a database does, and what is timed.
		return []Backend{Pread}, "pwrite and fdatasync, one after the other in one thread per outstanding I/O"
	case pl.opts.Backend != Auto:
		return []Backend{pl.opts.Backend}, "asked for"
	case nowait(pl.target.FD, pl.target.Size):
		return []Backend{URing, AIO, Pread}, "best that works here"
	case pl.deepest() == 1:
		// Without NOWAIT support io_uring hands every I/O to a kernel worker, which costs more than the I/O.
		return []Backend{Pread, AIO}, "the device does not take I/O without blocking (RWF_NOWAIT), and depth is 1"
	}
	return []Backend{AIO, Pread}, "the device does not take I/O without blocking (RWF_NOWAIT), which makes io_uring slow"
}

// assembleBest opens the first candidate that works, and says in words why it is that one.
func (pl *plan) assembleBest(e environment) (c *crew, kind Backend, why string, err error) {
	kinds, reason := pl.candidates(e.nowait)
	var refusals []string
	var errs []error
	for _, kind := range kinds {
		c, err := assemble(pl, kind, e.open)
		if err == nil {
			return c, kind, strings.Join(append([]string{reason}, refusals...), "; "), nil
		}
		refusals = append(refusals, fmt.Sprintf("%s does not work: %v%s", kind, err, pl.hint(kind, err)))
		errs = append(errs, fmt.Errorf("%s: %w%s", kind, err, pl.hint(kind, err)))
	}
	return nil, "", "", fmt.Errorf("open an I/O engine for workload %q: %w", pl.Name, errors.Join(errs...))
}

// hint says what stands in the way of a backend, where the kernel tells.
func (pl *plan) hint(kind Backend, err error) string {
	switch {
	case kind == URing && (errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES)):
		if v := pl.sysctl("kernel/io_uring_disabled"); v != "" && v != "0" {
			return " (kernel.io_uring_disabled = " + v + ")"
		}
		return " (probably a seccomp filter, as containers have)"
	case kind == URing && errors.Is(err, unix.ENOSYS):
		return " (not in this kernel, or a seccomp filter)"
	case kind == URing && errors.Is(err, unix.ENOMEM):
		return " (locked memory: RLIMIT_MEMLOCK)"
	case kind == AIO && errors.Is(err, unix.EAGAIN):
		return fmt.Sprintf(" (fs.aio-nr = %s of fs.aio-max-nr = %s)", pl.sysctl("fs/aio-nr"), pl.sysctl("fs/aio-max-nr"))
	}
	return ""
}

func (pl *plan) sysctl(name string) string {
	b, err := os.ReadFile(filepath.Join(pl.opts.Roots.Procfs, "sys", name))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// supportsNowait asks the target with one small read. Only a clear no counts: the flag is unknown to old kernels, and
// an error of the disk will show in the run.
func supportsNowait(fd int, size int64) bool {
	n := pageAligned(1)
	if size < int64(n) {
		return true
	}
	mem, err := newArena(n)
	if err != nil {
		return true
	}
	defer mem.free()
	_, err = unix.Preadv2(fd, [][]byte{mem.mem}, 0, unix.RWF_NOWAIT)
	return !errors.Is(err, unix.EOPNOTSUPP)
}
