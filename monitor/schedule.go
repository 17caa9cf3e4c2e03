package monitor

import (
	"hash/fnv"
	"time"

	"github.com/robfig/cron/v3"
)

// Every is a schedule aligned to the epoch: due at every multiple of period. Unlike cron's own @every it does not depend on when
// the program was started, so restarts do not shift it and schedules whose periods divide each other coincide. Period is at
// least 1 s; less is taken as that.
func Every(period time.Duration) cron.Schedule { return every(max(period, time.Second)) }

type every time.Duration

func (e every) Next(t time.Time) time.Time {
	n := t.UnixNano()
	return time.Unix(0, n-n%int64(e)+int64(e)).In(t.Location())
}

// passes is when any workload of a target is due: the schedule of its one cron entry.
type passes struct {
	workloads []Scheduled
	phase     time.Duration
}

// specPhase bounds the phase of targets with times of the day in their schedule: who says half past two means it.
const specPhase = 5 * time.Minute

// newPasses takes the phase from host and target, so that the hosts of a fleet, and the targets on a shared array, are not
// probed in step. All workloads of a target have the same phase: what coincides without it still does, and shares a pass.
func newPasses(host string, t Target) passes {
	var limit time.Duration
	for i, w := range t.Workloads {
		if i == 0 || w.Interval < limit {
			limit = w.Interval
		}
	}
	for _, w := range t.Workloads {
		if _, periodic := w.Schedule.(every); !periodic {
			limit = min(limit, specPhase)
		}
	}
	p := passes{workloads: t.Workloads}
	if seconds := uint64(limit / time.Second); seconds > 0 {
		h := fnv.New64a()
		h.Write([]byte(host + "\x00" + t.Name)) // never fails
		p.phase = time.Duration(h.Sum64()%seconds) * time.Second
	}
	return p
}

// Next is the first time after t at which a workload is due; zero when there is none.
func (p passes) Next(t time.Time) time.Time {
	var first time.Time
	for i := range p.workloads {
		if next := p.next(i, t); !next.IsZero() && (first.IsZero() || next.Before(first)) {
			first = next
		}
	}
	return first
}

// next is when one workload is due after t, in UTC; zero when never.
func (p passes) next(workload int, t time.Time) time.Time {
	s := p.workloads[workload].Schedule
	if s == nil {
		return time.Time{}
	}
	next := s.Next(t.UTC().Add(-p.phase))
	if next.IsZero() {
		return next
	}
	return next.Add(p.phase)
}
