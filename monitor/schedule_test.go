package monitor

import (
	"fmt"
	"testing"
	"time"

	"github.com/robfig/cron/v3"

	"ssd_exporter/engine"
)

func TestProfilesAreWhatTheyPromise(t *testing.T) {
	want := []struct {
		name     string
		ios      int64
		min, max time.Duration
		interval time.Duration
		written  int64
	}{
		{"read_4k_q1", 4000, time.Second / 2, 2 * time.Second, 15 * time.Minute, 0},
		{"cold_4k_q1", 4000, time.Second / 2, 2 * time.Second, 15 * time.Minute, 0},
		{"read_4k_q32", 10000, time.Second / 2, 2 * time.Second, 15 * time.Minute, 0},
		{"read_1m_q2", 256, 0, 2 * time.Second, 15 * time.Minute, 0},
		{"mixed80_4k_q4", 5000, 0, 3 * time.Second, time.Hour, 4_096_000},
		{"mixed20_4k_q4", 5000, 0, 3 * time.Second, time.Hour, 16_384_000},
		{"sync_4k_q1", 200, 0, 3 * time.Second, time.Hour, 819_200},
		{"open80_4k", 1250, 0, 5 * time.Second, time.Hour, 1_024_000},
		{"write_1m_q2", 256, 0, 3 * time.Second, 6 * time.Hour, 268_435_456},
	}
	light := Light()
	if len(light) != len(want) {
		t.Fatalf("%d workloads, want %d", len(light), len(want))
	}
	perDay := int64(0)
	for i, w := range light {
		x := want[i]
		if w.Name != x.name || w.Stop.MaxIOs != x.ios || w.Stop.MinTime != x.min || w.Stop.MaxTime != x.max || w.Interval != x.interval || w.MaxWritten() != x.written {
			t.Errorf("%s: %+v every %v writes %d, want %+v", w.Name, w.Stop, w.Interval, w.MaxWritten(), x)
		}
		if err := w.Validate(); err != nil {
			t.Errorf("%s: %v", w.Name, err)
		}
		if w.Warmup.MaxIOs != 64 || w.Warmup.MaxWriteBytes != 0 {
			t.Errorf("%s: warm-up %+v, want 64 reads", w.Name, w.Warmup)
		}
		region := engine.Hot
		if w.Name == coldWorkload {
			region = engine.Cold
		}
		if w.Streams[0].Region != region {
			t.Errorf("%s touches %s", w.Name, w.Streams[0].Region)
		}
		perDay += w.MaxWritten() * int64(24*time.Hour/w.Interval)
	}
	if perDay > 1_650_000_000 {
		t.Errorf("%d bytes a day, promised are 1.6 GB", perDay)
	}
	for _, w := range ReadOnly() {
		if w.Writes() {
			t.Errorf("read_only writes: %s", w.Name)
		}
	}
}

func TestEveryIsAlignedToTheEpoch(t *testing.T) {
	at := func(s string) time.Time {
		v, err := time.Parse(time.RFC3339Nano, s)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, c := range []struct {
		period     time.Duration
		from, want string
	}{
		{15 * time.Minute, "2026-03-01T12:00:00Z", "2026-03-01T12:15:00Z"},
		{15 * time.Minute, "2026-03-01T12:14:59.999Z", "2026-03-01T12:15:00Z"},
		{6 * time.Hour, "2026-03-01T12:15:00Z", "2026-03-01T18:00:00Z"},
		{7 * time.Second, "1970-01-01T00:00:08Z", "1970-01-01T00:00:14Z"},
		{time.Millisecond, "2026-03-01T12:00:00Z", "2026-03-01T12:00:01Z"}, // below a second is a second
	} {
		if got := Every(c.period).Next(at(c.from)); !got.Equal(at(c.want)) {
			t.Errorf("every %v after %s: %v, want %s", c.period, c.from, got, c.want)
		}
	}
}

func TestPhase(t *testing.T) {
	target := func(name string, w ...Workload) Target { return Target{Name: name, Workloads: w} }
	phases := map[time.Duration]int{}
	for i := range 200 {
		p := newPasses(fmt.Sprint("host", i), target("data", Light()...))
		if p.phase < 0 || p.phase >= 15*time.Minute {
			t.Fatalf("phase %v is not below the shortest interval", p.phase)
		}
		phases[p.phase]++
	}
	if len(phases) < 150 {
		t.Errorf("200 hosts share %d phases", len(phases))
	}
	if a, b := newPasses("h", target("a", Light()...)), newPasses("h", target("b", Light()...)); a.phase == b.phase {
		t.Error("two targets of a host are probed in step")
	}
	if a, b := newPasses("h", target("a", Light()...)), newPasses("h", target("a", Light()...)); a.phase != b.phase {
		t.Error("the phase is not the same after a restart")
	}
	nightly, err := cron.ParseStandard("30 2 * * *")
	if err != nil {
		t.Fatal(err)
	}
	w := Light()[0]
	w.Schedule, w.Interval = nightly, 24*time.Hour
	for i := range 50 {
		if p := newPasses(fmt.Sprint(i), target("a", w)); p.phase >= specPhase {
			t.Fatalf("half past two was moved by %v", p.phase)
		}
	}
}

func TestCoincidentWorkloadsShareAPass(t *testing.T) {
	p := newPasses("host", Target{Name: "data", Workloads: Light()})
	at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	passes, together := 0, 0
	for next := p.Next(at); next.Before(at.Add(24 * time.Hour)); next = p.Next(next) {
		passes++
		n := 0
		for i := range p.workloads {
			if p.next(i, next.Add(-time.Second)).Equal(next) {
				n++
			}
		}
		if n == len(p.workloads) {
			together++
		}
	}
	if passes != 96 || together != 4 {
		t.Errorf("%d passes a day, %d of them with every workload; want 96 and 4", passes, together)
	}
}

func TestAScheduleWithoutANextTimeNeverComes(t *testing.T) {
	never, err := cron.ParseStandard("0 2 30 2 *")
	if err != nil {
		t.Fatal(err)
	}
	w := Light()[0]
	w.Schedule = never
	p := newPasses("h", Target{Name: "a", Workloads: []Workload{w}})
	if next := p.Next(time.Unix(0, 0)); !next.IsZero() {
		t.Errorf("30 February comes at %v", next)
	}
}
