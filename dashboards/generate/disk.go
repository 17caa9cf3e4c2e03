package main

import (
	"fmt"

	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// Selectors of one disk: a device_id is unique on a host only.
const (
	host = `job="$job", instance="$instance"`
	one  = host + `, device_id="$device_id"`
)

// ofDisk is a metric of the disk. more is further matchers, or "".
func ofDisk(metric, more string) string {
	if more != "" {
		more = ", " + more
	}
	return fmt.Sprintf(`%s{%s%s}`, metric, one, more)
}

// onDisk are the targets on the disk, also those that it shares with others and which have no device_id therefore.
const onDisk = ` and on (job, instance, target) ssd_probe_target_device_info{` + one + `}`

// ofTargets is a metric of the targets on the disk; ofWorkloads the same for the chosen workloads.
func ofTargets(metric, more string) string {
	if more != "" {
		more = ", " + more
	}
	return fmt.Sprintf(`%s{%s%s}%s`, metric, host, more, onDisk)
}

func ofWorkloads(metric, more string) string {
	matchers := `workload=~"$workload"`
	if more != "" {
		matchers += ", " + more
	}
	return ofTargets(metric, matchers)
}

// Texts for panels without data.
const (
	noSmart    = "The disk does not tell, or its S.M.A.R.T. cannot be read: the exporter's status page says why."
	noRating   = "No endurance is known for this model: set endurance.ratings in the configuration."
	noProbe    = "No target lies on this disk: name a folder on it under targets in the configuration."
	noBaseline = "Learning: a baseline needs 8 clean runs of a workload."
	noKernel   = "The kernel has no counters for this disk: it is known from a report only."
)

func disk() spec {
	return spec{
		uid: diskUID, title: "Disk", about: "All of one SSD: what it is, how much life is left, how warm it is, how fast it is compared with its own past, and what probing it costs.",
		variables: []variable{
			{"job", "Job", "label_values(ssd_exporter_build_info, job)", false},
			{"instance", "Host", `label_values(ssd_exporter_build_info{job="$job"}, instance)`, false},
			{"device_id", "Disk", `label_values(ssd_device_info{job="$job", instance="$instance"}, device_id)`, false},
			{"workload", "Workload", `label_values(ssd_probe_interval_seconds{job="$job", instance="$instance"}, workload)`, true},
		},
		sections: []section{diskIdentity(), diskLife(), diskHealth(), diskSpeed(), diskRuns(), diskCost(), diskKernel()},
		links:    []dashboard.DashboardLink{link("Fleet", fleetUID)},
	}
}

func diskIdentity() section {
	small := func(title, about, unit, none, expr string, steps []step) panel {
		return panel{
			kind: number, title: title, about: about, unit: unit, none: none, width: 4, tall: 4, steps: steps,
			queries: []query{{expr: expr}},
		}
	}
	return section{"What it is and how it is", []panel{
		{
			kind: rows, title: "Identity", about: "What the disk says it is. The device is the kernel's name now, which may change at the next boot.",
			unit: "none", none: "No such disk now.", width: 24, tall: 4,
			queries: []query{{expr: ofDisk("ssd_device_info", "")}},
			columns: []column{
				{field: "model", title: "Model"},
				{field: "serial", title: "Serial number"},
				{field: "firmware", title: "Firmware"},
				{field: "family", title: "Family"},
				{field: "device", title: "Device"},
				{field: "transport", title: "Transport"},
				{field: "wwn", title: "WWN"},
			},
		},
		small("Wear", "Rated life used, by the source that is believed for this family of disks. Above 100 % the maker warrants nothing more; many disks live on.",
			"percentunit", "unknown", ofDisk("ssd_wear_used_ratio", ""), wearSteps),
		small("Rated writes used", "Bytes written by hosts over the endurance that the maker warrants (TBW).",
			"percentunit", "no rating", ofDisk("ssd_rated_writes_used_ratio", ""), []step{{0, "green"}, {0.8, "orange"}, {1, "red"}}),
		small("Slower than its baseline", "The workload that lost most in its last run alone on the disk: 0 is as ever, 100 % is twice the time per I/O, below 0 is faster.",
			"percentunit", "learning", `max(`+ofTargets("ssd_probe_degradation_ratio", `signal=~"rate|p50"`)+
				` and on (job, instance, device_id, target, workload) (ssd_probe_contended{`+host+`} == 0)`+
				` and on (job, instance, device_id, target, workload) (ssd_probe_valid{`+host+`} == 1))`, degradationSteps).atLeast(-1),
		small("Temperature", "The disk's main figure, composite.", "celsius", "unknown", ofDisk("ssd_temperature_celsius", `sensor="composite"`), nil),
		small("Warnings", "Critical warnings that the disk raises now.", "none", "says none", `sum(`+ofDisk("ssd_critical_warning", "")+`)`, noneIsGood),
		small("Capacity", "Capacity of the disk.", "decbytes", "unknown", ofDisk("ssd_device_capacity_bytes", ""), nil),
		small("Power-on time", "How long the disk has been powered in its life.", "s", "unknown", ofDisk("ssd_power_on_seconds_total", ""), nil),
		small("Power cycles", "How often the disk was switched on.", "none", "unknown", ofDisk("ssd_power_cycles_total", ""), nil),
		small("Unsafe shutdowns", "How often the disk lost power without being told before. Many mean a bad power supply, or a host that is switched off hard.",
			"none", "unknown", ofDisk("ssd_unsafe_shutdowns_total", ""), nil),
		small("S.M.A.R.T. read", "How long ago the health values were read. A sleeping disk is not woken for it.", "s", "never",
			`time() - `+ofDisk("ssd_smart_last_read_timestamp_seconds", ""), nil),
		small("S.M.A.R.T. answers", "1 when the last attempt to read the disk's health succeeded.", "bool_yes_no", "not tried", ofDisk("ssd_smart_read_success", ""), nil),
		small("Own verdict", "The disk's own overall verdict: whether it is healthy.", "bool_yes_no", "unknown", ofDisk("ssd_smart_healthy", ""), []step{{0, "red"}, {1, "green"}}),
	}}
}

func (p panel) atLeast(floor float64) panel {
	p.min = floor
	return p
}

func diskLife() section {
	return section{"Life", []panel{
		{
			kind: series, title: "Wear by source", about: "Rated life used according to everything that the disk tells, and (thick) what is believed. Sources that disagree are normal: the family of the disk decides.",
			unit: "percentunit", none: noSmart, width: 12, steps: []step{{0.8, "orange"}, {0.95, "red"}},
			queries: []query{
				{ofDisk("ssd_wear_used_ratio", ""), "believed"},
				{ofDisk("ssd_wear_source_used_ratio", ""), "{{source}}"},
			},
			dash: []string{"^(?!believed)"},
		},
		{
			kind: rows, title: "Sources of wear", about: "What each source says now, and which one is believed (1).",
			unit: "percentunit", none: noSmart, width: 12,
			queries: []query{
				{expr: `max by (source) (` + ofDisk("ssd_wear_source_used_ratio", "") + `)`},
				{expr: `max by (source) (` + ofDisk("ssd_wear_source_selected", "") + `)`},
			},
			columns: []column{
				{field: "source", title: "Source"},
				{field: "Value #A", title: "Used", unit: "percentunit", steps: wearSteps},
				{field: "Value #B", title: "Believed", unit: "bool_yes_no"},
			},
		},
		{
			kind: series, title: "Bytes in its life", about: "Bytes that hosts wrote and read, and that the disk wrote to its flash. The rated endurance is the dashed line.",
			unit: "decbytes", none: noSmart, width: 12,
			queries: []query{
				{ofDisk("ssd_host_written_bytes_total", ""), "written by hosts"},
				{ofDisk("ssd_host_read_bytes_total", ""), "read by hosts"},
				{ofDisk("ssd_media_written_bytes_total", ""), "written to flash"},
				{ofDisk("ssd_endurance_rated_bytes", ""), "rated endurance"},
			},
			dash: []string{"^rated"},
		},
		{
			kind: series, title: "Bytes written a day", about: "What hosts write and what reaches the flash, over the last day at each moment, and the rate that would use up the rated endurance just within the warranty.",
			unit: "decbytes", none: noSmart, width: 12,
			queries: []query{
				{`rate(` + ofDisk("ssd_host_written_bytes_total", "") + `[1d]) * 86400`, "written by hosts"},
				{`rate(` + ofDisk("ssd_media_written_bytes_total", "") + `[1d]) * 86400`, "written to flash"},
				{ofDisk("ssd_endurance_rated_bytes", "") + ` / on (job, instance, device_id) (` + ofDisk("ssd_endurance_rated_seconds", "") + ` / 86400)`, "rated"},
			},
			dash: []string{"^rated"},
		},
		{
			kind: series, title: "Write amplification", about: "Bytes written to flash per byte written by hosts: over the disk's life, and over the last day. A jump means other writes (small, random, unaligned) or a disk that is nearly full.",
			unit: "none", none: "The disk does not tell what it writes to its flash: most SATA and many NVMe disks do not.", width: 12,
			queries: []query{
				{ofDisk("ssd_write_amplification_ratio", ""), "in its life"},
				{
					`increase(` + ofDisk("ssd_media_written_bytes_total", "") + `[1d]) / on (job, instance, device_id) (increase(` +
						ofDisk("ssd_host_written_bytes_total", "") + `[1d]) > 0)`, "last day",
				},
			},
		},
		{
			kind: series, title: "Rated writes used", about: "Bytes written by hosts over the endurance that the maker warrants (TBW), beside the disk's own wear: where they part, one of the two is pessimistic.",
			unit: "percentunit", none: noRating, width: 12, steps: []step{{1, "red"}},
			queries: []query{
				{ofDisk("ssd_rated_writes_used_ratio", ""), "rated writes used"},
				{ofDisk("ssd_wear_used_ratio", ""), "wear"},
			},
		},
	}}
}

func diskHealth() section {
	return section{"Health and heat", []panel{
		{
			kind: series, title: "Temperatures and limits", about: "All sensors, and from where on the disk itself speaks of too much heat.",
			unit: "celsius", none: noSmart, width: 12,
			queries: []query{
				{ofDisk("ssd_temperature_celsius", ""), "{{sensor}}"},
				{ofDisk("ssd_temperature_limit_celsius", ""), "limit: {{limit}}"},
			},
			dash: []string{"^limit"},
		},
		{
			kind: series, title: "Slowed down by heat", about: "Share of time in which heat slowed the disk down or kept it above a limit, by level.",
			unit: "percentunit", max: 1, none: "The disk does not count it: mostly NVMe disks do.", width: 12,
			queries: []query{{`rate(` + ofDisk("ssd_thermal_throttle_seconds_total", "") + `[1h])`, "level {{level}}"}},
		},
		{
			kind: series, title: "Spare blocks", about: "Spare blocks left, and the disk's own threshold. Below it, bad blocks can soon not be replaced.",
			unit: "percentunit", max: 1, none: "The disk does not tell.", width: 12,
			queries: []query{
				{ofDisk("ssd_spare_available_ratio", ""), "available"},
				{ofDisk("ssd_spare_threshold_ratio", ""), "threshold"},
			},
			dash: []string{"^threshold"},
		},
		{
			kind: series, title: "Errors in its life", about: "Counters of the disk. What stands is the past; what rises is not. Pending sectors come and go on some disks and mean little then.",
			unit: "none", none: noSmart, width: 12,
			queries: []query{
				{ofDisk("ssd_media_errors_total", ""), "media errors"},
				{ofDisk("ssd_reallocated_blocks_total", ""), "reallocated blocks"},
				{ofDisk("ssd_program_failures_total", ""), "program failures"},
				{ofDisk("ssd_erase_failures_total", ""), "erase failures"},
				{ofDisk("ssd_pending_sectors", ""), "pending sectors"},
			},
		},
		{
			kind: series, title: "Critical warnings", about: "1 while the disk raises the warning.",
			unit: "none", max: 1, none: "The disk knows no such warnings: NVMe disks do.", width: 12,
			queries: []query{{ofDisk("ssd_critical_warning", ""), "{{kind}}"}},
		},
		{
			kind: series, title: "Reading S.M.A.R.T.", about: "How long reading the disk's health took, failed attempts in an hour by reason, and how often a counter of the disk fell and was held.",
			unit: "none", none: "Not tried yet.", width: 12,
			queries: []query{
				{ofDisk("ssd_smart_read_duration_seconds", ""), "seconds it took"},
				{`increase(` + ofDisk("ssd_smart_read_failures_total", "") + `[1h])`, "failed: {{reason}}"},
				{`increase(` + ofDisk("ssd_smart_corrections_total", "") + `[1h])`, "{{counter}} fell"},
			},
		},
	}}
}
