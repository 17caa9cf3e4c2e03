package monitor

import (
	"context"
	"errors"
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
		until, err := b.m.Pause(context.Background(), 2*time.Hour)
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
		if _, err := b.m.Pause(context.Background(), 48*time.Hour); err != nil {
			t.Fatal(err)
		}
		b.wait(90 * time.Minute)
		ran := len(b.world.ran(""))
		if was, err := b.m.Resume(context.Background()); !was || err != nil {
			t.Error("there was a pause to end", err)
		}
		if was, err := b.m.Resume(context.Background()); was || err != nil {
			t.Error("it was ended twice", err)
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
			if _, err := b.m.Pause(context.Background(), d); err == nil {
				t.Errorf("%v was accepted", d)
			}
		}
		if !b.m.Paused().IsZero() {
			t.Error("paused")
		}
	})
}

// What a person has done is answered for once it is stored, or the answer says that it is not.
func TestWhatAPersonDoesIsStoredBeforeTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, quietSmart)
		b.begin(0)
		b.wait(3 * time.Hour)
		until, err := b.m.Pause(context.Background(), time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		if st, err := b.store.Load(); err != nil || !st.Paused.Equal(until) {
			t.Errorf("stored: paused until %v, %v", st.Paused, err)
		}
		if _, err := b.m.ResetBaseline(context.Background(), "data", "read_4k_q1"); err != nil {
			t.Fatal(err)
		}
		if st, err := b.store.Load(); err != nil || st.Series[series{"all", signalRate}.key("data", "read_4k_q1")].Since.IsZero() {
			t.Errorf("the reset is not stored: %v", err)
		}
		b.stop()
		b.closeStore()
	})
}

func TestWhatCannotBeStoredIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, quietSmart)
		s := hungStore{make(chan struct{})}
		b.m.recorder = newRecorder(s, b.m.log, b.m.pace, func(string) {})
		b.run()
		b.wait(time.Hour)
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if until, err := b.m.Pause(ctx, time.Hour); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "it is in force, but a restart would forget it") {
			t.Errorf("paused until %v: %v", until, err)
		}
		if b.m.Paused().IsZero() {
			t.Error("the pause is not in force")
		}
		close(s.free)
		b.stop()
	})
}
