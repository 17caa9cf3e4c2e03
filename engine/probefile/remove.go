package probefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Stat tells the state without opening the data. It needs no lock and says nothing of one. Errors are RefusedError,
// fs.ErrNotExist (no probe file), or wrap an errno.
func Stat(dir string) (State, error) {
	d, err := openFolder(dir, false)
	if err != nil {
		return State{Dir: dir}, fmt.Errorf("looking at the probe file: %w", err)
	}
	defer d.close()
	f, err := d.find()
	if err != nil {
		return State{Dir: dir}, fmt.Errorf("looking at the probe file: %w", err)
	}
	defer f.close()
	if f.rec == nil || f.data == nil {
		err := &fs.PathError{Op: "stat", Path: d.dataPath(), Err: fs.ErrNotExist}
		return State{Dir: dir}, fmt.Errorf("looking at the probe file: %w", err)
	}
	return f.rec.state(dir), nil
}

// Remove deletes the file and its folder after proof. A folder that holds anything else is refused and left whole.
// Nothing to remove is fs.ErrNotExist.
func Remove(dir string) error {
	if err := remove(dir); err != nil {
		return fmt.Errorf("removing the probe file: %w", err)
	}
	return nil
}

func remove(dir string) error {
	d, err := openFolder(dir, false)
	if err != nil {
		return err
	}
	defer d.close()
	if err := d.acquire(); err != nil {
		return err
	}
	f, err := d.find()
	if err != nil {
		return err
	}
	f.close()
	if err := d.checkNothingElse(); err != nil {
		return err
	}
	// The record goes after the data: without it, data that a crash left would be nobody's.
	for _, name := range ourNames() {
		if err := unix.Unlinkat(d.fd(), name, 0); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return &fs.PathError{Op: "unlink", Path: filepath.Join(d.path, name), Err: err}
		}
	}
	return d.rmdir()
}

// rmdir deletes the folder itself, if it is still the one at its place.
func (d *folder) rmdir() error {
	fd, err := unix.Open(d.dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return &fs.PathError{Op: "open", Path: d.dir, Err: err}
	}
	parent := os.NewFile(uintptr(fd), d.dir)
	defer parent.Close()
	// rmdir deletes nothing but an empty folder, so a race with a rename can do no harm.
	if err := unix.Unlinkat(fd, Folder, unix.AT_REMOVEDIR); err != nil {
		return &fs.PathError{Op: "rmdir", Path: d.path, Err: err}
	}
	return nil
}

// checkNothingElse refuses a folder with files that are not ours.
func (d *folder) checkNothingElse() error {
	names, err := d.f.Readdirnames(-1)
	if err != nil {
		return &fs.PathError{Op: "readdir", Path: d.path, Err: err}
	}
	names = slices.DeleteFunc(names, func(n string) bool { return slices.Contains(ourNames(), n) })
	if len(names) > 0 {
		slices.Sort(names)
		return d.refuse("", "it also holds "+strings.Join(names, ", "), "move that away")
	}
	return nil
}

// ourNames are all files that we make, in the order in which they are deleted.
func ourNames() []string {
	return []string{DataName, tempName, tagName, readmeName, RecordName, lockName}
}
