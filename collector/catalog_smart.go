package collector

import (
	"slices"
	"strconv"

	"ssd_exporter/monitor"
	"ssd_exporter/smart"
)

// smartRows tell a disk's health, and how reading it goes.
func smartRows() []Row {
	return []Row{
		{
			Name: "ssd_smart_healthy", Kind: Gauge, Scope: Disk,
			Help:  "1 when the disk's own verdict of its health is good, 0 when it is bad.",
			yield: onHealth(func(h *smart.Health, out sink) { out.maybe(h.Healthy) }),
		},
		{
			Name: "ssd_critical_warning", Kind: Gauge, Scope: Disk,
			Labels: []string{"kind"}, Closed: map[string][]string{"kind": warningKinds()},
			Help: "1 when the disk raises this warning, else 0.",
			yield: onHealth(func(h *smart.Health, out sink) {
				for _, kind := range warningKinds() {
					if raised, known := h.Critical[kind]; known {
						out.flag(raised, kind)
					}
				}
			}),
		},
		{
			Name: "ssd_media_errors_total", Kind: Counter, Scope: Disk,
			Help:  "Times that the disk could not correct the data it read.",
			yield: onHealth(func(h *smart.Health, out sink) { out.count(h.MediaErrors) }),
		},
		{
			Name: "ssd_reallocated_blocks_total", Kind: Counter, Scope: Disk,
			Help:  "Bad blocks or sectors that were replaced by spare ones, in the disk's own unit.",
			yield: onHealth(func(h *smart.Health, out sink) { out.count(h.Reallocated) }),
		},
		{
			Name: "ssd_program_failures_total", Kind: Counter, Scope: Disk,
			Help:  "Flash program operations that failed.",
			yield: onHealth(func(h *smart.Health, out sink) { out.count(h.ProgramFailures) }),
		},
		{
			Name: "ssd_erase_failures_total", Kind: Counter, Scope: Disk,
			Help:  "Flash erase operations that failed.",
			yield: onHealth(func(h *smart.Health, out sink) { out.count(h.EraseFailures) }),
		},
		{
			Name: "ssd_pending_sectors", Kind: Gauge, Scope: Disk,
			Help:  "Sectors that could not be read and wait to be rewritten.",
			yield: onHealth(func(h *smart.Health, out sink) { out.count(h.PendingSectors) }),
		},
		{
			Name: "ssd_smart_corrections_total", Kind: Counter, Scope: Disk, Labels: []string{"counter"},
			Help:  "Times that this counter of the disk fell and was held at its highest value.",
			yield: onDisk(func(d *monitor.DiskState, out sink) { each(out, d.Corrections) }),
		},
		{
			Name: "ssd_temperature_celsius", Kind: Gauge, Scope: Disk, Labels: []string{"sensor"},
			Help:  "Temperature in degrees Celsius; composite is the disk's main figure.",
			yield: onHealth(func(h *smart.Health, out sink) { each(out, h.Temperatures) }),
		},
		{
			Name: "ssd_temperature_limit_celsius", Kind: Gauge, Scope: Disk,
			Labels: []string{"limit"},
			Help:   "Temperature in degrees Celsius from which on the disk itself speaks of too much heat.",
			yield:  onHealth(func(h *smart.Health, out sink) { each(out, h.TemperatureLimits) }),
		},
		{
			Name: "ssd_thermal_throttle_seconds_total", Kind: Counter, Scope: Disk, Labels: []string{"level"},
			Help:  "Time in seconds that heat slowed the disk down or kept it above a limit.",
			yield: onHealth(func(h *smart.Health, out sink) { each(out, h.ThrottleSeconds) }),
		},
		{
			Name: "ssd_power_on_seconds_total", Kind: Counter, Scope: Disk,
			Help:  "Time in seconds that the disk was powered in its life.",
			yield: onHealth(func(h *smart.Health, out sink) { out.ratio(seconds(h.PowerOn)) }),
		},
		{
			Name: "ssd_power_cycles_total", Kind: Counter, Scope: Disk,
			Help:  "Times that the disk was switched on.",
			yield: onHealth(func(h *smart.Health, out sink) { out.count(h.PowerCycles) }),
		},
		{
			Name: "ssd_unsafe_shutdowns_total", Kind: Counter, Scope: Disk,
			Help:  "Times that the disk lost power without being told before.",
			yield: onHealth(func(h *smart.Health, out sink) { out.count(h.UnsafeShutdowns) }),
		},
		{
			Name: "ssd_power_state", Kind: Gauge, Scope: Disk,
			Labels: []string{"state"}, Closed: map[string][]string{"state": powerStates()},
			Help: "1 for the power state that the disk is in, 0 for the others.",
			yield: onDisk(func(d *monitor.DiskState, out sink) {
				now := powerState(d)
				if now == "" {
					return
				}
				for _, state := range powerStates() {
					out.flag(state == now, state)
				}
			}),
		},
		{
			Name: "ssd_smart_read_success", Kind: Gauge, Scope: Disk,
			Help: "1 when the last attempt to read the disk's health succeeded, else 0.",
			yield: onDisk(func(d *monitor.DiskState, out sink) {
				if d.Smart.Polled {
					out.flag(d.Smart.Success)
				}
			}),
		},
		{
			Name: "ssd_smart_last_read_timestamp_seconds", Kind: Gauge, Scope: Disk,
			Help:  "Unix time at which the health values shown were read.",
			yield: onDisk(func(d *monitor.DiskState, out sink) { out.unix(d.Smart.LastRead) }),
		},
		{
			Name: "ssd_smart_read_duration_seconds", Kind: Gauge, Scope: Disk,
			Help: "Time in seconds that the last attempt to read the disk's health took.",
			yield: onDisk(func(d *monitor.DiskState, out sink) {
				if d.Smart.Polled {
					out.value(d.Smart.Duration.Seconds())
				}
			}),
		},
		{
			Name: "ssd_smart_read_failures_total", Kind: Counter, Scope: Disk,
			Labels: []string{"reason"}, Closed: map[string][]string{"reason": texts(smart.Reasons())},
			Help:  "Attempts to read the disk's health that failed.",
			yield: onDisk(func(d *monitor.DiskState, out sink) { tally(out, d.Smart.Failures, smart.Reasons()) }),
		},
	}
}

// attributeRows are the ATA attributes as they are, for people who know their disk better than the family table does.
func attributeRows() []Row {
	row := func(name, help string, f func(smart.Attribute, sink, ...string)) Row {
		return Row{
			Name: name, Kind: Gauge, Scope: Disk, OptIn: true, Labels: []string{"id", "name"}, Help: help,
			yield: onHealth(func(h *smart.Health, out sink) {
				for _, a := range h.Attributes {
					f(a, out, strconv.Itoa(int(a.ID)), a.Name)
				}
			}),
		}
	}
	return []Row{
		row("ssd_smart_attribute_value", "Normalised value of the ATA attribute.",
			func(a smart.Attribute, out sink, labels ...string) { out.value(float64(a.Value), labels...) }),
		row("ssd_smart_attribute_worst", "Worst normalised value of the ATA attribute so far.",
			func(a smart.Attribute, out sink, labels ...string) { out.value(float64(a.Worst), labels...) }),
		row("ssd_smart_attribute_threshold", "Normalised value of the ATA attribute at which the disk counts as failing.",
			func(a smart.Attribute, out sink, labels ...string) {
				if a.Threshold >= 0 {
					out.value(float64(a.Threshold), labels...)
				}
			}),
		row("ssd_smart_attribute_raw", "The six raw bytes of the ATA attribute as one number, whose meaning is the maker's.",
			func(a smart.Attribute, out sink, labels ...string) { out.value(float64(a.Raw), labels...) }),
	}
}

// warningKinds are the keys of smart.Health.Critical.
func warningKinds() []string {
	return []string{"spare", "temperature", "reliability", "read_only", "volatile_backup", "pmr"}
}

// powerStates are the values of smart.Health.PowerState.
func powerStates() []string { return []string{"active", "idle", "standby", "sleep"} }

// powerState is the state that a disk is in, or "". A disk that was found asleep keeps its older values, of which the power
// state is then wrong.
func powerState(d *monitor.DiskState) string {
	state := ""
	if d.Health != nil {
		state = d.Health.PowerState
	}
	if d.Smart.Asleep && state != "sleep" {
		return "standby"
	}
	if slices.Contains(powerStates(), state) {
		return state
	}
	return ""
}
