package probefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// found is what lies in a folder. A record without data, and neither of them, are both fine: there is nothing to
// lose. Data without a record never gets this far.
type found struct {
	rec  *record     // nil: none
	data *os.File    // O_PATH: good for fstat and for reopening, not for I/O. nil: none
	st   unix.Stat_t // of data
}

func (f found) close() {
	if f.data != nil {
		f.data.Close()
	}
}

const fixData = "nothing was touched; move it away, or delete the folder by hand if it is not needed"

// find reads the record and proves the data file by it. It opens the data file O_PATH, which has no side effect on
// whatever that turns out to be (a FIFO, a device).
func (d *folder) find() (found, error) {
	rec, err := d.readRecord()
	if err != nil {
		return found{}, err
	}
	fd, err := unix.Openat(d.fd(), DataName, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return found{rec: rec}, nil
	}
	if err != nil {
		return found{}, &fs.PathError{Op: "open", Path: d.dataPath(), Err: err}
	}
	f := found{rec: rec, data: os.NewFile(uintptr(fd), d.dataPath())}
	if err := unix.Fstat(fd, &f.st); err != nil {
		f.close()
		return found{}, &fs.PathError{Op: "stat", Path: d.dataPath(), Err: err}
	}
	birth, err := birthTime(fd)
	if err != nil {
		f.close()
		return found{}, fmt.Errorf("%s: %w", d.dataPath(), err)
	}
	if reason := mismatch(rec, f.st, birth); reason != "" {
		f.close()
		return found{}, d.refuse(DataName, reason, fixData)
	}
	return f, nil
}

// mismatch says in words why a file is not provably the recorded one; "" when it is.
func mismatch(rec *record, st unix.Stat_t, birth int64) string {
	if reason := notOurs(st); reason != "" {
		return reason
	}
	switch {
	case rec == nil:
		return "there is no ownership record " + RecordName + " beside it"
	case rec.Inode == 0 && st.Size != 0:
		return fmt.Sprintf("the record says that it was not created yet, and it holds %d bytes", st.Size)
	case rec.Inode == 0:
		return "" // we crashed between creating it and recording that; an empty file is nobody's data
	case st.Ino != rec.Inode:
		return fmt.Sprintf("it is not the recorded file (inode %d, recorded %d)", st.Ino, rec.Inode)
	case birth != 0 && rec.Birth != 0 && birth != rec.Birth:
		return "it is not the recorded file (created at another time)"
	case st.Size > rec.Size:
		return fmt.Sprintf("it has grown to %d bytes, recorded %d", st.Size, rec.Size)
	case rec.filled() && st.Size < rec.Size:
		return fmt.Sprintf("it was cut to %d bytes, recorded %d", st.Size, rec.Size)
	}
	return ""
}

// notOurs says in words why a file cannot be one that we made, whatever a record says; "" when it can.
func notOurs(st unix.Stat_t) string {
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFLNK:
		return "symlink"
	default:
		return "not a regular file"
	}
	switch {
	case st.Nlink != 1:
		return strconv.FormatUint(uint64(st.Nlink), 10) + " hard links"
	case int(st.Uid) != os.Geteuid():
		return fmt.Sprintf("it belongs to user %d, and this is user %d", st.Uid, os.Geteuid())
	case st.Mode&0o077 != 0:
		return fmt.Sprintf("its mode is %04o: others may write or read it", st.Mode&0o777)
	}
	return ""
}

// reopen opens for I/O exactly the file that was proven: through the O_PATH descriptor, not through its name. flags
// are the access mode; O_DIRECT is added.
func reopen(proven *os.File, st unix.Stat_t, flags int) (*os.File, error) {
	fd, err := unix.Open("/proc/self/fd/"+strconv.Itoa(int(proven.Fd())), flags|unix.O_DIRECT|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.EINVAL) {
		return nil, fmt.Errorf("%s: %w: direct I/O is refused there (O_DIRECT: %w)", proven.Name(), ErrUnsupported, err)
	}
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: proven.Name(), Err: err}
	}
	f := os.NewFile(uintptr(fd), proven.Name())
	var again unix.Stat_t
	if err := unix.Fstat(fd, &again); err != nil {
		f.Close()
		return nil, &fs.PathError{Op: "stat", Path: proven.Name(), Err: err}
	}
	if again.Dev != st.Dev || again.Ino != st.Ino || again.Mode != st.Mode || again.Size != st.Size || again.Nlink != st.Nlink {
		f.Close()
		return nil, &RefusedError{Path: proven.Name(), Reason: "it changed while it was being opened", Fix: "try again"}
	}
	return f, nil
}

// birthTime is when an open file was created, in Unix nanoseconds; 0 when the file system does not tell.
func birthTime(fd int) (int64, error) {
	var x unix.Statx_t
	err := unix.Statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_BTIME, &x)
	if noStatx(err) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("statx: %w", err)
	}
	if x.Mask&unix.STATX_BTIME == 0 {
		return 0, nil
	}
	return x.Btime.Sec*1e9 + int64(x.Btime.Nsec), nil
}

// noStatx says whether the error of a statx on an open file is that there is no such system call: old container runtimes
// answer those that they do not know with EPERM.
func noStatx(err error) bool { return errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) }

func (d *folder) dataPath() string { return filepath.Join(d.path, DataName) }
