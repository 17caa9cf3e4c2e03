package history

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"time"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
	"golang.org/x/sys/unix"
)

// ErrDamaged says that the file changed under the running program, or that the disk below it could not be read: the call had
// no effect. The next Open sets the file aside.
var ErrDamaged = errors.New("the history file is damaged")

// lockWait is how long Open waits for another process to let go.
const lockWait = time.Second

// Store is the open history file. Its methods may be called from several goroutines; they block while the disk below
// blocks, so a caller that must go on keeps them on a goroutine of their own.
type Store struct {
	db       *bbolt.DB
	path     string
	setAside string
	why      string
}

// Open opens or creates the store. A file that is damaged, of a newer format or of another program is renamed to
// <path>.bad-<UTC time> first; setAside is then its new path and the store is new. The error is ErrLocked (wrapped) when
// another process has it open.
func Open(path string) (s *Store, setAside string, err error) {
	s = &Store{path: path}
	if err := s.examine(); err != nil {
		return nil, "", fmt.Errorf("open history store %s: %w", path, err)
	}
	if err := s.open(); err != nil {
		return nil, s.setAside, fmt.Errorf("open history store %s: %w", path, err)
	}
	return s, s.setAside, nil
}

// SetAside is where a bad file was moved by Open and why, in words; empty when nothing was wrong.
func (s *Store) SetAside() (path, why string) { return s.setAside, s.why }

// Path is the file.
func (s *Store) Path() string { return s.path }

// Close ends the store. It waits for a running Commit.
func (s *Store) Close() error {
	return s.guarded("close", s.db.Close)
}

// examine looks at an existing file under its lock, before bbolt maps it, and moves a bad one away.
func (s *Store) examine() error {
	f, err := os.OpenFile(s.path, os.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%w; the state folder must belong to the user that runs the exporter (--state.path)", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errors.New("not a regular file; remove it or choose another state folder with --state.path")
	}
	if err := lock(f); err != nil {
		return err
	}
	if info, err = f.Stat(); err != nil || info.Size() == 0 {
		return err // created a moment ago and never written: bbolt begins it anew
	}
	if err := verify(f, info.Size()); err != nil {
		return s.moveAway(err)
	}
	return nil
}

func lock(f *os.File) error {
	for deadline := time.Now().Add(lockWait); ; time.Sleep(50 * time.Millisecond) {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, unix.EWOULDBLOCK):
			return fmt.Errorf("lock: %w", err)
		case time.Now().After(deadline):
			return ErrLocked
		}
	}
}

// open opens a file that examine found good or missing, and checks that it is of this format.
func (s *Store) open() error {
	err := s.openDB()
	if err == nil || !bad(err) {
		return err
	}
	if err := s.moveAway(err); err != nil {
		return err
	}
	return s.openDB()
}

// bad says whether an error is about what the file holds, so that it is to be set aside.
func bad(err error) bool {
	for _, target := range []error{errForeign, errNewer, ErrDamaged, berrors.ErrInvalid, berrors.ErrChecksum, berrors.ErrVersionMismatch} {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}

func (s *Store) openDB() error {
	err := s.guarded("open", func() error {
		db, err := bbolt.Open(s.path, 0o600, &bbolt.Options{Timeout: lockWait, FreelistType: bbolt.FreelistMapType, NoStatistics: true})
		switch {
		case errors.Is(err, berrors.ErrTimeout):
			return ErrLocked
		case err != nil:
			return fmt.Errorf("%w; the state folder must exist, be writable and have space (--state.path)", err)
		}
		s.db = db
		return db.Update(initialise)
	})
	if err != nil && s.db != nil {
		err = errors.Join(err, s.Close())
		s.db = nil
	}
	return err
}

var errNewer = errors.New("written by a newer version of this program")

// initialise makes the buckets of a new file and refuses one that is not ours to change.
func initialise(tx *bbolt.Tx) error {
	b := tx.Bucket([]byte(bucketMeta))
	if b == nil {
		if k, _ := tx.Cursor().First(); k != nil {
			return errForeign
		}
		var err error
		if b, err = tx.CreateBucket([]byte(bucketMeta)); err != nil {
			return err
		}
		if err := errors.Join(b.Put([]byte(keyFormat), []byte(formatName)),
			b.Put([]byte(keyVersion), []byte(strconv.Itoa(formatVersion)))); err != nil {
			return err
		}
	}
	if string(b.Get([]byte(keyFormat))) != formatName {
		return errForeign
	}
	version, err := strconv.Atoi(string(b.Get([]byte(keyVersion))))
	if err != nil || version < 1 {
		return fmt.Errorf("%w: format version %q", ErrDamaged, b.Get([]byte(keyVersion)))
	}
	if version > formatVersion {
		return fmt.Errorf("%w (format %d, this one knows %d)", errNewer, version, formatVersion)
	}
	for _, name := range buckets() {
		if _, err := tx.CreateBucketIfNotExists([]byte(name)); err != nil {
			return fmt.Errorf("bucket %s: %w", name, err)
		}
	}
	return nil
}

// moveAway renames the file to a name that nothing has yet.
func (s *Store) moveAway(why error) error {
	base := s.path + ".bad-" + time.Now().UTC().Format("20060102T150405Z")
	aside := base
	for i := 1; ; i++ {
		_, err := os.Lstat(aside)
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil {
			return fmt.Errorf("set the bad file aside (%w): %w", why, err)
		}
		aside = base + "-" + strconv.Itoa(i)
	}
	if err := os.Rename(s.path, aside); err != nil {
		return fmt.Errorf("set the bad file aside (%w): %w", why, err)
	}
	s.setAside, s.why = aside, why.Error()
	return syncDir(filepath.Dir(s.path))
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("sync folder: %w", err)
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, unix.EINVAL) { // some file systems cannot sync folders
		return fmt.Errorf("sync folder %s: %w", dir, err)
	}
	return nil
}

// guarded turns bbolt's panics on damaged pages, and the fault of a mapped page that the disk cannot deliver, into errors:
// neither may end the exporter.
func (s *Store) guarded(doing string, f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%s %s: %w: %v", doing, s.path, ErrDamaged, r)
		}
	}()
	return f()
}
