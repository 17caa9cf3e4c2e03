package monitor

import (
	"context"
	"fmt"
	"time"

	"ssd_exporter/monitor/history"
)

// MostPause is the longest pause. Every pause ends by itself: one that is forgotten must not end all measuring for good.
const MostPause = 30 * 24 * time.Hour

// Pause starts no run for so long, above 0 and at most MostPause, also over restarts; one that goes on comes to its end. It
// replaces an earlier pause. S.M.A.R.T. is read all the same. With the time and an error it is in force, but not stored.
func (m *Monitor) Pause(ctx context.Context, d time.Duration) (until time.Time, err error) {
	if d <= 0 || d > MostPause {
		return time.Time{}, fmt.Errorf("a pause of %v is not possible; accepted: above 0 and up to %d days", d, MostPause/(24*time.Hour))
	}
	until = time.Now().Add(d).Round(0)
	m.change(func() {
		m.paused = until
		m.showPause(time.Now())
		m.record(history.Commit{Paused: &until})
	})
	return until, m.remembered(ctx)
}

// Resume ends a pause; what it has put off is due at the next pass. It says whether there was one.
func (m *Monitor) Resume(ctx context.Context) (was bool, err error) {
	m.change(func() {
		now := time.Now().Round(0)
		if was = m.paused.After(now); !was {
			return
		}
		m.paused = now
		for _, t := range m.targets {
			t.endHold(now)
		}
		m.showPause(now)
		m.record(history.Commit{Paused: &now})
	})
	return was, m.remembered(ctx)
}

// Paused is until when no run is started; zero when that is not so.
func (m *Monitor) Paused() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.paused.After(time.Now()) {
		return time.Time{}
	}
	return m.paused
}

// showPause remarks on a pause, until it is over. Monitor.mu is held.
func (m *Monitor) showPause(now time.Time) {
	text := ""
	if r := m.held(now, 0); r != nil && r.reason == SkipPaused {
		text = r.text
	}
	m.remark("pause", text)
}
