package probefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

const (
	lockName   = RecordName + ".lock"
	tempName   = RecordName + ".tmp"
	tagName    = "CACHEDIR.TAG"
	readmeName = "README.txt"
)

const tagText = `Signature: 8a477f597d28d172789f06886806bc55
# This file marks the folder as a cache for backup programs (https://bford.info/cachedir/). It was made by
# ssd_exporter, whose probe file can be made again at any time.
`

const readmeText = `This folder belongs to ssd_exporter, which measures the speed of the disk below it.

probe.bin   is filled once with random bytes and then read and overwritten by short probes.
probe.json  proves to ssd_exporter that probe.bin is its own. Without it, it touches nothing.

Nothing here is worth a backup. To get rid of it, stop ssd_exporter and delete this folder.
`

// folder is <dir>/ssd_exporter.probe, opened without following links and checked to be ours. Everything inside is
// reached relative to its descriptor, so that renaming or replacing a path component cannot lead elsewhere.
type folder struct {
	dir  string // the target's folder, as it was given
	path string // of this folder, for messages
	f    *os.File
	lock *os.File // nil: not locked
}

// openFolder opens the folder, making it when create. A missing folder (or dir) is fs.ErrNotExist.
func openFolder(dir string, create bool) (*folder, error) {
	// The target's folder itself may be reached through symbolic links: the operator named it.
	parentFD, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: dir, Err: err}
	}
	parent := os.NewFile(uintptr(parentFD), dir)
	defer parent.Close()

	d := &folder{dir: dir, path: filepath.Join(dir, Folder)}
	made := false
	if create {
		switch err := unix.Mkdirat(parentFD, Folder, 0o700); {
		case err == nil:
			made = true
		case !errors.Is(err, fs.ErrExist):
			return nil, &fs.PathError{Op: "mkdir", Path: d.path, Err: err}
		}
	}
	fd, err := unix.Openat(parentFD, Folder, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	switch {
	case errors.Is(err, unix.ELOOP), errors.Is(err, unix.ENOTDIR):
		return nil, d.refuse("", "it is a symbolic link or not a folder", "move it away")
	case err != nil:
		return nil, &fs.PathError{Op: "open", Path: d.path, Err: err}
	}
	d.f = os.NewFile(uintptr(fd), d.path)
	if made {
		err = d.own(parentFD)
	} else {
		err = d.check(parentFD)
	}
	if err != nil {
		d.close()
		return nil, err
	}
	return d, nil
}

// own makes the folder that was just made ours alone. Where that cannot be, because the file system keeps no owners
// or modes (vfat, exfat), it is deleted again.
func (d *folder) own(parentFD int) error {
	// The umask may have taken bits away.
	err := unix.Fchmod(d.fd(), 0o700)
	if err == nil {
		if err = d.check(parentFD); err == nil {
			return nil
		}
	}
	err = fmt.Errorf("%s: %w: no file can be kept private there (%s); choose a folder on another file system", d.path, ErrUnsupported, err.Error())
	if rm := unix.Unlinkat(parentFD, Folder, unix.AT_REMOVEDIR); rm != nil {
		err = errors.Join(err, &fs.PathError{Op: "rmdir", Path: d.path, Err: rm})
	}
	return err
}

// check proves that the opened folder is ours alone.
func (d *folder) check(parentFD int) error {
	var st, parent unix.Stat_t
	if err := unix.Fstat(d.fd(), &st); err != nil {
		return &fs.PathError{Op: "stat", Path: d.path, Err: err}
	}
	if err := unix.Fstat(parentFD, &parent); err != nil {
		return &fs.PathError{Op: "stat", Path: d.dir, Err: err}
	}
	switch {
	case int(st.Uid) != os.Geteuid():
		return d.refuse("", fmt.Sprintf("it belongs to user %d, and this is user %d", st.Uid, os.Geteuid()),
			"run as its owner, or let the owner delete it")
	case st.Mode&0o777 != 0o700:
		return d.refuse("", fmt.Sprintf("its mode is %04o, not 0700", st.Mode&0o777),
			"others may have changed what is in it: look, then chmod 700 or delete it")
	case st.Dev != parent.Dev, isMountPoint(d.fd()):
		return d.refuse("", "another file system or folder is mounted on it", "unmount that")
	}
	return nil
}

// isMountPoint says whether an open folder is the root of a mount. A folder of the same file system that is bound there has
// the same device number as its parent. Kernels before 5.8 do not tell, which counts as no.
func isMountPoint(fd int) bool {
	var x unix.Statx_t
	return unix.Statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_TYPE, &x) == nil && x.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0
}

const fixLock = "delete it; it is made again"

// acquire takes the lock that says that this process alone uses the probe file. It does not wait: ErrBusy.
func (d *folder) acquire() error {
	path := filepath.Join(d.path, lockName)
	// O_RDONLY, so that an existing lock serves on a file system that has become read-only.
	fd, err := unix.Openat(d.fd(), lockName, unix.O_RDONLY|unix.O_CREAT|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0o600)
	switch {
	case errors.Is(err, unix.ELOOP):
		return d.refuse(lockName, "symlink", fixLock)
	case errors.Is(err, unix.EISDIR), errors.Is(err, unix.ENXIO): // a folder, a socket
		return d.refuse(lockName, "not a regular file", fixLock)
	case err != nil:
		return &fs.PathError{Op: "open", Path: path, Err: err}
	}
	f := os.NewFile(uintptr(fd), path)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		f.Close()
		return &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	if reason := notOurs(st); reason != "" && st.Nlink > 0 { // without links it was deleted under us: that is ErrBusy below
		f.Close()
		return d.refuse(lockName, reason, fixLock)
	}
	err = unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
	if err == nil && !d.isStill(lockName, fd) {
		err = unix.EWOULDBLOCK // Remove has deleted it under us: that process is just finishing
	}
	switch {
	case errors.Is(err, unix.EWOULDBLOCK):
		err = fmt.Errorf("%s: %w; wait for it to end", d.path, ErrBusy)
	case err != nil:
		err = &fs.PathError{Op: "flock", Path: path, Err: err}
	default:
		d.lock = f
		return nil
	}
	f.Close()
	return err
}

// isStill says whether name is the regular file that fd has open.
func (d *folder) isStill(name string, fd int) bool {
	var a, b unix.Stat_t
	return unix.Fstat(fd, &a) == nil &&
		unix.Fstatat(d.fd(), name, &b, unix.AT_SYMLINK_NOFOLLOW) == nil &&
		a.Mode&unix.S_IFMT == unix.S_IFREG && a.Dev == b.Dev && a.Ino == b.Ino
}

// explain writes the files for people and backup programs, once. Nothing depends on them, but a folder without them
// would be backed up, so an error counts.
func (d *folder) explain() error {
	for _, f := range []struct{ name, text string }{{tagName, tagText}, {readmeName, readmeText}} {
		fd, err := unix.Openat(d.fd(), f.name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o644)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		path := filepath.Join(d.path, f.name)
		if err != nil {
			return &fs.PathError{Op: "create", Path: path, Err: err}
		}
		file := os.NewFile(uintptr(fd), path)
		_, err = file.WriteString(f.text)
		if err = errors.Join(err, file.Close()); err != nil {
			return err
		}
	}
	return nil
}

// freeSpace is what the file system below has free for us and in all, now, in bytes.
func (d *folder) freeSpace() (free, total int64, err error) {
	var st unix.Statfs_t
	if err := unix.Fstatfs(d.fd(), &st); err != nil {
		return 0, 0, &fs.PathError{Op: "statfs", Path: d.path, Err: err}
	}
	unit := int64(st.Frsize)
	if unit == 0 {
		unit = int64(st.Bsize)
	}
	return int64(st.Bavail) * unit, int64(st.Blocks) * unit, nil
}

// refuse makes the error for name in this folder, "" for the folder itself.
func (d *folder) refuse(name, reason, fix string) error {
	return &RefusedError{Path: filepath.Join(d.path, name), Reason: reason, Fix: fix}
}

func (d *folder) fd() int { return int(d.f.Fd()) }

// close gives up the lock and the folder. Nothing was written through these descriptors, so errors say nothing.
func (d *folder) close() {
	if d.lock != nil {
		d.lock.Close()
	}
	d.f.Close()
}
