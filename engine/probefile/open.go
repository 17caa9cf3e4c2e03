package probefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"ssd_exporter/blockdev"
	"ssd_exporter/engine"
)

// File is an open, proven probe file, locked against other processes, or a raw disk that is only read. It must be
// closed.
type File struct {
	data   *os.File
	folder *folder // nil: a raw disk
	target engine.Target
	state  State
}

// Open proves and opens an existing, filled file; write asks for writing too. Errors are RefusedError, SpaceError (write
// only), ErrBusy, ErrUnsupported, ErrNotFilled, fs.ErrNotExist (no probe file), or wrap an errno.
func Open(dir string, write bool, fs blockdev.Filesystem) (*File, error) {
	f, err := open(dir, write, fs)
	if err != nil {
		return nil, fmt.Errorf("opening the probe file: %w", err)
	}
	return f, nil
}

func open(dir string, write bool, fsys blockdev.Filesystem) (_ *File, err error) {
	if err := supported(dir, fsys); err != nil {
		return nil, err
	}
	d, err := openFolder(dir, false)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			d.close()
		}
	}()
	if err := d.acquire(); err != nil {
		return nil, err
	}
	f, err := d.find()
	if err != nil {
		return nil, err
	}
	defer f.close()
	switch {
	case f.data == nil:
		return nil, &fs.PathError{Op: "open", Path: d.dataPath(), Err: fs.ErrNotExist}
	case !f.rec.filled():
		return nil, fmt.Errorf("%s: %w (%d of %d bytes)", d.dataPath(), ErrNotFilled, f.rec.Position, f.rec.Size)
	}
	mode := unix.O_RDONLY
	if write {
		mode = unix.O_RDWR
		if need := writeFloor(fsys.SizeBytes); fsys.FreeBytes < need {
			return nil, &SpaceError{Path: d.path, Free: fsys.FreeBytes, Need: need, Total: fsys.SizeBytes}
		}
	}
	data, err := reopen(f.data, f.st, mode)
	if err != nil {
		return nil, err
	}
	if err = measurable(data, fsys); err == nil {
		err = d.proveExtents(data, *f.rec)
	}
	if err != nil {
		data.Close()
		return nil, err
	}
	return &File{
		data:   data,
		folder: d,
		target: target(data, f.rec.Size, write, fsys),
		state:  f.rec.state(dir),
	}, nil
}

// measurable refuses a file or disk when nothing could show that a cache answers in the disk's place: neither are the disks
// known, whose counters would tell, nor does the kernel say that direct I/O works on it. Opening with O_DIRECT proves nothing,
// tmpfs and FUSE allow it too. What the kernel says ends at the top device: below one that software makes (a ZFS volume, a
// loop device) a cache may answer all the same.
func measurable(data *os.File, fsys blockdev.Filesystem) error {
	if len(fsys.Leaves) > 0 {
		return nil
	}
	what := "the kernel does not say that direct I/O works there"
	if fsys.Software {
		what = "the device on top is made by software"
	} else if _, _, ok := blockdev.DirectAlign(int(data.Fd())); ok {
		return nil
	}
	why := fsys.Why
	if why == "" {
		why = "no reason is known"
	}
	return fmt.Errorf("%s: %w: the disks below are unknown (%s), and %s, so that memory might answer in their place; choose another folder or disk",
		data.Name(), ErrUnsupported, why, what)
}

// proveExtents refuses a file in which something was punched out or shared since it was filled.
func (d *folder) proveExtents(data *os.File, r record) error {
	known, reason, err := checkExtents(int(data.Fd()), r.Size)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", data.Name(), err)
	case reason != "":
		return d.refuse(DataName, reason, "exclude the folder from snapshots and deduplication, and delete it to have it made again, at most once in 30 days")
	case !known && r.Extents == extentsVerified:
		return d.refuse(DataName, "its extents can no longer be verified", "delete the folder to have it made again")
	}
	return nil
}

// OpenRaw opens a block device read-only. path may be a symbolic link (/dev/disk/by-id/…); what it leads to must be
// a block device.
func OpenRaw(path string, fs blockdev.Filesystem) (*File, error) {
	f, err := openRaw(path, fs)
	if err != nil {
		return nil, fmt.Errorf("opening the disk: %w", err)
	}
	return f, nil
}

func openRaw(path string, fsys blockdev.Filesystem) (*File, error) {
	if err := supported(path, fsys); err != nil {
		return nil, err
	}
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	proven := os.NewFile(uintptr(fd), path)
	defer proven.Close()
	var st, again unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFBLK {
		return nil, &RefusedError{Path: path, Reason: "not a block device", Fix: "give a disk, or a folder to be probed"}
	}
	fd, err = unix.Open("/proc/self/fd/"+strconv.Itoa(fd), unix.O_RDONLY|unix.O_DIRECT|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	data := os.NewFile(uintptr(fd), path)
	if err := unix.Fstat(fd, &again); err != nil {
		err = &fs.PathError{Op: "stat", Path: path, Err: err}
		return nil, errors.Join(err, data.Close())
	}
	if again.Mode != st.Mode || again.Rdev != st.Rdev {
		return nil, errors.Join(&RefusedError{Path: path, Reason: "it changed while it was being opened", Fix: "try again"}, data.Close())
	}
	if err := measurable(data, fsys); err != nil {
		return nil, errors.Join(err, data.Close())
	}
	size, err := data.Seek(0, 2) // the size of a block device is where its end is
	if err != nil {
		return nil, errors.Join(err, data.Close())
	}
	return &File{
		data:   data,
		target: target(data, size, false, fsys),
		state:  State{Dir: path, Size: size, Filled: true},
	}, nil
}

// Target is what the engine gets. It is valid until Close.
func (f *File) Target() engine.Target { return f.target }

// State is what the record says; of a raw disk only Dir and Size are known.
func (f *File) State() State { return f.state }

// Close gives up the file and its lock.
func (f *File) Close() error {
	err := f.data.Close()
	if f.folder != nil {
		f.folder.close()
	}
	return err
}

func target(data *os.File, size int64, writable bool, fsys blockdev.Filesystem) engine.Target {
	mem, off := alignment(int(data.Fd()), fsys)
	return engine.Target{
		FD:          int(data.Fd()),
		Size:        size,
		Writable:    writable,
		MemAlign:    mem,
		OffsetAlign: off,
		Filesystem:  fsys,
	}
}

// alignment is what direct I/O on fd needs: what the kernel says of this very file, else of its file system, else the
// page size, which suffices everywhere.
func alignment(fd int, fsys blockdev.Filesystem) (mem, off int) {
	if mem, off, ok := blockdev.DirectAlign(fd); ok {
		return mem, off
	}
	if fsys.DirectMem > 0 && fsys.DirectOffset > 0 {
		return fsys.DirectMem, fsys.DirectOffset
	}
	return 4096, 4096
}
