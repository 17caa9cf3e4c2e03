package monitor

import "time"

// A hold is a time in which no run is started because a person said so: quiet hours, or a pause for maintenance. Runs that are due
// meanwhile are skipped, and due again at its end, moved by the target's phase so that a fleet does not begin as one. S.M.A.R.T. is
// read all the same.

// held is the hold that a run from now on, of this length, would touch; nil when there is none. Monitor.mu is held.
func (m *Monitor) held(now time.Time, length time.Duration) *refusal {
	if m.paused.After(now) {
		return refuseUntil(m.paused, SkipPaused, "probing is paused until %s UTC; ssd_exporter resume ends that", m.paused.UTC().Format(time.DateTime))
	}
	if end := m.options.Quiet.end(now, length); !end.IsZero() {
		return refuseUntil(end, SkipQuiet, "quiet hours until %s UTC", end.Format("Mon 15:04"))
	}
	return nil
}

// hold skips what is due while there is a hold, at every pass that it costs: what is held is counted for as long as it lasts. It
// says whether there is one.
func (t *target) hold() (held bool) {
	t.m.change(func() {
		now := time.Now()
		r := t.m.held(now, 0)
		if r == nil {
			return
		}
		held = true
		for _, w := range t.workloads {
			if w.isDue(now) || w.skipped.held() && !w.owed.After(now) {
				t.skip(w, r)
				t.setProblem(r)
			}
		}
	})
	return held
}

// wouldMeetHold refuses what would last into a hold.
func (t *target) wouldMeetHold(length time.Duration) *refusal {
	t.m.mu.Lock()
	defer t.m.mu.Unlock()
	return t.m.held(time.Now(), length)
}

// endHold makes due at the next pass what a hold that is no longer there has put off. Monitor.mu is held.
func (t *target) endHold(now time.Time) {
	if t.m.held(now, 0) != nil {
		return
	}
	for _, w := range t.workloads {
		if w.skipped.held() && w.next.After(now) {
			w.next = t.schedule.Next(now)
		}
	}
}

// held says that a run was skipped for a hold.
func (r *refusal) held() bool { return r != nil && !r.until.IsZero() }

// timetable is when the passes of a target come: by its workloads' schedules, and after each hold.
type timetable struct{ t *target }

// Next is called by cron, from its own goroutine.
func (x timetable) Next(now time.Time) time.Time {
	m, s := x.t.m, x.t.schedule
	m.mu.Lock()
	defer m.mu.Unlock()
	next := s.Next(now)
	for _, at := range []time.Time{m.options.Quiet.next(now, s.phase), m.paused.Add(s.phase)} {
		if at.After(now) && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return next
}
