package monitor

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestAPauseStopsRunsAndNothingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.begin(0)
		b.wait(3 * time.Hour)
		until, err := b.m.Pause(2 * time.Hour)
		if err != nil || !until.Equal(time.Now().Add(2*time.Hour)) || !b.m.Paused().Equal(until) {
			t.Fatalf("until %v, %v", until, err)
		}
		ran, polls := len(b.world.ran("")), b.reader.count("sda")
		b.wait(time.Hour)
		if n := len(b.world.ran("")) - ran; n != 0 {
			t.Errorf("%d runs in the pause", n)
		}
		if n := b.reader.count("sda") - polls; n < 5 {
			t.Errorf("%d polls in an hour", n)
		}
		data := b.target("data")
		if data.Events.Skipped[SkipPaused] < 4*4 || !strings.Contains(data.Problem, "ssd_exporter resume") {
			t.Errorf("skipped %d, problem %q", data.Events.Skipped[SkipPaused], data.Problem)
		}
		if notes := b.m.Snapshot().Notes; len(notes) != 1 || !strings.Contains(notes[0], "paused until 2000-01-01 05:") {
			t.Errorf("notes %q", notes)
		}
		// It holds over a restart, which may be what it is for.
		b.stop()
		b.closeStore()
		b.store = nil
		b.world.change(func() { b.world.free = make(chan struct{}) })
		ran = len(b.world.ran(""))
		b.begin(time.Minute)
		b.wait(30 * time.Minute)
		if n := len(b.world.ran("")) - ran; n != 0 || !b.m.Paused().Equal(until) {
			t.Errorf("%d runs after the restart; paused until %v", n, b.m.Paused())
		}
		b.wait(time.Until(until.Add(b.m.targets["data"].schedule.phase + time.Minute)))
		if n := len(b.world.ran("")) - ran; n < 8 {
			t.Errorf("%d runs after the end", n)
		}
		if s := b.m.Snapshot(); len(s.Notes) != 0 || b.target("data").Problem != "" || !b.m.Paused().IsZero() {
			t.Errorf("notes %q, problem %q", s.Notes, b.target("data").Problem)
		}
		b.stop()
		b.closeStore()
	})
}

func TestResumeEndsAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, quietSmart)
		b.begin(0)
		b.wait(3 * time.Hour)
		if _, err := b.m.Pause(48 * time.Hour); err != nil {
			t.Fatal(err)
		}
		b.wait(90 * time.Minute)
		ran := len(b.world.ran(""))
		if !b.m.Resume() || b.m.Resume() {
			t.Error("there was one pause to end")
		}
		b.wait(16 * time.Minute)
		if n := len(b.world.ran("")) - ran; n < 8 {
			t.Errorf("%d runs within a quarter of an hour", n)
		}
		st, err := b.store.Load()
		if err != nil || st.Paused.After(time.Now()) {
			t.Errorf("stored: paused until %v, %v", st.Paused, err)
		}
		b.stop()
		b.closeStore()
	})
}

func TestAPauseHasBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		for _, d := range []time.Duration{0, -time.Hour, MostPause + 1} {
			if _, err := b.m.Pause(d); err == nil {
				t.Errorf("%v was accepted", d)
			}
		}
		if !b.m.Paused().IsZero() {
			t.Error("paused")
		}
	})
}
