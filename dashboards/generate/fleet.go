package main

import (
	"fmt"

	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

const (
	fleetUID = "ssd-exporter-fleet"
	diskUID  = "ssd-exporter-disk"
)

// Selectors of the fleet: what was chosen at the top.
const (
	chosen  = `job=~"$job", instance=~"$instance"`
	theDisk = ` and on (job, instance, device_id) ssd_device_info{` + chosen + `, model=~"$model"}`
)

// ofDisks is a metric of the chosen disks. more is further matchers, or "".
func ofDisks(metric, more string) string {
	if more != "" {
		more = ", " + more
	}
	return fmt.Sprintf(`(%s{%s%s}%s)`, metric, chosen, more, theDisk)
}

// countOf counts, and says 0 where there is nothing: here, unlike for figures of disks, none is 0.
func countOf(expr string) string { return "count(" + expr + ") or vector(0)" }

// Degradation, without the runs that say nothing about the disk: those that shared it with others, and those before a failure.
const clean = ` and on (job, instance, device_id, target, workload) (ssd_probe_contended{` + chosen + `} == 0)` +
	` and on (job, instance, device_id, target, workload) (ssd_probe_valid{` + chosen + `} == 1)`

// The worst degradation of each disk, also for disks that share a target with others.
const worstOfDisk = `max by (job, instance, device_id) (ssd_probe_target_device_info{` + chosen + `}` +
	` * on (job, instance, target) group_left () max by (job, instance, target) (ssd_probe_degradation_ratio{` + chosen +
	`, signal=~"rate|p50"}` + clean + `))` + theDisk

// stale are the targets of which no workload has given figures for 2.5 times the interval of the most frequent one, or none at all
// in so long; the value is the age of the last figures, or of the exporter, in seconds. The alert SSDProbeStale knows more excuses.
const stale = `((time() - max by (job, instance, device_id, target) (ssd_probe_last_success_timestamp_seconds{` + chosen + `})` +
	` or (time() - process_start_time_seconds{` + chosen + `}) * on (job, instance) group_right () ` + everyTarget +
	` unless on (job, instance, device_id, target) ssd_probe_last_success_timestamp_seconds{` + chosen + `})` +
	` > on (job, instance, device_id, target) (2.5 * min by (job, instance, device_id, target) (ssd_probe_interval_seconds{` + chosen + `})))`

// everyTarget is 1 for each target.
const everyTarget = `group by (job, instance, device_id, target) (ssd_probe_interval_seconds{` + chosen + `})`

var (
	wearSteps        = []step{{0, "green"}, {0.8, "orange"}, {0.95, "red"}}
	degradationSteps = []step{{-1, "green"}, {0.3, "orange"}, {1, "red"}}
	noneIsGood       = []step{{0, "green"}, {1, "red"}}
)

func fleet() spec {
	return spec{
		uid: fleetUID, title: "Fleet", about: "All SSDs, the worst first: wear, warnings, speed compared with their own past, and disks of which nothing is known.",
		variables: []variable{
			{"job", "Job", "label_values(ssd_exporter_build_info, job)", true},
			{"instance", "Host", `label_values(ssd_exporter_build_info{job=~"$job"}, instance)`, true},
			{"model", "Model", `label_values(ssd_device_info{job=~"$job", instance=~"$instance"}, model)`, true},
		},
		sections: []section{fleetGlance(), fleetLife(), fleetSpeed(), fleetBlind()},
		links:    []dashboard.DashboardLink{link("Disk", diskUID)},
	}
}

func fleetGlance() section {
	small := func(title, about, expr string, steps []step) panel {
		return panel{
			kind: number, title: title, about: about, unit: "none", none: "no exporter answers", width: 4, tall: 4, steps: steps,
			queries: []query{{expr: expr}},
		}
	}
	return section{"At a glance", []panel{
		small("Disks", "Disks that the exporters know now, with or without S.M.A.R.T.", countOf(ofDisks("ssd_device_info", "")), nil),
		small("Exporters down", "Exporters that do not answer Prometheus. Nothing is known of their disks.",
			countOf(`up{`+chosen+`} == 0 and on (job, instance) (ssd_exporter_build_info{`+chosen+`} offset 1d or ssd_exporter_build_info{`+chosen+`} offset 1h)`), noneIsGood),
		small("Warnings", "Disks that raise a critical warning or say of themselves that they fail.",
			countOf(`count by (job, instance, device_id) (`+ofDisks("ssd_critical_warning", "")+` == 1 or `+ofDisks("ssd_smart_healthy", "")+` == 0)`), noneIsGood),
		small("Worn", "Disks that have used 80 percent or more of their rated life.", countOf(ofDisks("ssd_wear_used_ratio", "")+` >= 0.8`), noneIsGood),
		small("Slower than ever", "Disks on which a workload takes at least twice the time of its baseline, with nobody else on the disk.",
			countOf(`(`+worstOfDisk+`) >= 1`), noneIsGood),
		small("Stale probes", "Targets that have given no figures for 2.5 times their interval, or none at all.", countOf(stale), noneIsGood),
	}}
}

func fleetLife() section {
	toDisk := "/d/" + diskUID + "?var-datasource=${datasource}&var-job=${__data.fields.Job:percentencode}" +
		"&var-instance=${__data.fields.Host:percentencode}&var-device_id=${__data.fields.Disk:percentencode}&${__url_time_range}"
	info := `max by (job, instance, device_id, device, model, firmware) (ssd_device_info{` + chosen + `, model=~"$model"})`
	by := func(expr string) string { return "max by (job, instance, device_id) (" + expr + ")" }
	return section{"Life", []panel{
		{
			kind: rows, title: "Disks by wear", about: "All chosen disks, the most worn first. A cell is empty where the disk does not tell. " +
				"Slower: the workload that lost most against its own baseline, 100 % is twice the time. Click a disk to see all of it.",
			unit: "none", none: "No disks: no exporter answers, or it found none.", width: 24, tall: 12,
			queries: []query{
				{expr: info},
				{expr: by(ofDisks("ssd_wear_used_ratio", ""))},
				{expr: by(ofDisks("ssd_rated_writes_used_ratio", ""))},
				{expr: by(ofDisks("ssd_temperature_celsius", `sensor="composite"`))},
				{expr: worstOfDisk},
				{expr: by(ofDisks("ssd_host_written_bytes_total", ""))},
			},
			columns: []column{
				{field: "device_id", title: "Disk", link: toDisk},
				{field: "instance", title: "Host"},
				{field: "job", title: "Job", width: 110},
				{field: "device", title: "Device", width: 90},
				{field: "model", title: "Model"},
				{field: "firmware", title: "Firmware", width: 110},
				{field: "Value #B", title: "Wear", width: 80, unit: "percentunit", steps: wearSteps},
				{field: "Value #C", title: "Rated writes", width: 110, unit: "percentunit", steps: []step{{0, "green"}, {0.8, "orange"}, {1, "red"}}},
				{field: "Value #D", title: "Temperature", width: 110, unit: "celsius"},
				{field: "Value #E", title: "Slower", width: 80, unit: "percentunit", steps: degradationSteps},
				{field: "Value #F", title: "Written", width: 100, unit: "decbytes"},
			},
			sortBy: "Wear",
		},
		wearDistribution(),
		{
			kind: rows, title: "Models and firmware", about: "How disks of one model and firmware do together: one that stands out is a reason to look at the others.",
			unit: "none", none: "No disks: no exporter answers, or it found none.", width: 16,
			queries: []query{
				{expr: `count by (model, firmware) (ssd_device_info{` + chosen + `, model=~"$model"})`},
				{expr: withModel("quantile", "0.5, ", "ssd_wear_used_ratio{"+chosen+"}")},
				{expr: withModel("max", "", "ssd_wear_used_ratio{"+chosen+"}")},
				{expr: withModel("max", "", "("+worstOfDisk+")")},
			},
			columns: []column{
				{field: "model", title: "Model"},
				{field: "firmware", title: "Firmware"},
				{field: "Value #A", title: "Disks"},
				{field: "Value #B", title: "Wear, median", unit: "percentunit", steps: wearSteps},
				{field: "Value #C", title: "Wear, worst", unit: "percentunit", steps: wearSteps},
				{field: "Value #D", title: "Slower, worst", unit: "percentunit", steps: degradationSteps},
			},
			sortBy: "Wear, worst",
		},
	}}
}

// withModel aggregates a metric of disks by model and firmware.
func withModel(aggregation, parameter, expr string) string {
	return fmt.Sprintf(`%s by (model, firmware) (%s%s * on (job, instance, device_id) group_left (model, firmware) ssd_device_info{%s, model=~"$model"})`,
		aggregation, parameter, expr, chosen)
}

func wearDistribution() panel {
	wear := ofDisks("ssd_wear_used_ratio", "")
	p := panel{
		kind: bars, title: "Wear distribution", about: "How many disks have used how much of their rated life. Unknown: disks that do not tell, such as virtual ones.",
		unit: "none", none: "no exporter answers", width: 8,
	}
	for _, b := range []struct{ legend, from, to string }{
		{"below 20 %", "-1", "0.2"},
		{"20 to 40 %", "0.2", "0.4"},
		{"40 to 60 %", "0.4", "0.6"},
		{"60 to 80 %", "0.6", "0.8"},
		{"80 to 100 %", "0.8", "1"},
		{"100 % and more", "1", "1000"},
	} {
		p.queries = append(p.queries, query{countOf(wear + " >= " + b.from + " < " + b.to), b.legend})
	}
	unknown := countOf(ofDisks("ssd_device_info", "") + ` unless on (job, instance, device_id) ssd_wear_used_ratio{` + chosen + `}`)
	p.queries = append(p.queries, query{unknown, "unknown"})
	return p
}

func fleetSpeed() section {
	return section{"Speed", []panel{
		{
			kind: rows, title: "Worst degradations", about: "The 30 workloads that lost most against their own baseline: 0 is as ever, 100 % is twice the time per I/O. " +
				"Only runs that had the disk for themselves. A single run may be a whim; the alert waits for hours.",
			unit: "percentunit", min: -1, none: "Nothing to compare yet: a baseline needs 8 clean runs of a workload, about two hours.", width: 12, tall: 10,
			queries: []query{{expr: `topk(30, max by (job, instance, device_id, target, workload, op, signal) (ssd_probe_degradation_ratio{` + chosen + `, signal=~"rate|p50"}` +
				clean + ` and on (job, instance, target) (ssd_probe_target_device_info{` + chosen + `}` + theDisk + `)))`}},
			columns: []column{
				{field: "device_id", title: "Disk"},
				{field: "instance", title: "Host"},
				{field: "target", title: "Target"},
				{field: "workload", title: "Workload"},
				{field: "op", title: "I/O", width: 60},
				{field: "signal", title: "Signal", width: 70},
				{field: "Value", title: "Slower", width: 80, unit: "percentunit", steps: degradationSteps},
			},
			sortBy: "Slower",
		},
		{
			kind: series, title: "Slower than ever, over time", about: "How many workloads take at least twice (or 1.3 times) the time of their baseline. A step on many disks at once is no disk: " +
				"look for a new kernel, firmware or load.",
			unit: "none", none: "Nothing to compare yet: a baseline needs 8 clean runs of a workload, about two hours.", width: 12, tall: 10,
			queries: []query{
				{`count(max by (job, instance, device_id, target, workload) (ssd_probe_degradation_ratio{` + chosen + `, signal=~"rate|p50"}` + clean + `) >= 1) or vector(0)`, "twice the time or more"},
				{`count(max by (job, instance, device_id, target, workload) (ssd_probe_degradation_ratio{` + chosen + `, signal=~"rate|p50"}` + clean + `) >= 0.3) or vector(0)`, "1.3 times or more"},
			},
		},
	}}
}

func fleetBlind() section {
	return section{"What is not known, or warned of", []panel{
		{
			kind: rows, title: "Critical warnings", about: "Warnings that disks raise themselves. Each has an alert with a runbook.",
			unit: "none", none: "No disk raises a warning.", width: 8,
			queries: []query{{expr: `max by (job, instance, device_id, kind) (` + ofDisks("ssd_critical_warning", "") + ` == 1)`}},
			columns: []column{{field: "device_id", title: "Disk"}, {field: "instance", title: "Host"}, {field: "kind", title: "Warning"}},
		},
		{
			kind: rows, title: "S.M.A.R.T. cannot be read", about: "Disks whose health could not be read last time, and what the attempts of the last three hours failed with. " +
				"unsupported: a virtual disk or USB bridge that has none; permission: the exporter lacks a capability.",
			unit: "none", none: "Every disk answers.", width: 8,
			queries: []query{{expr: `sum by (job, instance, device_id, reason) (increase(ssd_smart_read_failures_total{` + chosen + `}[3h])) > 0` +
				` and on (job, instance, device_id) (` + ofDisks("ssd_smart_read_success", "") + ` == 0)`}},
			columns: []column{
				{field: "device_id", title: "Disk"},
				{field: "instance", title: "Host"},
				{field: "reason", title: "Reason"},
				{field: "Value", title: "Attempts", width: 90},
			},
			sortBy: "Attempts",
		},
		{
			kind: rows, title: "Stale probes", about: "Targets that have given no figures for 2.5 times their interval, and for how long. The status page of their exporter says why.",
			unit: "s", none: "Every target gives figures.", width: 8,
			queries: []query{{expr: stale}},
			columns: []column{
				{field: "device_id", title: "Disk"},
				{field: "instance", title: "Host"},
				{field: "target", title: "Target"},
				{field: "Value", title: "Last figures", unit: "s", width: 110},
			},
			sortBy: "Last figures",
		},
	}}
}
