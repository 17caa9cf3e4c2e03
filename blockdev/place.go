package blockdev

import (
	"errors"
	"io/fs"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// place is what the kernel says about a path without opening it.
type place struct {
	path    string // absolute, without symbolic links
	mode    uint32 // st_mode
	dev     devno  // of the file system
	rdev    devno  // of the device, when it is a node
	mountID uint64 // 0 unknown
	size    int64  // bytes, of a regular file

	total, free int64 // bytes of the file system
	readOnly    bool

	directMem, directOffset int // STATX_DIOALIGN; 0 not said
}

func (p place) is(kind uint32) bool { return p.mode&unix.S_IFMT == kind }

// locate asks the kernel about a path. It hangs when the file system does.
func locate(path string) (place, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return place{}, err
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return place{}, err
	}
	p, err := statPlace(real)
	if err != nil {
		return place{}, &fs.PathError{Op: "stat", Path: real, Err: err}
	}
	var st unix.Statfs_t
	if err := retry(func() error { return unix.Statfs(real, &st) }); err != nil {
		return place{}, &fs.PathError{Op: "statfs", Path: real, Err: err}
	}
	unit := int64(st.Frsize) // 32 bits wide on 32-bit machines, as are the device numbers of stat on some
	if unit == 0 {
		unit = int64(st.Bsize)
	}
	p.total, p.free = int64(st.Blocks)*unit, int64(st.Bavail)*unit
	p.readOnly = int64(st.Flags)&unix.ST_RDONLY != 0
	return p, nil
}

func statPlace(path string) (place, error) {
	var sx unix.Statx_t
	err := retry(func() error {
		return unix.Statx(unix.AT_FDCWD, path, 0, unix.STATX_BASIC_STATS|unix.STATX_MNT_ID|unix.STATX_DIOALIGN, &sx)
	})
	// Old container runtimes answer system calls that they do not know with EPERM.
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
		return statOnly(path)
	}
	if err != nil {
		return place{}, err
	}
	p := place{
		path: path,
		mode: uint32(sx.Mode),
		dev:  devno{sx.Dev_major, sx.Dev_minor},
		rdev: devno{sx.Rdev_major, sx.Rdev_minor},
		size: int64(sx.Size),
	}
	if sx.Mask&unix.STATX_MNT_ID != 0 {
		p.mountID = sx.Mnt_id
	}
	p.directMem, p.directOffset, _ = directAlign(&sx)
	return p, nil
}

func statOnly(path string) (place, error) {
	var st unix.Stat_t
	if err := retry(func() error { return unix.Stat(path, &st) }); err != nil {
		return place{}, err
	}
	return place{
		path: path,
		mode: st.Mode,
		dev:  devno{unix.Major(uint64(st.Dev)), unix.Minor(uint64(st.Dev))},
		rdev: devno{unix.Major(uint64(st.Rdev)), unix.Minor(uint64(st.Rdev))},
		size: st.Size,
	}, nil
}

// DirectAlign asks an open file for the alignment in bytes that direct I/O on it needs: of buffers in memory, and of
// offsets and lengths (statx STATX_DIOALIGN, Linux 6.1). ok is false when the kernel does not say or when the file
// does not do direct I/O; folders never say, so it must be asked of the file itself.
func DirectAlign(fd int) (mem, offset int, ok bool) {
	var sx unix.Statx_t
	err := retry(func() error { return unix.Statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_DIOALIGN, &sx) })
	if err != nil {
		return 0, 0, false
	}
	return directAlign(&sx)
}

func directAlign(sx *unix.Statx_t) (mem, offset int, ok bool) {
	if sx.Mask&unix.STATX_DIOALIGN == 0 || sx.Dio_mem_align == 0 || sx.Dio_offset_align == 0 {
		return 0, 0, false
	}
	return int(sx.Dio_mem_align), int(sx.Dio_offset_align), true
}

// retry repeats a system call that a signal interrupted, which network file systems allow; the Go runtime sends
// such signals to itself.
func retry(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
