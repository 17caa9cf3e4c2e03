package ledger

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"ssd_exporter/blockdev"
)

// Reservation is bytes set aside on every charged disk. A reservation that is never settled, because its process died,
// stays charged.
type Reservation struct {
	l       *Ledger
	charges []charge // sorted by disk
	purpose Purpose
	bytes   int64                 // on each charge
	key     uint64                // of the target, Fill only
	lent    map[blockdev.ID]int64 // ReserveAgreed only: bytes that the allowance paid for
	settled bool
}

// charge is one disk of a reservation.
type charge struct {
	disk   blockdev.ID
	perDay int64
	times  int64 // how often the caller named it: each time its bytes are charged
}

// Reserve charges bytes to every disk, all or none, for Probe and Sweep. A disk that is named twice is charged twice.
// It fails with ErrBudget when one of the allowances does not cover it, and then nothing was charged; after any other
// error nothing may be written either.
func (l *Ledger) Reserve(disks []Charge, p Purpose, bytes int64, now time.Time) (*Reservation, error) {
	index, ok := p.index()
	if !ok || p == Fill {
		return nil, fmt.Errorf("ledger: %q is not a purpose with a daily allowance", p)
	}
	r := &Reservation{l: l, charges: group(disks), purpose: p, bytes: bytes}
	refill := func(c charge, s *slot) bool {
		// 0 forbids writing, it does not empty the bucket.
		return c.perDay > 0 && s.refill(c.perDay, now)
	}
	take := func(c charge, s *slot) error { return s.take(index, c.perDay, r.bytes*c.times) }
	if err := r.apply(now, refill, take); err != nil {
		return nil, err
	}
	return r, nil
}

// ReserveFill charges the fill of one target, in its own allowance: once per 30 days and target (any stable
// name). bytes is the size of the file, or what is still to be written of one that was left unfinished. It fails with
// ErrBudget when the target was filled within 30 days, and then nothing was charged.
func (l *Ledger) ReserveFill(disks []blockdev.ID, target string, bytes int64, now time.Time) (*Reservation, error) {
	if target == "" {
		return nil, errors.New("ledger: a fill needs the name of its target")
	}
	charges := make([]Charge, len(disks))
	for i, d := range disks {
		charges[i].Disk = d
	}
	r := &Reservation{l: l, charges: group(charges), purpose: Fill, bytes: bytes, key: targetKey(target)}
	l.mu.Lock()
	defer l.mu.Unlock()
	refill := func(charge, *slot) bool { return false }
	take := func(c charge, s *slot) error {
		return s.takeFill(r.key, r.bytes*c.times, now, l.fills[fillKey{c.disk, r.key}])
	}
	if err := r.apply(now, refill, take); err != nil {
		return nil, err
	}
	for _, c := range r.charges {
		l.fills[fillKey{c.disk, r.key}] = true
	}
	return r, nil
}

// Settle returns what was not written: it gives back the difference to the reservation, once. written must not exceed
// the reservation; if it does, the excess is charged and the error is ErrOverrun. Of several disks those that can be
// settled are; the others stay charged in full.
func (r *Reservation) Settle(written int64, now time.Time) error {
	if r == nil || r.settled {
		return errors.New("ledger: there is no open reservation to settle")
	}
	if written < 0 {
		return fmt.Errorf("ledger: %d bytes written cannot be settled", written)
	}
	r.settled = true
	rest := r.bytes - written
	var errs []error
	for _, c := range r.charges {
		errs = append(errs, r.l.update(c.disk, now, func(s *slot) {
			index, _ := r.purpose.index()
			switch {
			case r.lent != nil:
				s.settleAgreed(index, r.bytes*c.times, written*c.times, r.lent[c.disk])
			case r.purpose == Fill:
				s.settleFill(r.key, r.bytes*c.times, written*c.times)
			default:
				s.settle(index, r.bytes*c.times, rest*c.times)
			}
		}))
	}
	if r.purpose == Fill {
		r.l.mu.Lock()
		for _, c := range r.charges {
			delete(r.l.fills, fillKey{c.disk, r.key})
		}
		r.l.mu.Unlock()
	}
	if rest < 0 {
		errs = append(errs, fmt.Errorf("ledger: %d bytes written of %d reserved: %w", written, r.bytes, ErrOverrun))
	}
	return errors.Join(errs...)
}

// entry is one record being charged.
type entry struct {
	rec           *record
	before, after slot
	keep          bool // the refilled, uncharged slot is to be stored even when nothing is charged
	idle          slot
}

// apply locks the records of all charges, refills and charges each slot, and stores all of them, or none. All
// processes lock in the order of the IDs, so that two never wait for each other. refill tells whether its change must
// be kept although nothing is charged (a bucket that has begun must not begin again).
func (r *Reservation) apply(now time.Time, refill func(charge, *slot) bool, take func(charge, *slot) error) error {
	if err := r.check(); err != nil {
		return err
	}
	var open []entry
	defer func() {
		for _, e := range open {
			e.rec.close()
		}
	}()
	var refused error
	for _, c := range r.charges {
		rec, err := r.l.open(c.disk, true)
		if err != nil {
			return err
		}
		e := entry{rec: rec}
		open = append(open, e)
		if e.before, err = rec.load(now); err != nil {
			return err
		}
		e.idle = e.before.clone()
		e.keep = refill(c, &e.idle) || rec.lost
		e.after = e.idle.clone()
		if err := take(c, &e.after); err != nil && refused == nil {
			refused = fmt.Errorf("ledger: %s: %w", c.disk, err)
		}
		open[len(open)-1] = e
	}
	if refused != nil {
		return errors.Join(refused, keepIdle(open))
	}
	return storeAll(open)
}

// check refuses what would overflow or charge nobody.
func (r *Reservation) check() error {
	if len(r.charges) == 0 {
		return errors.New("ledger: there is no disk to charge")
	}
	for _, c := range r.charges {
		if c.perDay < 0 {
			return fmt.Errorf("ledger: %s: allowance of %d bytes a day is negative", c.disk, c.perDay)
		}
		if r.bytes < 0 || r.bytes > math.MaxInt64/4/c.times {
			return fmt.Errorf("ledger: %s: %d bytes cannot be reserved", c.disk, r.bytes)
		}
	}
	return nil
}

// storeAll stores every charged slot. When one fails, those stored before it are put back; that one itself may
// stay charged, which errs on the side of writing less.
func storeAll(open []entry) error {
	for i, e := range open {
		err := e.rec.store(e.after)
		if err == nil {
			continue
		}
		errs := []error{err}
		for _, done := range open[:i] {
			errs = append(errs, done.rec.store(done.before))
		}
		return errors.Join(errs...)
	}
	return nil
}

// keepIdle stores the buckets that began, went back or were lost, although nothing is charged.
func keepIdle(open []entry) error {
	var errs []error
	for _, e := range open {
		if e.keep {
			errs = append(errs, e.rec.store(e.idle))
		}
	}
	return errors.Join(errs...)
}

// update changes one disk's record under its lock.
func (l *Ledger) update(disk blockdev.ID, now time.Time, change func(*slot)) error {
	rec, err := l.open(disk, true)
	if err != nil {
		return err
	}
	defer rec.close()
	s, err := rec.load(now)
	if err != nil {
		return err
	}
	change(&s)
	return rec.store(s)
}

// group sorts the disks and folds those named more than once, with the smallest of their allowances.
func group(disks []Charge) []charge {
	sorted := slices.SortedFunc(slices.Values(disks), func(a, b Charge) int { return cmp.Compare(a.Disk, b.Disk) })
	var out []charge
	for _, d := range sorted {
		if n := len(out); n > 0 && out[n-1].disk == d.Disk {
			out[n-1].times++
			out[n-1].perDay = min(out[n-1].perDay, d.PerDay)
			continue
		}
		out = append(out, charge{disk: d.Disk, perDay: d.PerDay, times: 1})
	}
	return out
}
