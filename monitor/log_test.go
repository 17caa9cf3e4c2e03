package monitor

import (
	"context"
	"log/slog"
	"os"
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

// logged is what the Monitor logs from now on, at INFO and above.
func (b *bench) logged() *lines {
	log := &lines{}
	b.m.log = slog.New(slog.NewTextHandler(log, nil))
	return log
}

// A host that works is no reason to write to anybody.
func TestNormalLifeIsNoWarning(t *testing.T) {
	foreign := func(r *engine.Result) { r.ForeignIOs, r.ForeignIOPS = new(int64(5000)), new(5000.0) }
	for name, c := range map[string]struct {
		story  func(b *bench)
		counts func(Events) uint64 // how often it happened
	}{
		"a busy disk": {
			func(b *bench) { go b.others(900*time.Millisecond, 500) },
			func(e Events) uint64 { return e.Skipped[SkipBusy] },
		},
		"contended runs": {
			func(b *bench) { b.world.shape = func(_ engine.Workload, r *engine.Result) { foreign(r) } },
			func(e Events) uint64 { return e.Runs[history.Contended] },
		},
		"every other run is contended": {
			func(b *bench) {
				n := 0
				b.world.shape = func(_ engine.Workload, r *engine.Result) {
					if n++; n%2 == 0 {
						foreign(r)
					}
				}
			},
			func(e Events) uint64 { return e.Runs[history.Contended] },
		},
		"runs that a busy CPU makes late": {
			func(b *bench) {
				b.world.shape = func(_ engine.Workload, r *engine.Result) {
					r.Valid, r.Reasons = false, []engine.Invalid{engine.InvalidIssueLag}
				}
			},
			func(e Events) uint64 { return e.Invalid[engine.InvalidIssueLag] },
		},
		"runs that others interrupt": {
			func(b *bench) {
				b.world.answer = func(r worker.Request) (worker.Reply, bool) {
					return worker.Reply{Error: &worker.Error{Kind: worker.ForeignIO, Message: "others"}}, r.Run != nil
				}
			},
			func(e Events) uint64 { return e.Aborted[AbortForeignIO] },
		},
		"a disk that sleeps": {
			func(b *bench) {
				b.says(func(r *smart.Reading) { *r = smart.Reading{PowerState: "standby", Identity: r.Identity} })
			},
			func(e Events) uint64 { return e.Skipped[SkipAsleep] },
		},
		"a battery": {
			func(b *bench) {
				b.write("sys/class/power_supply/BAT0/type", "Battery\n")
				b.write("sys/class/power_supply/BAT0/status", "Discharging\n")
			},
			func(e Events) uint64 { return e.Skipped[SkipBattery] },
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				log := b.logged()
				b.run()
				b.wait(30 * time.Minute)
				b.world.change(func() { c.story(b) })
				b.wait(6 * time.Hour)
				if n := c.counts(b.target("data").Events); n < 5 {
					t.Fatalf("it happened %d times", n)
				}
				if n := log.count("level=WARN") + log.count("level=ERROR"); n != 0 {
					t.Errorf("%d warnings:\n%s", n, log)
				}
				if n := log.count("\n"); n > 12 {
					t.Errorf("%d lines in six hours:\n%s", n, log)
				}
				b.stop()
			})
		})
	}
}

func TestARunThatFailsWarnsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, quietSmart)
		log := b.logged()
		b.run()
		b.wait(30 * time.Minute)
		b.world.change(func() {
			b.world.shape = func(w engine.Workload, r *engine.Result) {
				if w.Name == "read_4k_q1" || w.Name == "read_4k_q32" {
					r.Valid, r.Reasons = false, []engine.Invalid{engine.InvalidCache}
				}
			}
		})
		b.wait(6 * time.Hour)
		if n := log.count("level=WARN"); n != 2 {
			t.Errorf("%d warnings of two workloads that fail for hours:\n%s", n, log)
		}
		b.world.change(func() { b.world.shape = nil })
		b.wait(time.Hour)
		if n := log.count("probe: works again"); n != 2 {
			t.Errorf("%d workloads are said to work again:\n%s", n, log)
		}
		b.stop()
	})
}

// Most virtual machines have no S.M.A.R.T., and their owners cannot help it.
func TestNoSmartIsARemark(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, noTargets)
		log := b.logged()
		b.unplug("sda")
		b.write("sys/devices/virtio0/block/vda/size", "2000000\n")
		b.link("sys/class/block/vda", "../../devices/virtio0/block/vda")
		b.run()
		b.wait(time.Hour)
		if n := log.count("no disk with S.M.A.R.T. found"); n != 1 || log.count("level=WARN") != 0 {
			t.Errorf("said %d times:\n%s", n, log)
		}
		if notes := b.m.Snapshot().Notes; len(notes) != 1 || !strings.Contains(notes[0], "no disk with S.M.A.R.T.") {
			t.Errorf("notes %q", notes)
		}
		b.stop()
	})
}

func TestAReadThatSomebodyCanHelpWarnsOnce(t *testing.T) {
	for reason, level := range map[smart.Reason]string{
		smart.Permission: "level=WARN", smart.IO: "level=WARN", smart.Unsupported: "level=INFO",
	} {
		t.Run(string(reason), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, noTargets)
				b.reader.set(func(_ context.Context, d blockdev.Disk) (*smart.Reading, error) {
					return nil, &smart.ReadError{Disk: d.Device, Reason: reason, Err: os.ErrPermission}
				})
				log := b.logged()
				b.run()
				b.wait(5 * time.Hour)
				if log.count(level) != 1 || log.count("\n") != 1 {
					t.Errorf("want one line at %s:\n%s", level, log)
				}
				b.stop()
			})
		})
	}
}
