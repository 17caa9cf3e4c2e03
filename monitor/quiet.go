package monitor

import (
	"cmp"
	"slices"
	"time"
)

// week is the cycle of quiet hours. In UTC every week is as long as any other.
const week = 7 * 24 * time.Hour

// QuietPeriod is a time of every week in which no run is started.
type QuietPeriod struct {
	Begin time.Duration // since Monday 00:00 UTC, below a week
	End   time.Duration // above Begin, by a week at most; it may reach into the next week
}

// Quiet are the quiet periods of a week. They may overlap.
type Quiet []QuietPeriod

// end is when the quiet time ends that [from, from+length] touches, periods that follow without a gap taken together; zero when it
// touches none.
func (q Quiet) end(from time.Time, length time.Duration) time.Time {
	var begin, end time.Time
	q.around(from, func(b, e time.Time) {
		if e.After(from) && !b.After(from.Add(length)) && (begin.IsZero() || b.Before(begin)) {
			begin, end = b, e
		}
	})
	for last := begin; !end.Equal(last) && end.Before(from.Add(week)); { // ends too when there is no other time
		last = end
		q.around(from, func(b, e time.Time) {
			if !b.After(end) && e.After(end) {
				end = e
			}
		})
	}
	return end
}

// around tells the periods that lie near t as times.
func (q Quiet) around(t time.Time, f func(begin, end time.Time)) {
	monday := t.UTC().Truncate(week) // times are counted from a Monday
	for w := range 4 {
		start := monday.Add(time.Duration(w-1) * week)
		for _, p := range q {
			f(start.Add(p.Begin), start.Add(p.End))
		}
	}
}

// next is the first end of quiet time, moved by phase, that lies after t; zero when there is none.
func (q Quiet) next(t time.Time, phase time.Duration) time.Time {
	var next time.Time
	q.around(t, func(_, end time.Time) {
		if at := end.Add(phase); at.After(t) && (next.IsZero() || at.Before(next)) && !q.quiet(end) {
			next = at
		}
	})
	return next
}

func (q Quiet) quiet(t time.Time) bool { return !q.end(t, 0).IsZero() }

// Free is the longest time in a row in which runs may start: a week when there are no quiet hours, 0 when there are no others.
func (q Quiet) Free() time.Duration {
	parts := q.withinWeek()
	if len(parts) == 0 {
		return week
	}
	slices.SortFunc(parts, func(a, b QuietPeriod) int { return cmp.Compare(a.Begin, b.Begin) })
	var free, last time.Duration
	for i, p := range append(parts, QuietPeriod{Begin: parts[0].Begin + week}) {
		if i > 0 {
			free = max(free, p.Begin-last)
		}
		last = max(last, p.End)
	}
	return free
}

// withinWeek is the same quiet time with no period that reaches into the next week.
func (q Quiet) withinWeek() []QuietPeriod {
	var parts []QuietPeriod
	for _, p := range q {
		if p.End <= week {
			parts = append(parts, p)
		} else {
			parts = append(parts, QuietPeriod{p.Begin, week}, QuietPeriod{0, p.End - week})
		}
	}
	return parts
}
