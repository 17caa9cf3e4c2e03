package monitor

import (
	"testing"
	"testing/synctest"
	"time"

	"ssd_exporter/monitor/history"
)

// at is so many hours after a Monday 00:00 UTC.
func at(hours float64) time.Time {
	return time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC).Add(time.Duration(hours * float64(time.Hour)))
}

func hours(pairs ...float64) Quiet {
	var q Quiet
	for i := 0; i < len(pairs); i += 2 {
		q = append(q, QuietPeriod{time.Duration(pairs[i] * float64(time.Hour)), time.Duration(pairs[i+1] * float64(time.Hour))})
	}
	return q
}

// nightly is 22:00 to 06:00 every day.
func nightly() Quiet {
	var q Quiet
	for day := range 7 {
		q = append(q, hours(float64(24*day+22), float64(24*day+30))...)
	}
	return q
}

func TestQuietEnds(t *testing.T) {
	for name, c := range map[string]struct {
		q      Quiet
		from   float64
		length time.Duration
		want   float64 // hours; 0: not quiet
	}{
		"none":                                  {nil, 3, time.Hour, 0},
		"before":                                {hours(10, 12), 9, 59 * time.Minute, 0},
		"reaching into it":                      {hours(10, 12), 9, time.Hour, 12},
		"at its first moment":                   {hours(10, 12), 10, 0, 12},
		"within":                                {hours(10, 12), 11, 0, 12},
		"at its last moment it is over":         {hours(10, 12), 12, 0, 0},
		"a second follows without a gap":        {hours(12, 13, 10, 12), 11, 0, 13},
		"a second overlaps":                     {hours(10, 12, 11, 15), 10.5, 0, 15},
		"a gap of a minute":                     {hours(10, 12, 12+1./60, 13), 11, 0, 12},
		"every night: an evening":               {nightly(), 23, 0, 30},
		"every night: a morning":                {nightly(), 5.5, 0, 6},
		"every night: Monday from Sunday":       {nightly(), 1, 0, 6},
		"every night: Sunday into Monday":       {nightly(), 6*24 + 23, 0, 7*24 + 6},
		"every night and the weekend":           {append(nightly(), hours(5*24, 7*24)...), 4*24 + 22, 0, 7*24 + 6},
		"the whole week ends the search anyway": {hours(0, 7*24), 3, 0, 3 * 7 * 24},
	} {
		t.Run(name, func(t *testing.T) {
			got := c.q.end(at(c.from), c.length)
			if c.want == 0 && !got.IsZero() || c.want != 0 && !got.Equal(at(c.want)) {
				t.Errorf("ends %v", got)
			}
		})
	}
}

func TestQuietFree(t *testing.T) {
	for name, c := range map[string]struct {
		q    Quiet
		want float64
	}{
		"none":             {nil, 7 * 24},
		"one period":       {hours(10, 12), 7*24 - 2},
		"every night":      {nightly(), 16},
		"nights, weekends": {append(nightly(), hours(5*24, 7*24)...), 16},
		"all but an hour":  {hours(6, 7*24+5), 1},
		"a week":           {hours(0, 7*24), 0},
		"a week from noon": {hours(12, 7*24+12), 0},
		"two halves":       {hours(0, 84, 84, 168), 0},
		"overlapping":      {hours(0, 100, 50, 60, 90, 120), 48},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.q.Free(); got != time.Duration(c.want*float64(time.Hour)) {
				t.Errorf("%v free", got)
			}
		})
	}
}

func TestAMonitorThatMayNeverProbeIsRefused(t *testing.T) {
	o := Options{Quiet: hours(0, 7*24)}
	if _, err := o.checked(); err == nil {
		t.Error("accepted")
	}
}

// The bench's clock starts on a Saturday at midnight.
func TestNothingStartsInQuietHoursOrLastsIntoThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(_ *bench, o *Options, _ *pace) { o.Quiet = nightly() })
		b.run()
		b.wait(5 * time.Hour)
		data := b.target("data")
		if len(b.world.ran("")) != 0 || len(b.world.ran("prepare")) != 0 {
			t.Fatalf("in the night: %d runs, %d fills", len(b.world.ran("")), len(b.world.ran("prepare")))
		}
		if data.Filesystem == nil || b.disk(b.id("sda")).Health == nil {
			t.Error("what the target lies on, and how its disk does, is not known")
		}
		b.wait(72 * time.Hour)
		for _, e := range b.world.ran("") {
			longest := e.request.Run.Workload.Warmup.MaxTime + e.request.Run.Workload.Stop.MaxTime
			for _, x := range []time.Time{e.begin, e.begin.Add(longest)} {
				if h := x.UTC().Hour(); h >= 22 || h < 6 {
					t.Errorf("%s from %v on", e.what, e.begin)
				}
			}
		}
		data = b.target("data")
		if data.Events.Skipped[SkipQuiet] == 0 || data.Events.Runs[history.Success] < 3*16*4*4 {
			t.Errorf("skipped %v, runs %v", data.Events.Skipped, data.Events.Runs)
		}
		if polls := b.reader.count("sda"); polls < 77*6-2 {
			t.Errorf("%d polls in 77 hours", polls)
		}
		b.stop()
	})
}

// As long as it is quiet, what it costs is counted, pass by pass; its end brings what was due, moved by the phase.
func TestQuietRunsAreDueAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, quietSmart, func(_ *bench, o *Options, _ *pace) {
			o.Quiet = hours(5*24+12, 5*24+17.5)
			ws := Light()
			ws[len(ws)-1].Schedule, ws[len(ws)-1].Interval = Every(24*time.Hour), 24*time.Hour // write_1m_q2
			o.Targets[0].Workloads = ws
		})
		b.run()
		b.wait(12*time.Hour - time.Minute)
		end := time.Date(2000, 1, 1, 17, 30, 0, 0, time.UTC)
		phase := b.m.targets["data"].schedule.phase
		before := b.target("data").Events.Skipped[SkipQuiet]
		for h := 13; h <= 17; h++ {
			b.wait(time.Hour)
			now := b.target("data").Events.Skipped[SkipQuiet]
			if now < before+4*4 { // four passes of at least the four reads
				t.Errorf("at %d h: %d skips in the last hour", h, now-before)
			}
			before = now
			for _, w := range b.target("data").Workloads {
				if w.Skipped == SkipQuiet && !w.Next.Equal(end.Add(phase)) {
					t.Errorf("%s is due at %v, want %v", w.Workload.Name, w.Next, end.Add(phase))
				}
			}
		}
		ran := len(b.world.ran(""))
		b.wait(time.Until(end.Add(phase + time.Minute)))
		names := map[string]bool{}
		for _, e := range b.world.ran("")[ran:] {
			names[e.what] = true
			if e.begin.Before(end.Add(phase)) {
				t.Errorf("%s began at %v", e.what, e.begin)
			}
		}
		if len(names) != 8 || names["write_1m_q2"] { // the daily one was not due
			t.Errorf("after the quiet hours %v ran", names)
		}
		if p := b.target("data").Problem; p != "" {
			t.Errorf("problem %q", p)
		}
		b.stop()
	})
}

func TestQuietHoursChangeWithAReload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, quietSmart, func(_ *bench, o *Options, _ *pace) { o.Quiet = hours(5*24+2, 5*24+20) })
		b.run()
		b.wait(4 * time.Hour)
		ran := len(b.world.ran(""))
		b.wait(2 * time.Hour)
		if n := len(b.world.ran("")) - ran; n != 0 {
			t.Fatalf("%d runs in quiet hours", n)
		}
		b.apply(func(o *Options) { o.Quiet = nil })
		b.wait(31 * time.Minute)
		if n := len(b.world.ran("")) - ran; n < 8 {
			t.Errorf("%d runs in half an hour after the quiet hours were taken out", n)
		}
		b.apply(func(o *Options) { o.Quiet = hours(5*24+6, 5*24+20) })
		ran = len(b.world.ran(""))
		b.wait(2 * time.Hour)
		if n := len(b.world.ran("")) - ran; n != 0 {
			t.Errorf("%d runs after new quiet hours came", n)
		}
		b.stop()
	})
}
