package ledger

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"ssd_exporter/blockdev"
)

// Purpose is what bytes were written for; the values of the label "purpose" of ssd_probe_written_bytes_total.
type Purpose string

// Purposes, a closed set.
const (
	Probe Purpose = "probe"
	Fill  Purpose = "fill"
	Sweep Purpose = "sweep"
)

// Purposes lists the closed set in a fixed order.
func Purposes() []Purpose { return []Purpose{Probe, Fill, Sweep} }

// index is the place of a purpose in a slot.
func (p Purpose) index() (int, bool) {
	for i, q := range Purposes() {
		if p == q {
			return i, true
		}
	}
	return 0, false
}

// ErrBudget says that an allowance does not cover a reservation. Nothing was charged.
var ErrBudget = errors.New("write budget is used up")

// ErrLocked says that another process held a disk's record for longer than we wait (two seconds). Nothing was charged.
var ErrLocked = errors.New("record is locked by another process")

// ErrOverrun says that more was written than was reserved. The excess has been charged all the same.
var ErrOverrun = errors.New("more was written than was reserved")

// Charge is one disk to be charged.
type Charge struct {
	Disk   blockdev.ID
	PerDay int64 // bytes this disk may be written to in 24 hours; 0 forbids all writing
}

// Account is the state of one disk's record.
type Account struct {
	PerDay    int64             // as it was asked with
	Remaining int64             // bytes available now, 0 to PerDay
	Written   map[Purpose]int64 // bytes since the record began; a reservation counts once settled, or once its process died
	Reserved  map[Purpose]int64 // bytes of reservations that are not settled
}

// Ledger is a folder of records. It holds no record open between calls and may be used by many goroutines and
// processes at once. Its calls do file I/O on the state folder and hang with that disk: a caller that must not hang
// calls it from a goroutine with a deadline.
type Ledger struct {
	dir   string
	wait  time.Duration // longest wait for a lock
	users *os.File      // locked while the ledger is open: see doc.go

	mu    sync.Mutex
	fills map[fillKey]bool // attempts of this process that are not settled: they cannot be taken for dead ones
}

// fillKey is one target's fill on one disk.
type fillKey struct {
	disk blockdev.ID
	key  uint64
}

// Open returns the ledger in dir, which it makes (0700) when it is missing.
func Open(dir string) (*Ledger, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("ledger: making the folder of write records: %w; give a writable --state.path", err)
	}
	l := &Ledger{dir: dir, wait: 2 * time.Second, fills: make(map[fillKey]bool)}
	if err := l.join(); err != nil {
		return nil, err
	}
	return l, nil
}

// Close says that this process will charge nothing more.
func (l *Ledger) Close() error { return l.users.Close() }

// Account tells the state of a disk's record as a reservation at now would find it. It changes nothing, and a
// disk without a record is not given one.
func (l *Ledger) Account(disk blockdev.ID, perDay int64, now time.Time) (Account, error) {
	if perDay < 0 {
		return Account{}, fmt.Errorf("ledger: %s: allowance of %d bytes a day is negative", disk, perDay)
	}
	s, err := l.peek(disk, now)
	if err != nil {
		return Account{}, err
	}
	if perDay > 0 {
		s.refill(perDay, now)
	} else {
		s.tokens = 0
	}
	a := Account{PerDay: perDay, Remaining: max(0, s.tokens), Written: make(map[Purpose]int64, len(s.written)), Reserved: make(map[Purpose]int64, len(s.open))}
	for i, p := range Purposes() {
		a.Written[p], a.Reserved[p] = s.written[i]-s.open[i], s.open[i]
	}
	return a, nil
}

// peek reads a record under a shared lock.
func (l *Ledger) peek(disk blockdev.ID, now time.Time) (slot, error) {
	r, err := l.open(disk, false)
	if errors.Is(err, os.ErrNotExist) {
		return newSlot(), nil
	}
	if err != nil {
		return slot{}, err
	}
	defer r.close()
	return r.load(now)
}
