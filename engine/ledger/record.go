package ledger

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"ssd_exporter/blockdev"
)

const (
	suffix    = ".ledger"
	maxName   = 200                  // of an ID in a file name; longer ones are cut and hashed
	lockRetry = 2 * time.Millisecond // between attempts at a lock
)

// record is one disk's file, open and locked.
type record struct {
	disk blockdev.ID
	f    *os.File

	// Set by load and kept by store:
	seq  uint64 // of the slot in force
	next int64  // offset of the slot that is not
	lost bool   // load found both slots bad
}

// fileName is where a disk's record lives. IDs are safe as file names by construction (blockdev.Identity.ID); an
// ID from elsewhere that is not is refused.
func fileName(disk blockdev.ID) (string, error) {
	id := string(disk)
	if id == "" || id == "." || id == ".." {
		return "", fmt.Errorf("ledger: %q is not the ID of a disk", id)
	}
	for _, c := range []byte(id) {
		switch {
		case '0' <= c && c <= '9', 'A' <= c && c <= 'Z', 'a' <= c && c <= 'z':
		case c == '#', c == '+', c == '.', c == ':', c == '=', c == '@', c == '_', c == '-':
		default:
			return "", fmt.Errorf("ledger: %q is not the ID of a disk: it contains %q", id, c)
		}
	}
	if len(id) > maxName {
		sum := sha256.Sum256([]byte(id))
		id = id[:maxName] + "~" + hex.EncodeToString(sum[:8]) // "~" occurs in no ID
	}
	return id + suffix, nil
}

// open opens and locks a disk's record: exclusively and creating it when write, else shared. A missing record is
// os.ErrNotExist then.
func (l *Ledger) open(disk blockdev.ID, write bool) (*record, error) {
	name, err := fileName(disk)
	if err != nil {
		return nil, err
	}
	return l.openFile(disk, name, write)
}

// openFile does so by the record's file name.
func (l *Ledger) openFile(disk blockdev.ID, name string, write bool) (*record, error) {
	path := filepath.Join(l.dir, name)
	flags, how := os.O_RDONLY, unix.LOCK_SH
	if write {
		flags, how = os.O_RDWR, unix.LOCK_EX
	}
	f, err := os.OpenFile(path, flags|unix.O_NOFOLLOW, 0)
	if write && errors.Is(err, fs.ErrNotExist) {
		if err = l.create(path); err == nil {
			f, err = os.OpenFile(path, flags|unix.O_NOFOLLOW, 0)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("ledger: opening the write record of %s: %w", disk, err)
	}
	r := &record{disk: disk, f: f}
	if err := flockWithin(f, how, l.wait); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

// create puts a complete new record in place. It is written beside and linked, so that nobody ever sees an empty file,
// which would count as a lost record; when another process was first, its record stays.
func (l *Ledger) create(path string) error {
	tmp, err := os.CreateTemp(l.dir, ".new-*")
	if err != nil {
		return err
	}
	defer func() {
		_ = tmp.Close() // it was synced
		_ = os.Remove(tmp.Name())
	}()
	if err := l.giveToOwner(tmp); err != nil {
		return err
	}
	b := newSlot().encode()
	if _, err := tmp.Write(append(b, b...)); err != nil {
		return err
	}
	if err := tmp.Sync(); err != nil {
		return err
	}
	if err := os.Link(tmp.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncDir(l.dir)
}

// giveToOwner lets root, running a command by hand, make a record that the service can use: it belongs to the owner
// of the folder.
func (l *Ledger) giveToOwner(f *os.File) error {
	if os.Geteuid() != 0 {
		return nil
	}
	fi, err := os.Stat(l.dir)
	if err != nil {
		return err
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok || st.Uid == 0 {
		return nil
	}
	return f.Chown(int(st.Uid), int(st.Gid))
}

// flockWithin takes a flock, trying for at most wait. A blocking flock could not be given up.
func flockWithin(f *os.File, how int, wait time.Duration) error {
	for deadline := time.Now().Add(wait); ; time.Sleep(lockRetry) {
		err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case err == unix.EINTR: //nolint:errorlint // a bare errno
		case err != unix.EWOULDBLOCK: //nolint:errorlint // a bare errno
			return fmt.Errorf("ledger: locking %s: %w", f.Name(), err)
		case time.Now().After(deadline):
			return fmt.Errorf("ledger: %s: %w (waited %v)", f.Name(), ErrLocked, wait)
		}
	}
}

// load reads the slot in force. When both are bad the record was lost, and an empty bucket takes its place.
func (r *record) load(now time.Time) (slot, error) {
	b := make([]byte, 2*slotSize)
	n, err := r.f.ReadAt(b, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return slot{}, fmt.Errorf("ledger: reading the write record of %s: %w", r.disk, err)
	}
	var best slot
	r.seq, r.next, r.lost = 0, 0, true
	for off := 0; off+slotSize <= n; off += slotSize {
		s, err := decode(b[off : off+slotSize])
		if err == nil && (r.lost || s.seq > best.seq) {
			best = s
			r.seq, r.next, r.lost = s.seq, int64(slotSize-off), false
		}
	}
	if r.lost {
		return lostSlot(now.UnixNano()), nil
	}
	return best, nil
}

// store writes s to the slot that is not in force and waits until it is on disk: then it is in force.
func (r *record) store(s slot) error {
	s.seq = r.seq + 1
	if _, err := r.f.WriteAt(s.encode(), r.next); err != nil {
		return fmt.Errorf("ledger: writing the write record of %s: %w", r.disk, err)
	}
	if err := unix.Fdatasync(int(r.f.Fd())); err != nil {
		return fmt.Errorf("ledger: syncing the write record of %s: %w", r.disk, err)
	}
	r.seq, r.next = s.seq, slotSize-r.next
	return nil
}

// close gives up the lock. The file was synced by store, so an error of close has nothing to say.
func (r *record) close() { _ = r.f.Close() }

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
