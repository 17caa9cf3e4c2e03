package monitor

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"ssd_exporter/blockdev"
	"ssd_exporter/smart"
)

// spinning makes sda a disk of 7200 revolutions a minute that has done something since boot.
func spinning(b *bench, o *Options, _ *pace) {
	b.write("sys/class/block/sda/queue/rotational", "1\n")
	b.counters("sda", 5000, time.Minute, 0)
	b.spins(7200)
	o.Targets = nil
}

func (b *bench) spins(rpm int) {
	b.reader.set(func(_ context.Context, d blockdev.Disk) (*smart.Reading, error) {
		r := ata(d, 100, 40)
		r.RotationRate = &rpm
		return r, nil
	})
}

func TestAnIdleSpinningDiskIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, spinning)
		b.run()
		b.wait(time.Minute)
		first := b.disk("TESTDISK_S1")
		b.wait(72 * time.Hour)
		if n := b.reader.count("sda"); n != 1 {
			t.Errorf("it was read %d times in three days without I/O", n)
		}
		d := b.disk("TESTDISK_S1")
		if d.Health == nil || !d.Smart.Success || !d.Smart.Idle || !d.Smart.LastRead.Equal(first.Smart.LastRead) {
			t.Errorf("its values, which keep their age: %+v", d.Smart)
		}
		for range 3 {
			b.counters("sda", 5000+int(time.Now().Unix()%1000)+1, time.Minute, 0)
			before := b.reader.count("sda")
			b.wait(2 * time.Minute)
			if n := b.reader.count("sda") - before; n != 1 {
				t.Errorf("%d reads within two minutes of I/O, want 1", n)
			}
			if d := b.disk("TESTDISK_S1"); d.Smart.Idle || time.Since(d.Smart.LastRead) > 2*time.Minute {
				t.Errorf("after I/O: %+v", d.Smart)
			}
			b.wait(5 * time.Hour)
			if n := b.reader.count("sda") - before; n != 1 {
				t.Errorf("%d reads after one I/O", n)
			}
		}
		b.stop()
	})
}

func TestDisksThatAreReadAllTheSame(t *testing.T) {
	for name, story := range map[string]func(b *bench){
		"others use it": func(b *bench) {
			go func() {
				for n := 5001; ; n++ {
					b.counters("sda", n, time.Minute, 0)
					select {
					case <-time.After(time.Minute):
					case <-b.world.free:
						return
					}
				}
			}()
		},
		"a request is in flight":             func(b *bench) { b.counters("sda", 5000, time.Minute, 1) },
		"it does not spin":                   func(b *bench) { b.write("sys/class/block/sda/queue/rotational", "0\n") },
		"it knows better than the kernel":    func(b *bench) { b.spins(0) },
		"the kernel does not count its I/O":  func(b *bench) { b.write("sys/class/block/sda/queue/iostats", "0\n") },
		"its counters have never moved":      func(b *bench) { b.counters("sda", 0, 0, 0) },
		"its counters cannot be read at all": func(b *bench) { b.write("sys/class/block/sda/stat", "garbage\n") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, spinning)
				story(b)
				b.run()
				b.wait(6*time.Hour + time.Minute)
				if n := b.reader.count("sda"); n < 36 || n > 38 {
					t.Errorf("%d reads in six hours, want one in ten minutes", n)
				}
				if b.disk("TESTDISK_S1").Smart.Idle {
					t.Error("it is called idle")
				}
				b.stop()
			})
		})
	}
}

// With queue/iostats_passthrough our own commands are counted.
func TestOurOwnReadsDoNotMakeADiskActive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, spinning)
		ios, rpm := 5000, 5400
		b.reader.set(func(_ context.Context, d blockdev.Disk) (*smart.Reading, error) {
			ios += 7
			b.counters("sda", ios, time.Minute, 0)
			r := ata(d, 100, 40)
			r.RotationRate = &rpm
			return r, nil
		})
		b.run()
		b.wait(24 * time.Hour)
		if n := b.reader.count("sda"); n != 1 {
			t.Errorf("%d reads", n)
		}
		b.stop()
	})
}

func TestAnIdleDiskThatCannotBeReadIsTriedTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, spinning)
		b.reader.set(func(_ context.Context, d blockdev.Disk) (*smart.Reading, error) {
			return nil, &smart.ReadError{Disk: d.Device, Reason: smart.IO}
		})
		b.run()
		b.wait(24 * time.Hour)
		if n := b.reader.count("sda"); n != failedPolls {
			t.Errorf("%d reads, want %d", n, failedPolls)
		}
		b.stop()
	})
}

// A disk that is not read may have gone to sleep since: whoever wants to probe it asks first, and does not even look at the folder.
func TestADiskThatFellAsleepUnseenIsNotProbed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, spinning, func(_ *bench, o *Options, _ *pace) {
			o.Targets = []Target{{Name: "data", Dir: "/data", FileSize: 1 << 30, Workloads: Light()}}
		})
		b.run()
		b.wait(2 * time.Hour)
		if n := b.target("data").Events.Skipped[SkipAsleep]; n != 0 {
			t.Fatalf("%d runs were skipped while it was awake", n)
		}
		b.says(func(r *smart.Reading) { *r = smart.Reading{PowerState: "standby", Identity: r.Identity} })
		var children int
		b.world.change(func() { children = len(b.world.log) })
		b.wait(6 * time.Hour)
		b.world.change(func() { children = len(b.world.log) - children })
		if children != 0 {
			t.Errorf("%d children were started on a sleeping disk", children)
		}
		if data := b.target("data"); data.Events.Skipped[SkipAsleep] == 0 || data.reason() != string(SkipAsleep) {
			t.Errorf("problem %q, skipped %v", data.Problem, data.Events.Skipped)
		}
		reads := b.reader.count("sda")
		b.wait(6 * time.Hour)
		if n := b.reader.count("sda") - reads; n != 0 {
			t.Errorf("it was asked %d times whether it still sleeps, though nobody used it", n)
		}
		b.spins(7200)
		b.counters("sda", 6000, time.Minute, 0)
		b.wait(20 * time.Minute)
		if data := b.target("data"); data.Problem != "" || time.Since(data.LastSuccess) > 20*time.Minute {
			t.Errorf("after somebody woke it: problem %q, last success %v", data.Problem, data.LastSuccess)
		}
		b.stop()
	})
}

// reason is why the first workload was last skipped.
func (s TargetState) reason() string { return string(s.Workloads[0].Skipped) }
