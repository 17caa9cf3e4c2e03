package ledger

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/bits"
	"slices"
	"time"
)

const (
	day        = 24 * time.Hour
	fillWindow = 30 * day
	fillDeaths = 3 // processes that may die filling one target within the window
)

// refill brings the bucket up to now: what was earned since the last refill at the smaller of the old and the new
// rate (so that a raise does not pay for the past), at most a day's worth, and never beyond perDay in all. A clock
// that went back earns nothing and starts anew from there, or a clock once set to 2035 would stop all writing until
// then. But when it comes forward again, the time up to where it had been was paid for already: a host without a clock
// of its own wakes in 1970 at every start, and would earn a day each time. It reports whether the change must be kept even if nothing is charged: the bucket began, or went back.
func (s *slot) refill(perDay int64, now time.Time) (keep bool) {
	t := now.UnixNano()
	elapsed := t - s.refilled
	switch {
	case s.refilled == 0:
		s.tokens, s.fraction = perDay/4, 0
		keep = true
	case elapsed < 0:
		s.latest = max(s.latest, s.refilled)
		keep = true
	default:
		if s.latest != 0 && t >= s.latest {
			elapsed, s.latest = t-s.latest, 0
		}
		rate := perDay
		if s.perDay >= 0 {
			rate = min(rate, s.perDay)
		}
		s.earn(rate, min(elapsed, int64(day)))
	}
	s.refilled, s.perDay = t, perDay
	if s.tokens >= perDay {
		s.tokens, s.fraction = perDay, 0
	}
	return keep
}

// earn adds rate × elapsed / day exactly: the fraction of a byte is carried, so that a thousand small steps give what
// one large step gives.
func (s *slot) earn(rate, elapsed int64) {
	hi, lo := bits.Mul64(uint64(rate), uint64(elapsed))
	lo, carry := bits.Add64(lo, s.fraction, 0)
	// elapsed <= day, so the quotient is at most rate + 1 and hi < day: Div64 cannot overflow.
	earned, rest := bits.Div64(hi+carry, lo, uint64(day))
	s.tokens = addCapped(s.tokens, int64(earned))
	s.fraction = rest
}

// take charges bytes, or says what is missing and changes nothing.
func (s *slot) take(p int, perDay, bytes int64) error {
	if perDay == 0 {
		return fmt.Errorf("no writing is allowed to this disk: %w", ErrBudget)
	}
	if bytes > s.tokens {
		return fmt.Errorf("%d bytes wanted, %d of %d bytes a day left: %w", bytes, max(0, s.tokens), perDay, ErrBudget)
	}
	s.tokens -= bytes
	s.charge(p, bytes)
	return nil
}

// charge books a reservation.
func (s *slot) charge(p int, bytes int64) {
	s.written[p] = addCapped(s.written[p], bytes)
	s.open[p] = min(addCapped(s.open[p], bytes), s.written[p])
}

// close ends a reservation of bytes of which rest were not written; a negative rest is an overrun. The record may
// have been lost since the charge: it then holds less than is given back.
func (s *slot) close(p int, bytes, rest int64) {
	s.written[p] = max(0, addCapped(s.written[p], -rest))
	s.open[p] = min(max(0, s.open[p]-bytes), s.written[p])
}

// settle gives back rest of the bytes of a charge; a negative rest charges an overrun.
func (s *slot) settle(p int, bytes, rest int64) {
	s.tokens = addCapped(s.tokens, rest)
	if s.perDay >= 0 {
		s.tokens = min(s.tokens, s.perDay)
	}
	s.close(p, bytes, rest)
}

// purposeFill is Fill's place in a slot; its writes have an allowance of their own and leave the bucket alone.
const purposeFill = 1

// takeFill charges one attempt at a fill. mine says that the attempt still open belongs to this process and lives.
func (s *slot) takeFill(key uint64, bytes int64, now time.Time, mine bool) error {
	s.forgetFills(now)
	i := slices.IndexFunc(s.fills, func(f fill) bool { return f.key == key })
	if i < 0 {
		if len(s.fills) == maxFills {
			return fmt.Errorf("probe files of %d targets were filled on this disk within 30 days: %w", maxFills, ErrBudget)
		}
		i = len(s.fills)
		s.fills = append(s.fills, fill{key: key, first: unixSeconds(now)})
	}
	f := &s.fills[i]
	if f.open && !mine {
		f.deaths++
	}
	again := time.Unix(int64(f.first), 0).Add(fillWindow).UTC().Format(time.DateTime)
	switch {
	case f.open && mine:
		return fmt.Errorf("a fill of this target is under way: %w", ErrBudget)
	case f.size > 0 && f.written >= f.size:
		return fmt.Errorf("the probe file of this target was filled within 30 days; put that file back where it was, or wait until %s UTC, when it is made again: %w", again, ErrBudget)
	case f.deaths > fillDeaths:
		return fmt.Errorf("%d processes ended while they filled the probe file of this target; again from %s UTC on: %w",
			f.deaths, again, ErrBudget)
	}
	f.open = true
	f.size = max(f.size, fillUnits(bytes))
	s.charge(purposeFill, bytes)
	return nil
}

// settleFill ends an attempt of bytes that wrote so many of them and gives back the rest.
func (s *slot) settleFill(key uint64, bytes, written int64) {
	s.close(purposeFill, bytes, bytes-written)
	for i := range s.fills {
		if f := &s.fills[i]; f.key == key {
			f.open = false
			f.written = uint32(min(uint64(f.written)+uint64(fillUnits(written)), math.MaxUint32))
		}
	}
}

// forgetFills drops what is older than the window. A first attempt in the future comes from a clock that went back: it
// counts from now on, or it might count for years.
func (s *slot) forgetFills(now time.Time) {
	t := unixSeconds(now)
	s.fills = slices.DeleteFunc(s.fills, func(f fill) bool {
		return t >= f.first && time.Duration(t-f.first)*time.Second >= fillWindow
	})
	for i := range s.fills {
		s.fills[i].first = min(s.fills[i].first, t)
	}
}

func targetKey(target string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(target)) // never fails
	return h.Sum64()
}

// fillUnits rounds up, so that a fill is never booked as smaller than it was.
func fillUnits(bytes int64) uint32 {
	return uint32(min((uint64(bytes)+fillUnit-1)/fillUnit, math.MaxUint32))
}

func unixSeconds(t time.Time) uint32 {
	return uint32(min(max(t.Unix(), 0), math.MaxUint32))
}

// addCapped adds without wrapping around.
func addCapped(a, b int64) int64 {
	c := a + b
	switch {
	case b > 0 && c < a:
		return math.MaxInt64
	case b < 0 && c > a:
		return math.MinInt64
	}
	return c
}
