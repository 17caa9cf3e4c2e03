package monitor

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ssd_exporter/blockdev"
	"ssd_exporter/engine"
	"ssd_exporter/engine/worker"
	"ssd_exporter/monitor/history"
	"ssd_exporter/smart"
)

func halved(_ engine.Workload, res *engine.Result) {
	for op := range res.Ops {
		res.Ops[op].Rated /= 2
	}
}

// says makes the disk's next readings have a change.
func (b *bench) says(f func(*smart.Reading)) {
	b.reader.set(func(_ context.Context, d blockdev.Disk) (*smart.Reading, error) {
		r := ata(d, 100, 40)
		f(r)
		return r, nil
	})
}

// Each story is told to a target that has been probed for a while; then everything due in the next hours is skipped for its reason.
func TestEveryReasonToSkip(t *testing.T) {
	for name, c := range map[string]struct {
		story   func(b *bench)
		reason  Skip
		problem string // in the target's problem; "" when reads go on
		reads   bool   // reads go on
	}{
		"a disk that is utilised":      {story: func(b *bench) { go b.others(500*time.Millisecond, 10) }, reason: SkipBusy, problem: "sda is busy with others: 50 % utilised"},
		"many small I/Os":              {story: func(b *bench) { go b.others(0, 900) }, reason: SkipBusy, problem: "900 I/Os per second (limit 200)"},
		"requests in flight":           {story: func(b *bench) { b.counters("sda", 0, 0, 5) }, reason: SkipBusy, problem: "5 requests in flight (limit 2)"},
		"I/O that is not counted":      {story: func(b *bench) { b.write("sys/class/block/sda/queue/iostats", "0\n") }, reason: SkipOther, problem: "sda: the kernel counts no I/O (queue/iostats)"},
		"counters that cannot be read": {story: func(b *bench) { b.write("sys/class/block/sda/stat", "nonsense\n") }, reason: SkipOther, problem: "sda: its I/O counters"},
		"hot":                          {story: func(b *bench) { b.says(func(r *smart.Reading) { *r.TemperatureC = 75 }) }, reason: SkipHot, problem: "75 °C"},
		"failing by its own verdict":   {story: func(b *bench) { b.says(func(r *smart.Reading) { *r.Passed = false }) }, reason: SkipFailing, problem: "failing"},
		"worn out":                     {story: func(b *bench) { b.says(wear(95)) }, reason: SkipWorn, reads: true},
		"asleep": {story: func(b *bench) {
			b.says(func(r *smart.Reading) { *r = smart.Reading{PowerState: "standby", Identity: r.Identity} })
		}, reason: SkipAsleep, problem: "sleeps"},
		"mounted read-only": {story: func(b *bench) { b.world.places["/data"].fs.ReadOnly = true }, reason: SkipReadOnly, problem: "read-only"},
		"array rebuilding":  {story: func(b *bench) { b.world.places["/data"].fs.Rebuild = true }, reason: SkipRebuilding, problem: "rebuilding"},
		"hardly any space":  {story: func(b *bench) { b.world.places["/data"].fs.FreeBytes = terabyte / 100 }, reason: SkipNoSpace, reads: true},
		"on battery": {story: func(b *bench) {
			b.write("sys/class/power_supply/BAT0/type", "Battery\n")
			b.write("sys/class/power_supply/BAT0/status", "Discharging\n")
		}, reason: SkipBattery, problem: "battery"},
		"file locked by another process": {story: func(b *bench) {
			b.world.silent = true
			b.world.answer = func(r worker.Request) (worker.Reply, bool) {
				return worker.Reply{Error: &worker.Error{Kind: worker.Busy, Message: "locked by another process"}}, r.Run != nil
			}
		}, reason: SkipUnfinished, problem: "locked"},
		"place gone": {story: func(b *bench) { delete(b.world.places, "/data") }, reason: SkipOther, problem: "no such folder"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, func(_ *bench, o *Options, _ *pace) { o.PerDay = new(int64(1e12)) })
				b.run()
				b.wait(30 * time.Minute)
				b.world.change(func() { c.story(b) })
				b.wait(11 * time.Minute) // a poll, at least
				before, ran := b.target("data").Events, len(b.world.ran(""))
				b.wait(75 * time.Minute)
				data := b.target("data")
				for _, s := range Skips() {
					if n := data.Events.Skipped[s] - before.Skipped[s]; (n > 0) != (s == c.reason) {
						t.Errorf("%s: %d skips", s, n)
					}
				}
				if !strings.Contains(data.Problem, c.problem) || (c.problem == "") != (data.Problem == "") {
					t.Errorf("problem %q, want %q in it", data.Problem, c.problem)
				}
				var writes, reads int
				for _, e := range b.world.ran("")[ran:] {
					if e.request.Run.Workload.Writes() {
						writes++
					} else {
						reads++
					}
				}
				locked := c.reason == SkipUnfinished // these children started and found the lock
				if writes > 0 && !locked || (reads > 0) != c.reads && !locked {
					t.Errorf("%d runs that write and %d that read were started", writes, reads)
				}
				w := data.workload("write_1m_q2")
				if len(data.workload("sync_4k_q1").Skipped) == 0 || w.Measured == nil {
					t.Errorf("sync_4k_q1 %q; last figures of write_1m_q2 %v", data.workload("sync_4k_q1").Skipped, w.Measured)
				}
				b.stop()
			})
		})
	}
}

func wear(percent uint64) func(*smart.Reading) {
	return func(r *smart.Reading) { r.Statistics[smart.StatPercentageUsed] = percent }
}

// others use the disk: so much busy time and so many I/Os in every second, until the test ends.
func (b *bench) others(busy time.Duration, ios int) {
	for n := 0; ; n++ {
		b.counters("sda", n*ios, time.Duration(n)*busy, 0)
		select {
		case <-time.After(time.Second):
		case <-b.world.free:
			return
		}
	}
}

func TestAHostThatIsAlwaysBusyGetsAShortSample(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, quietSmart)
		b.run()
		b.wait(30 * time.Minute)
		before := b.target("data")
		runs := before.workload("read_4k_q1").Series[0].Runs
		go b.others(900*time.Millisecond, 500)
		ran := len(b.world.ran(""))
		b.wait(9 * 15 * time.Minute)
		got := b.world.ran("")[ran:]
		if len(got) != 1 {
			t.Fatalf("%d runs in nine passes, want one sample", len(got))
		}
		w := got[0].request.Run.Workload
		if w.Writes() || w.Stop.MaxTime > 500*time.Millisecond || got[0].request.Run.Abort.ForeignIOPS != 0 {
			t.Errorf("the sample: %+v", got[0].request.Run)
		}
		data := b.target("data")
		if data.Events.Runs[history.Contended] != 1 || data.workload(w.Name).Series[0].Runs != runs {
			t.Errorf("contended %d, learned %d, want 1 and %d", data.Events.Runs[history.Contended], data.workload(w.Name).Series[0].Runs, runs)
		}
		b.stop()
	})
}

func TestExcess(t *testing.T) {
	g := Guards{}.withDefaults()
	at := time.Unix(1000, 0)
	see := func(ios uint64, busy time.Duration, inFlight, second int) activity {
		return activity{{At: at.Add(time.Duration(second) * time.Second), ReadIOs: ios, Busy: busy, InFlight: inFlight}}
	}
	for name, c := range map[string]struct {
		before, after activity
		busy          bool
	}{
		"idle":                           {see(10, 0, 0, 0), see(10, 0, 0, 1), false},
		"just at the limits":             {see(0, 0, 2, 0), see(200, 300*time.Millisecond, 2, 1), false},
		"utilised":                       {see(0, 0, 0, 0), see(0, 310*time.Millisecond, 0, 1), true},
		"IOPS":                           {see(0, 0, 0, 0), see(201, 0, 0, 1), true},
		"a burst at one end only":        {see(0, 0, 0, 0), see(0, 0, 50, 1), false},
		"in flight at both ends":         {see(0, 0, 3, 0), see(0, 0, 9, 1), true},
		"the device began anew":          {see(1<<40, 0, 0, 0), see(5, 0, 0, 1), false},
		"counters cannot be read":        {activity{nil}, activity{nil}, false},
		"counters can no longer be read": {see(1, 1, 9, 0), activity{nil}, false},
		"no time went by":                {see(0, 0, 9, 0), see(999, time.Second, 9, 0), false},
	} {
		t.Run(name, func(t *testing.T) {
			if text := g.excess(c.before, c.after); (text != "") != c.busy {
				t.Errorf("%q", text)
			}
		})
	}
}

func TestContendedNeedsARateAndANumber(t *testing.T) {
	for name, c := range map[string]struct {
		limit     float64
		ios       int64
		over      time.Duration
		contended bool
	}{
		"nobody else":                          {200, 0, time.Second, false},
		"a journal's nine in 28 ms":            {200, 9, 28 * time.Millisecond, false},
		"a journal's nineteen in 28 ms":        {200, 19, 28 * time.Millisecond, false},
		"twenty in 28 ms":                      {200, 20, 28 * time.Millisecond, true},
		"twenty in a second":                   {200, 20, time.Second, false},
		"at the limit for a second":            {200, 200, time.Second, false},
		"above it for two seconds":             {200, 402, 2 * time.Second, true},
		"a limit of one: one in half a second": {1, 1, time.Second / 2, true},
		"a high limit: 900 in 10 ms":           {10_000, 900, 10 * time.Millisecond, false},
		"a high limit: 1,000 in 10 ms":         {10_000, 1000, 10 * time.Millisecond, true},
	} {
		t.Run(name, func(t *testing.T) {
			rate := float64(c.ios) / c.over.Seconds()
			r := &engine.Result{ForeignIOs: &c.ios, ForeignIOPS: &rate}
			if got := (Guards{ForeignIOPS: c.limit}).contended(r); got != c.contended {
				t.Errorf("%d foreign I/Os, %.0f a second: contended %v", c.ios, rate, got)
			}
		})
	}
	if (Guards{ForeignIOPS: 200}).contended(&engine.Result{}) {
		t.Error("what is unknown makes contended")
	}
}

func TestHeat(t *testing.T) {
	g := Guards{}.withDefaults()
	for name, c := range map[string]struct {
		now, limit float64
		warns, hot bool
	}{
		"cool":                            {now: 40},
		"no limit of its own, below 70":   {now: 69},
		"no limit of its own, at 70":      {now: 70, hot: true},
		"own limit 80, at 74":             {now: 74, limit: 80},
		"own limit 80, within the margin": {now: 75, limit: 80, hot: true},
		"it warns itself":                 {now: 30, limit: 80, warns: true, hot: true},
		"no temperature known":            {now: -1},
	} {
		t.Run(name, func(t *testing.T) {
			h := &smart.Health{Temperatures: map[string]float64{"composite": c.now}, TemperatureLimits: map[string]float64{}, Critical: map[string]bool{"temperature": c.warns}}
			if c.limit > 0 {
				h.TemperatureLimits["warning"] = c.limit
			}
			if c.now < 0 {
				h.Temperatures = nil
			}
			if r := g.condition(leafDisk{kernel: "sda", health: h}, false); (r != nil) != c.hot || r != nil && r.reason != SkipHot {
				t.Errorf("%+v", r)
			}
		})
	}
}

func TestGuardDefaults(t *testing.T) {
	if g := (Guards{}).withDefaults(); g != (Guards{Utilisation: 0.3, InFlight: 2, ForeignIOPS: 200, Window: time.Second, HotMargin: 5, MaxTemp: 70, WornWrites: 0.9, Battery: true}) {
		t.Errorf("%+v", g)
	}
	if g := (Guards{Utilisation: 1}).withDefaults(); g.InFlight != 0 || g.Battery {
		t.Errorf("given zeros were taken for defaults: %+v", g)
	}
}
