package ledger

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"ssd_exporter/blockdev"
)

const usersName = "users.lock"

// join takes this process's share of the users' lock. Who gets it alone first knows that every reservation still open
// is a dead process's, and books it as written.
func (l *Ledger) join() error {
	f, err := os.OpenFile(filepath.Join(l.dir, usersName), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return fmt.Errorf("ledger: opening the list of its users: %w; give a writable --state.path", err)
	}
	l.users = f
	if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
		err = errors.Join(l.giveToOwner(f), l.bookTheDead())
	}
	if err == nil {
		// From exclusive to shared in one step is not promised, and not needed: what is booked stays booked. Nobody waits
		// here for longer than another process's booking takes.
		err = flockWithin(f, unix.LOCK_SH, l.wait)
	}
	if err != nil {
		_ = f.Close() // nothing was written to it
		return err
	}
	return nil
}

// bookTheDead counts every open reservation as written.
func (l *Ledger) bookTheDead() error {
	entries, err := os.ReadDir(l.dir)
	if err != nil {
		return fmt.Errorf("ledger: listing the write records: %w", err)
	}
	var errs []error
	for _, e := range entries {
		if !e.Type().IsRegular() || !strings.HasSuffix(e.Name(), suffix) {
			continue
		}
		errs = append(errs, l.bookDead(e.Name()))
	}
	return errors.Join(errs...)
}

// bookDead does so in one record, which is left alone when nothing is open or nothing in it can be read.
func (l *Ledger) bookDead(name string) error {
	r, err := l.openFile(blockdev.ID(strings.TrimSuffix(name, suffix)), name, true)
	if err != nil {
		return err
	}
	defer r.close()
	s, err := r.load(time.Now())
	if err != nil || r.lost || s.open == [3]int64{} {
		return err
	}
	s.open = [3]int64{}
	return r.store(s)
}
