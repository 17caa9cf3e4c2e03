package probefile

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The fiemap interface of linux/fiemap.h and linux/fs.h, which x/sys does not have.
const (
	fsIocFiemap    = 0xC020660B // _IOWR('f', 11, struct fiemap), the same number on all architectures
	fiemapFlagSync = 0x1

	extentLast      = 0x1    // FIEMAP_EXTENT_LAST
	extentUnknown   = 0x2    // the location is not known
	extentDelalloc  = 0x4    // not allocated yet
	extentEncoded   = 0x8    // compressed or encrypted
	extentEncrypted = 0x80   // encrypted
	extentInline    = 0x200  // inside the metadata
	extentUnwritten = 0x800  // allocated, never written: reads return zeros and touch no disk
	extentShared    = 0x2000 // also belongs to another file or snapshot
)

type fiemapExtent struct {
	logical, physical, length uint64
	_                         [2]uint64
	flags                     uint32
	_                         [3]uint32
}

type fiemap struct {
	start, length       uint64
	flags, mapped, room uint32
	_                   uint32
	extents             [256]fiemapExtent
}

// checkExtents proves that every byte of an open file, from 0 to size, has been written to a place of its own on the
// device. known is false where the file system does not answer FIEMAP. reason says in words what is wrong; "" is good.
func checkExtents(fd int, size int64) (known bool, reason string, err error) {
	next := uint64(0) // the first byte not yet proven
	for next < uint64(size) {
		m := fiemap{start: next, length: uint64(size) - next, flags: fiemapFlagSync}
		m.room = uint32(len(m.extents))
		if err := ioctlFiemap(fd, &m); err != nil {
			if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOTTY) {
				return false, "", nil
			}
			return false, "", fmt.Errorf("asking for the extents (FIEMAP): %w", err)
		}
		if m.mapped == 0 || m.mapped > m.room {
			return true, fmt.Sprintf("there is a hole at byte %d", next), nil
		}
		for _, e := range m.extents[:m.mapped] {
			if e.logical > next {
				return true, fmt.Sprintf("there is a hole at byte %d", next), nil
			}
			if bad := badExtent(e.flags); bad != "" {
				return true, fmt.Sprintf("the extent at byte %d is %s", e.logical, bad), nil
			}
			next = max(next, e.logical+e.length)
			if e.flags&extentLast != 0 && next < uint64(size) {
				return true, fmt.Sprintf("there is a hole at byte %d", next), nil
			}
		}
	}
	return true, "", nil
}

// badExtent says why reads of an extent would not measure the device, or writes to it not stay in place.
func badExtent(flags uint32) string {
	switch {
	case flags&extentUnwritten != 0:
		return "allocated but not written"
	case flags&(extentDelalloc|extentUnknown) != 0:
		return "not on the device yet"
	case flags&extentShared != 0:
		return "shared with a snapshot or a copy"
	case flags&extentInline != 0:
		return "stored inside the metadata"
	case flags&extentEncoded != 0 && flags&extentEncrypted == 0:
		return "compressed"
	}
	return ""
}

func ioctlFiemap(fd int, m *fiemap) error {
	for {
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), fsIocFiemap, uintptr(unsafe.Pointer(m)))
		switch errno {
		case 0:
			return nil
		case unix.EINTR:
			continue
		default:
			return errno
		}
	}
}

const fsNocowFlag = 0x00800000 // FS_NOCOW_FL of linux/fs.h

// setNocow switches copy-on-write, checksums and compression off for an empty file on btrfs. With them direct I/O goes
// through the page cache, and every write moves the data.
func setNocow(fd int) error {
	flags, err := unix.IoctlGetUint32(fd, unix.FS_IOC_GETFLAGS)
	if err != nil {
		return fmt.Errorf("reading the file's flags: %w", err)
	}
	if err := unix.IoctlSetPointerInt(fd, unix.FS_IOC_SETFLAGS, int(flags|fsNocowFlag)); err != nil {
		return fmt.Errorf("setting NOCOW: %w", err)
	}
	return nil
}
