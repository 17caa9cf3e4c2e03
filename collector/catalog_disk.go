package collector

import (
	"time"

	"ssd_exporter/blockdev"
	"ssd_exporter/engine/ledger"
	"ssd_exporter/monitor"
	"ssd_exporter/smart"
)

// diskRows tell which disks there are and what the kernel says of them.
func diskRows() []Row {
	return []Row{
		{
			Name: "ssd_device_info", Kind: Info, Scope: Disk,
			Labels: []string{"device", "model", "serial", "firmware", "family", "transport", "wwn"},
			Help:   "Always 1; the labels identify the disk. device is the kernel's name now, which may change.",
			yield: onDisk(func(d *monitor.DiskState, out sink) {
				i, family := d.Identity, ""
				if d.Health != nil {
					family = d.Health.Family
				}
				out.value(1, i.Kernel, i.Model, i.Serial, i.Firmware, family, i.Transport, i.WWN)
			}),
		},
		{
			Name: "ssd_device_capacity_bytes", Kind: Gauge, Scope: Disk,
			Help: "Capacity of the disk in bytes.",
			yield: onDisk(func(d *monitor.DiskState, out sink) {
				switch {
				case d.Kernel != nil && d.Kernel.Capacity > 0:
					out.value(float64(d.Kernel.Capacity))
				case d.Health != nil:
					out.positive(d.Health.Capacity)
				}
			}),
		},
		{
			Name: "ssd_io_operations_total", Kind: Counter, Scope: Disk,
			Labels: []string{"op"}, Closed: map[string][]string{"op": {"read", "write", "discard", "flush"}},
			Help: "I/Os that the kernel completed on the disk since boot, by anybody.",
			yield: onIO(func(c *blockdev.Counters, out sink) {
				out.value(float64(c.ReadIOs), "read")
				out.value(float64(c.WriteIOs), "write")
				out.value(float64(c.DiscardIOs), "discard")
				out.value(float64(c.FlushIOs), "flush")
			}),
		},
		{
			Name: "ssd_io_bytes_total", Kind: Counter, Scope: Disk,
			Labels: []string{"op"}, Closed: map[string][]string{"op": {"read", "write", "discard"}},
			Help: "Bytes that the kernel moved to or from the disk since boot, for anybody.",
			yield: onIO(func(c *blockdev.Counters, out sink) {
				out.value(float64(c.ReadBytes), "read")
				out.value(float64(c.WriteBytes), "write")
				out.value(float64(c.DiscardBytes), "discard")
			}),
		},
		{
			Name: "ssd_io_seconds_total", Kind: Counter, Scope: Disk,
			Labels: []string{"op"}, Closed: map[string][]string{"op": {"read", "write"}},
			Help: "Time in seconds that I/Os spent in the kernel and the disk, summed over all of them.",
			yield: onIO(func(c *blockdev.Counters, out sink) {
				out.value(c.ReadTime.Seconds(), "read")
				out.value(c.WriteTime.Seconds(), "write")
			}),
		},
		{
			Name: "ssd_io_busy_seconds_total", Kind: Counter, Scope: Disk,
			Help: "Time in seconds with at least one I/O in flight.",
			yield: onIO(func(c *blockdev.Counters, out sink) {
				out.value(c.Busy.Seconds())
			}),
		},
	}
}

// wearRows tell how much of its life a disk has used, and how.
func wearRows() []Row {
	return []Row{
		{
			Name: "ssd_wear_used_ratio", Kind: Gauge, Scope: Disk,
			Help:  "Rated life used: 0 new, 1 all of it; a disk may live on beyond 1.",
			yield: onHealth(func(h *smart.Health, out sink) { out.ratio(h.Wear.Used) }),
		},
		{
			Name: "ssd_wear_source_used_ratio", Kind: Gauge, Scope: Disk, Labels: []string{"source"},
			Help:  "Rated life used according to each source, believed or not.",
			yield: onHealth(func(h *smart.Health, out sink) { each(out, h.Wear.Sources) }),
		},
		{
			Name: "ssd_wear_source_selected", Kind: Gauge, Scope: Disk, Labels: []string{"source"},
			Help: "1 for the source that ssd_wear_used_ratio believes, 0 for the others.",
			yield: onHealth(func(h *smart.Health, out sink) {
				selected := make(map[string]float64, len(h.Wear.Sources))
				for source := range h.Wear.Sources {
					selected[source] = 0
				}
				if h.Wear.Used != nil && h.Wear.Source != "" {
					selected[h.Wear.Source] = 1
				}
				each(out, selected)
			}),
		},
		{
			Name: "ssd_host_written_bytes_total", Kind: Counter, Scope: Disk,
			Help:  "Bytes that hosts wrote to the disk in its life.",
			yield: onHealth(func(h *smart.Health, out sink) { out.count(h.HostWritten) }),
		},
		{
			Name: "ssd_host_read_bytes_total", Kind: Counter, Scope: Disk,
			Help:  "Bytes that hosts read from the disk in its life.",
			yield: onHealth(func(h *smart.Health, out sink) { out.count(h.HostRead) }),
		},
		{
			Name: "ssd_media_written_bytes_total", Kind: Counter, Scope: Disk,
			Help:  "Bytes that the disk wrote to its flash in its life.",
			yield: onHealth(func(h *smart.Health, out sink) { out.count(h.MediaWritten) }),
		},
		{
			Name: "ssd_write_amplification_ratio", Kind: Gauge, Scope: Disk,
			Help:  "Bytes written to flash per byte written by hosts, over the disk's life; below 1 is real.",
			yield: onHealth(func(h *smart.Health, out sink) { out.ratio(h.WriteAmplification) }),
		},
		{
			Name: "ssd_endurance_rated_bytes", Kind: Gauge, Scope: Disk,
			Help: "Bytes that the maker warrants the disk to be written with (TBW).",
			yield: onDisk(func(d *monitor.DiskState, out sink) {
				if d.Rated != nil && d.Rated.Bytes > 0 {
					out.value(float64(d.Rated.Bytes))
				}
			}),
		},
		{
			Name: "ssd_endurance_rated_seconds", Kind: Gauge, Scope: Disk,
			Help: "Warranty term in seconds.",
			yield: onDisk(func(d *monitor.DiskState, out sink) {
				if d.Rated != nil {
					out.seconds(d.Rated.Term)
				}
			}),
		},
		{
			Name: "ssd_rated_writes_used_ratio", Kind: Gauge, Scope: Disk,
			Help: "Bytes written by hosts over ssd_endurance_rated_bytes; may pass 1.",
			yield: onDisk(func(d *monitor.DiskState, out sink) {
				if d.Rated != nil && d.Rated.Bytes > 0 && d.Health != nil && d.Health.HostWritten != nil {
					out.value(float64(*d.Health.HostWritten) / float64(d.Rated.Bytes))
				}
			}),
		},
		{
			Name: "ssd_spare_available_ratio", Kind: Gauge, Scope: Disk,
			Help:  "Spare blocks left, of those the disk was made with.",
			yield: onHealth(func(h *smart.Health, out sink) { out.ratio(h.SpareAvailable) }),
		},
		{
			Name: "ssd_spare_threshold_ratio", Kind: Gauge, Scope: Disk,
			Help:  "Value of ssd_spare_available_ratio below which the disk warns.",
			yield: onHealth(func(h *smart.Health, out sink) { out.ratio(h.SpareThreshold) }),
		},
	}
}

// costRows tell what this program itself costs a disk.
func costRows() []Row {
	return []Row{
		{
			Name: "ssd_probe_written_bytes_total", Kind: Counter, Scope: Disk,
			Labels: []string{"purpose"}, Closed: map[string][]string{"purpose": texts(ledger.Purposes())},
			Help: "Bytes that this program wrote to the disk.",
			yield: onDisk(func(d *monitor.DiskState, out sink) {
				if d.Written == nil {
					return
				}
				for _, p := range ledger.Purposes() {
					out.value(float64(d.Written[p]), string(p))
				}
			}),
		},
		{
			Name: "ssd_probe_write_budget_bytes", Kind: Gauge, Scope: Disk,
			Help: "Bytes that this program may write to the disk in 24 hours.",
			yield: onDisk(func(d *monitor.DiskState, out sink) {
				if d.Budget != nil {
					out.value(float64(d.Budget.PerDay))
				}
			}),
		},
		{
			Name: "ssd_probe_write_budget_remaining_bytes", Kind: Gauge, Scope: Disk,
			Help: "Bytes that may be written now; they grow again over the day, up to ssd_probe_write_budget_bytes.",
			yield: onDisk(func(d *monitor.DiskState, out sink) {
				if d.Budget != nil {
					out.value(float64(d.Budget.Remaining))
				}
			}),
		},
	}
}

func onDisk(f func(*monitor.DiskState, sink)) func(subject, sink) {
	return func(of subject, out sink) { f(of.disk, out) }
}

func onHealth(f func(*smart.Health, sink)) func(subject, sink) {
	return func(of subject, out sink) {
		if of.disk.Health != nil {
			f(of.disk.Health, out)
		}
	}
}

func onIO(f func(*blockdev.Counters, sink)) func(subject, sink) {
	return func(of subject, out sink) {
		if of.disk.IO != nil {
			f(of.disk.IO, out)
		}
	}
}

func seconds(d *time.Duration) *float64 {
	if d == nil {
		return nil
	}
	return new(d.Seconds())
}
