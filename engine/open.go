package engine

import "time"

// Waiting in the kernel until a start time overshoots by the timer's slack and the wake-up of a sleeping processor. So
// a thread of an open loop wakes up early, and looks for completions without waiting until the time has come.
const (
	wakeEarly = 400 * time.Microsecond
	// maxSpinShare bounds that share of the time between arrivals.
	maxSpinShare = 0.25
)

// openLoop issues I/Os at their intended start times, whether earlier ones have come back or not, up to depth
// outstanding. What is intended before the stop and not issued by then enters the latencies at its age.
func (l *lane) openLoop() error {
	p := l.p
	early := min(int64(wakeEarly), int64(l.src.arrivals.interval*maxSpinShare))
	slotFree := p.now() // when an idle slot was there last after a time without
	p.laneFull(p.begin)
	for {
		now := p.now()
		stopped := p.stopped(now)
		if stopped && l.inFlight() == 0 {
			l.censorHeld()
			return nil
		}
		due, err := l.issueDue(now, slotFree)
		if err != nil {
			return err
		}
		hadFree := len(l.free) > 0
		if err := l.submit(l.openWait(p.now(), due, early)); err != nil {
			return err
		}
		now = p.now()
		l.reap(now)
		if !hadFree && len(l.free) > 0 {
			slotFree = now
		}
		if stopped && l.givenUp(now) {
			l.censorHeld()
			return nil
		}
	}
}

// issueDue queues every I/O whose time has come while slots are idle, and returns when the next one is due; 0 when
// that does not matter now.
func (l *lane) issueDue(now, slotFree int64) (due int64, err error) {
	p := l.p
	for len(l.free) > 0 {
		if l.held == nil {
			if !p.admit(now) {
				return 0, nil
			}
			n, at := l.src.arrivals.next()
			l.hold = ticket{n: n, op: l.deck.deal(n), at: p.begin + at}
			l.held = &l.hold
			if l.hold.op == Write && !p.pay(now, l.block) {
				l.held = nil
				return 0, nil
			}
		}
		if p.stopped(now) {
			return 0, nil
		}
		if l.held.at > now {
			return l.held.at, nil
		}
		// How late we are, not the disk: before a slot was free, nobody could have been in time. The disk's response
		// counts from the start that we were able to keep, waits for a slot included; our own lag is booked apart, and
		// spoils the run when it grows so large that starts bunch together.
		at := l.held.at
		lag := max(0, p.now()-max(at, slotFree))
		if !l.issue(l.held, at+lag) {
			return now + int64(50*time.Microsecond), nil // every address is in flight: draw again soon
		}
		l.st.lag.record(lag)
		if len(l.queued) == l.chunk {
			if err := l.submit(noWait); err != nil {
				return 0, err
			}
			now = p.now()
		}
	}
	return 0, nil
}

// openWait is how long to wait in the kernel: until shortly before the next start time, when there is one.
func (l *lane) openWait(now, due, early int64) time.Duration {
	if due == 0 {
		return tick
	}
	return min(max(time.Duration(due-now-early), 0), tick)
}

// censorHeld books the I/O that this thread has drawn and not issued.
func (l *lane) censorHeld() {
	if l.held == nil {
		return
	}
	if stop := l.p.stopAt.Load(); l.held.at < stop {
		l.st.censor(l.held.op, stop-l.held.at)
	}
	l.held = nil
}

// censorRest books the I/Os that were intended before the stop and that no thread of the stream has drawn.
func (s *source) censorRest(p *phase, st *stats) {
	if s.arrivals == nil {
		return
	}
	d := newDeck(s.deckKey, s.permille)
	stop := p.stopAt.Load()
	for {
		n, at := s.arrivals.next()
		if p.begin+at >= stop {
			return
		}
		st.censor(d.deal(n), stop-p.begin-at)
	}
}
