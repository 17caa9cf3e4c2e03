package monitor

import (
	"context"
	"fmt"
	"time"

	"ssd_exporter/blockdev"
	"ssd_exporter/engine"
	"ssd_exporter/smart"
)

// withDefaults puts the documented defaults in place of zero values. Zero is a meaning of its own for InFlight, HotMargin and
// Battery, so these are taken as given unless nothing at all is.
func (g Guards) withDefaults() Guards {
	if g == (Guards{}) {
		g = Guards{InFlight: 2, HotMargin: 5, Battery: true}
	}
	for _, d := range []struct {
		value *float64
		or    float64
	}{{&g.Utilisation, 0.30}, {&g.ForeignIOPS, 200}, {&g.MaxTemp, 70}, {&g.WornWrites, 0.9}} {
		if *d.value == 0 {
			*d.value = d.or
		}
	}
	if g.Window == 0 {
		g.Window = time.Second
	}
	return g
}

// refusal is why a run is not started: a value of the closed set, and words for people.
type refusal struct {
	reason Skip
	text   string
	until  time.Time // of a hold: when it ends; zero: the next pass may try again
}

func refuse(reason Skip, format string, args ...any) *refusal {
	return &refusal{reason: reason, text: fmt.Sprintf(format, args...)}
}

func refuseUntil(end time.Time, reason Skip, format string, args ...any) *refusal {
	r := refuse(reason, format, args...)
	r.until = end
	return r
}

// leafDisk is what the guards look at of one disk below a target.
type leafDisk struct {
	id      blockdev.ID
	kernel  string
	devices []string      // whose counters are the disk's: its namespaces, or itself
	health  *smart.Health // as it is shown; nil: none, or too old
	known   *smart.Health // the last ever; nil: none
	asleep  bool
	mmc     bool
	info    *blockdev.Disk // nil unknown
}

// atRest are the guards that need no measuring, in the order in which they say most: what the disk said of itself last, what the
// kernel says of the file system, and the power supply.
func (g Guards) atRest(fs *blockdev.Filesystem, leaves []leafDisk, writes bool, roots blockdev.Roots) *refusal {
	if r := sleeping(leaves); r != nil {
		return r
	}
	for _, d := range leaves {
		if r := g.condition(d, writes); r != nil {
			return r
		}
	}
	raw := fs.Type == "" // a disk itself, which is only read and may well be write-protected
	switch {
	case fs.ReadOnly && !raw:
		return refuse(SkipReadOnly, "%s is mounted read-only: see the kernel log for why, and remount it", fs.MountPoint)
	case fs.Rebuild:
		return refuse(SkipRebuilding, "the array below is rebuilding or being checked")
	case writes && fs.SizeBytes > 0 && fs.FreeBytes < fs.SizeBytes/50:
		return refuse(SkipNoSpace, "less than 2 %% of %s is free: nothing is written until there is more, reads go on", fs.MountPoint)
	case g.Battery && blockdev.OnBattery(roots):
		return refuse(SkipBattery, "the machine runs on its battery")
	}
	return nil
}

// condition judges the last reading of one disk. What is unknown forbids nothing. A temperature passes, so only a fresh one counts;
// wear and failure stay, so the last that was ever read counts, however long the disk could not be read since.
func (g Guards) condition(d leafDisk, writes bool) *refusal {
	if d.health != nil {
		if r := g.heat(d.kernel, d.health); r != nil {
			return r
		}
	}
	h := d.known
	if h == nil {
		return nil
	}
	switch {
	case h.Critical["read_only"]:
		return refuse(SkipReadOnly, "%s has made itself read-only", d.kernel)
	case h.Healthy != nil && !*h.Healthy, h.Critical["reliability"]:
		return refuse(SkipFailing, "%s says of itself that it is failing", d.kernel)
	case writes && h.Wear.Used != nil && *h.Wear.Used >= g.WornWrites:
		return refuse(SkipWorn, "%s has used %.0f %% of its rated life; from %.0f %% on it is not written to", d.kernel, *h.Wear.Used*100, g.WornWrites*100)
	}
	return nil
}

func (g Guards) heat(kernel string, h *smart.Health) *refusal {
	if h.Critical["temperature"] {
		return refuse(SkipHot, "%s warns of its temperature", kernel)
	}
	now, ok := h.Temperatures["composite"]
	if !ok {
		return nil
	}
	limit, own := h.TemperatureLimits["warning"]
	if limit -= g.HotMargin; !own {
		limit = g.MaxTemp
	}
	if now >= limit {
		return refuse(SkipHot, "%s is at %.0f °C; probing stops at %.0f °C", kernel, now, limit)
	}
	return nil
}

// busy measures for a window what others do on the disks. Nothing of ours runs there meanwhile. Where that cannot be told, nothing
// is started: a disk that is not counted looks idle under any load.
func (g Guards) busy(ctx context.Context, roots blockdev.Roots, leaves []leafDisk) *refusal {
	before := make([]activity, len(leaves))
	for i, d := range leaves {
		before[i] = look(roots, d.devices)
	}
	t := time.NewTimer(g.Window)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
		return refuse(SkipOther, "the exporter is ending")
	}
	for i, d := range leaves {
		after := look(roots, d.devices)
		if r := uncounted(roots, d, before[i], after); r != nil {
			return r
		}
		if text := g.excess(before[i], after); text != "" {
			return refuse(SkipBusy, "%s is busy with others: %s over %v", d.kernel, text, g.Window)
		}
	}
	return nil
}

// uncounted says which device's I/O the kernel does not count, or does not show.
func uncounted(roots blockdev.Roots, d leafDisk, before, after activity) *refusal {
	for i, name := range d.devices {
		switch {
		case !counting(roots, name):
			return refuse(SkipOther, "%s: the kernel counts no I/O (queue/iostats): whether the disk is busy cannot be told; write 1 to it", name)
		case before[i] == nil || after[i] == nil:
			return refuse(SkipOther, "%s: its I/O counters (stat in sysfs) cannot be read: whether the disk is busy cannot be told; check --path.sysfs", name)
		}
	}
	return nil
}

// contendedFor is the least time at the limit of ForeignIOPS whose I/Os make a run contended, in seconds: 20 of them by default.
// Fewer are what a file system does on its own now and then, and in a run of a few milliseconds they are a high rate all the same.
// The child's rule to abort (worker.AbortRule) asks for two samples of 50 ms, which is as many.
const contendedFor = 0.1

// contended says that others used the disk during a run so much that its figures are not the disk's own.
func (g Guards) contended(r *engine.Result) bool {
	return r.ForeignIOPS != nil && r.ForeignIOs != nil &&
		*r.ForeignIOPS > g.ForeignIOPS && float64(*r.ForeignIOs) >= g.ForeignIOPS*contendedFor
}

// activity is the counters of a disk's devices; nil where one cannot be read.
type activity []*blockdev.Counters

func look(roots blockdev.Roots, devices []string) activity {
	a := make(activity, len(devices))
	for i, name := range devices {
		if c, err := blockdev.Read(roots, name); err == nil {
			a[i] = &c
		}
	}
	return a
}

// excess says in words which limit is passed. In flight counts what was there at both ends of the window: a single glance sees
// bursts that mean nothing.
func (g Guards) excess(before, after activity) string {
	ios, inFlight := 0.0, 0
	for i, b := range before {
		a := after[i]
		if b == nil || a == nil {
			continue
		}
		seconds := a.At.Sub(b.At).Seconds()
		if seconds <= 0 {
			continue
		}
		d := a.Sub(*b)
		if use := d.Busy.Seconds() / seconds; use > g.Utilisation {
			return fmt.Sprintf("%.0f %% utilised (limit %.0f %%)", use*100, g.Utilisation*100)
		}
		ios += float64(d.ReadIOs+d.WriteIOs) / seconds
		inFlight += min(a.InFlight, b.InFlight)
	}
	switch {
	case ios > g.ForeignIOPS:
		return fmt.Sprintf("%.0f I/Os per second (limit %.0f)", ios, g.ForeignIOPS)
	case inFlight > g.InFlight:
		return fmt.Sprintf("%d requests in flight (limit %d)", inFlight, g.InFlight)
	}
	return ""
}
