package ledger

import (
	"fmt"
	"time"

	"ssd_exporter/blockdev"
)

// ReserveAgreed charges bytes to every disk, all or none, for a command that a person runs by hand after being told what
// it writes. The daily allowance does not stand in its way: what is left of it is taken, so that the service writes less
// until it has refilled, and what goes beyond is told as written but not owed. Purpose Fill may be named too; the
// allowance of the service's own fills is not touched. A disk whose PerDay is 0 is never written to, whoever
// asks: that is ErrBudget, and then nothing was charged.
func (l *Ledger) ReserveAgreed(disks []Charge, p Purpose, bytes int64, now time.Time) (*Reservation, error) {
	index, ok := p.index()
	if !ok {
		return nil, fmt.Errorf("ledger: %q is not a purpose", p)
	}
	r := &Reservation{l: l, charges: group(disks), purpose: p, bytes: bytes, lent: make(map[blockdev.ID]int64)}
	refill := func(c charge, s *slot) bool { return c.perDay > 0 && s.refill(c.perDay, now) }
	take := func(c charge, s *slot) error {
		lent, err := s.takeAgreed(index, c.perDay, r.bytes*c.times)
		r.lent[c.disk] = lent
		return err
	}
	if err := r.apply(now, refill, take); err != nil {
		return nil, err
	}
	return r, nil
}

// takeAgreed charges bytes and returns how many of them the bucket paid for.
func (s *slot) takeAgreed(p int, perDay, bytes int64) (lent int64, err error) {
	if perDay == 0 {
		return 0, fmt.Errorf("no writing is allowed to this disk: %w", ErrBudget)
	}
	lent = min(bytes, max(0, s.tokens))
	s.tokens -= lent
	s.charge(p, bytes)
	return lent, nil
}

// settleAgreed ends such a charge: the bucket pays for what was written as far as it can.
func (s *slot) settleAgreed(p int, bytes, written, lent int64) {
	s.tokens = addCapped(s.tokens, max(0, lent-written))
	if s.perDay >= 0 {
		s.tokens = min(s.tokens, s.perDay)
	}
	s.close(p, bytes, bytes-written)
}
