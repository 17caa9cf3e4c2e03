package main

import "fmt"

// percentile shows one percentile of the last run of each workload, and that of its baseline where there is one. From gauges, so
// that it needs no histograms: the figures are exact and there with any Prometheus.
func percentile(name, percentile, none string) panel {
	p := panel{
		kind: series, title: "Latency " + name, about: fmt.Sprintf("%s percent of the I/Os of a run were at least as fast as this. One value a run, exact. Dashed: the baseline.", percentile),
		unit: "s", none: none, width: 12,
		queries: []query{{ofWorkloads("ssd_probe_latency_percentile_seconds", `percentile="`+percentile+`"`), "{{target}} {{workload}} {{op}}"}},
		dash:    []string{"baseline$"},
	}
	if percentile == "50" || percentile == "99" {
		p.queries = append(p.queries, query{
			ofWorkloads("ssd_probe_baseline_latency_seconds", `percentile="`+percentile+`"`), "{{target}} {{workload}} {{op}} baseline",
		})
	}
	return p
}

// quantiles are of all I/Os of hours, for which only a histogram will do. Prometheus keeps native ones without _bucket series, and
// classic ones with them. Without either there is only the bucket +Inf, whose quantile is NaN: the comparison drops it.
func quantiles(q string) string {
	const window = "[2h]"
	by := func(extra, metric string) string {
		return fmt.Sprintf(`histogram_quantile(%s, sum by (%starget, workload, op) (rate(%s{%s, workload=~"$workload"}%s)%s))`, q, extra, metric, host, window, onDisk)
	}
	return `(` + by("le, ", "ssd_probe_latency_seconds_bucket") + ` >= 0) or ` + by("", "ssd_probe_latency_seconds")
}

func diskSpeed() section {
	return section{"Speed", []panel{
		percentile("p50", "50", noProbe),
		percentile("p99", "99", noProbe),
		percentile("p99.9", "99.9", "Needs a run of at least 10,000 I/Os, which the default workloads other than read_4k_q32 are too short for."),
		{
			kind: series, title: "Latency p50 and p99.9 over two hours", about: "Quantiles of all I/Os of the last two hours together: tails that a single run is too short for.",
			unit: "s", none: "Needs native histograms in Prometheus, or metrics.classic_histograms in the configuration. The other panels need neither.", width: 12,
			queries: []query{
				{quantiles("0.5"), "{{target}} {{workload}} {{op}} p50"},
				{quantiles("0.999"), "{{target}} {{workload}} {{op}} p99.9"},
			},
		},
		{
			kind: series, title: "IOPS by workload", about: "I/Os per second of the last run. Dashed: the baseline, reads and writes together.",
			unit: "iops", none: noProbe, width: 12,
			queries: []query{
				{ofWorkloads("ssd_probe_iops", ""), "{{target}} {{workload}} {{op}}"},
				{ofWorkloads("ssd_probe_baseline_iops", ""), "{{target}} {{workload}} {{op}} baseline"},
			},
			dash: []string{"baseline$"},
		},
		{
			kind: series, title: "Throughput by workload", about: "Bytes per second of the last run.",
			unit: "Bps", none: noProbe, width: 12,
			queries: []query{{ofWorkloads("ssd_probe_throughput_bytes_per_second", ""), "{{target}} {{workload}} {{op}}"}},
		},
		{
			kind: series, title: "Slower than its baseline", about: "Time per I/O over its baseline, minus 1: 0 is as ever, 100 % is twice the time, below 0 is faster. All runs, also those that others disturbed: compare with the panel beside it.",
			unit: "percentunit", min: -1, none: noBaseline, width: 12, steps: []step{{1, "red"}},
			queries: []query{{ofWorkloads("ssd_probe_degradation_ratio", `signal=~"rate|p50"`), "{{target}} {{workload}} {{op}} {{signal}}"}},
		},
		{
			kind: series, title: "Slow I/Os against its baseline", about: "Share of I/Os that took longer than the baseline's p99, over the 1 % that did so in the baseline, minus 1: 0 is as ever, 100 % is twice as many. It moves first when a disk begins to stall.",
			unit: "percentunit", min: -1, none: noBaseline, width: 12,
			queries: []query{{ofWorkloads("ssd_probe_degradation_ratio", `signal="tail"`), "{{target}} {{workload}} {{op}}"}},
		},
		{
			kind: series, title: "Others on the disk", about: "I/Os per second of others during the last run. Contended runs (1) enter no baseline and raise no alarm.",
			unit: "none", none: noProbe, width: 12,
			queries: []query{
				{ofWorkloads("ssd_probe_foreign_iops", ""), "{{target}} {{workload}} IOPS of others"},
				{ofWorkloads("ssd_probe_contended", ""), "{{target}} {{workload}} contended"},
			},
		},
		{
			kind: series, title: "Worst moments", about: "The longest single I/O of the last run, and the longest time in which nothing completed though something was outstanding.",
			unit: "s", none: noProbe, width: 12,
			queries: []query{
				{ofWorkloads("ssd_probe_latency_max_seconds", ""), "{{target}} {{workload}} {{op}} longest"},
				{ofWorkloads("ssd_probe_longest_gap_seconds", ""), "{{target}} {{workload}} gap"},
			},
		},
		{
			kind: series, title: "Old data against fresh data", about: "Median latency of reading data that was written long ago over that of fresh data. Above 1 the disk has trouble with charge that leaked away; rewriting the data cures it.",
			unit: "none", none: "Not compared yet: it needs a run of cold_4k_q1 beside one of read_4k_q1.", width: 12,
			queries: []query{{ofTargets("ssd_probe_cold_read_ratio", ""), "{{target}}"}},
		},
		{
			kind: series, title: "Age of the old data", about: "How long ago the cold half of the probe file was written. Slowness of old data shows after weeks to months.",
			unit: "s", none: "No probe file is filled yet, or the target is read only.", width: 12,
			queries: []query{{ofTargets("ssd_probe_cold_data_age_seconds", ""), "{{target}}"}},
		},
	}}
}

func diskRuns() section {
	events := func(title, about, metric, label string) panel {
		return panel{
			kind: series, title: title, about: about, unit: "none", none: noProbe, width: 8, bars: true,
			queries: []query{{`sum by (target, ` + label + `) (increase(` + metric + `{` + host + `}[1h])` + onDisk + `)`, "{{target}} {{" + label + "}}"}},
		}
	}
	return section{"Probe runs", []panel{
		events("Runs by outcome", "Runs of all workloads in an hour by how they ended. success is alone on the disk, contended with others; the rest gave no figures.", "ssd_probe_runs_total", "outcome"),
		events("Skipped by reason", "Runs in an hour that were due and not started, to spare the disk and whoever uses it.", "ssd_probe_skipped_total", "reason"),
		events("I/O errors", "Probe I/Os in an hour that failed, by error. Others get the same errors from this disk.", "ssd_probe_io_errors_total", "errno"),
		events("Aborted by reason", "Runs in an hour that were ended before their time. foreign_io: others began to use the disk.", "ssd_probe_aborted_total", "reason"),
		events("Invalid by reason", "Runs in an hour whose figures must not be believed.", "ssd_probe_invalid_total", "reason"),
		{
			kind: series, title: "Does it answer, and truly", about: "1 while the disk does not answer a probe; blocks in an hour that did not hold what was written to them.",
			unit: "none", none: noProbe, width: 8,
			queries: []query{
				{ofTargets("ssd_probe_stuck", ""), "{{target}} stuck"},
				{`increase(ssd_probe_verify_failures_total{` + host + `}[1h])` + onDisk, "{{target}} corrupt blocks"},
			},
		},
		{
			kind: rows, title: "Targets", about: "The probed places on this disk.", unit: "none", none: noProbe, width: 8,
			queries: []query{{expr: ofTargets("ssd_probe_target_info", "")}},
			columns: []column{
				{field: "target", title: "Target"},
				{field: "path", title: "Path"},
				{field: "fstype", title: "File system"},
				{field: "profile", title: "Profile"},
			},
		},
		schedule(),
	}}
}

func schedule() panel {
	by := func(metric string) string {
		return `max by (target, workload) (` + ofWorkloads(metric, "") + `)`
	}
	return panel{
		kind: rows, title: "Workloads", about: "For each workload: how old its figures are, when it runs next, how often, how long its last run took, and how many clean runs its baseline has learned from.",
		unit: "s", none: noProbe, width: 16,
		queries: []query{
			{expr: `time() - ` + by("ssd_probe_last_success_timestamp_seconds")},
			{expr: `time() - ` + by("ssd_probe_last_attempt_timestamp_seconds")},
			{expr: by("ssd_probe_next_run_timestamp_seconds") + ` - time()`},
			{expr: by("ssd_probe_interval_seconds")},
			{expr: by("ssd_probe_duration_seconds")},
			{expr: by("ssd_probe_baseline_runs")},
			{expr: `max by (target, workload, engine, reason) (` + ofWorkloads("ssd_probe_engine_info", "") + `)`},
		},
		columns: []column{
			{field: "target", title: "Target"},
			{field: "workload", title: "Workload"},
			{field: "Value #A", title: "Last figures", unit: "s"},
			{field: "Value #B", title: "Last attempt", unit: "s"},
			{field: "Value #C", title: "Next run in", unit: "s"},
			{field: "Value #D", title: "Interval", unit: "s"},
			{field: "Value #E", title: "Duration", unit: "s"},
			{field: "Value #F", title: "Baseline runs", unit: "none"},
			{field: "engine", title: "Engine"},
			{field: "reason", title: "Because"},
		},
	}
}

func diskCost() section {
	return section{"What probing costs the disk", []panel{
		{
			kind: series, title: "Write budget", about: "Bytes that the exporter may write to this disk in 24 hours, and what is left of them now. When it is used up, reads go on.",
			unit: "decbytes", none: noProbe, width: 12,
			queries: []query{
				{ofDisk("ssd_probe_write_budget_bytes", ""), "budget"},
				{ofDisk("ssd_probe_write_budget_remaining_bytes", ""), "left"},
			},
			dash: []string{"^budget"},
		},
		{
			kind: series, title: "Written by the exporter in a day", about: "Bytes that the exporter itself wrote to the disk in the last 24 hours at each moment, by purpose.",
			unit: "decbytes", none: noProbe, width: 12,
			queries: []query{{`increase(` + ofDisk("ssd_probe_written_bytes_total", "") + `[1d])`, "{{purpose}}"}},
		},
	}}
}

func diskKernel() section {
	return section{"Everybody's I/O, as the kernel counts it", []panel{
		{
			kind: series, title: "I/Os per second", about: "I/Os that the kernel completed on the disk, by anybody, probes included.", unit: "iops", none: noKernel, width: 12,
			queries: []query{{`rate(` + ofDisk("ssd_io_operations_total", "") + `[$__rate_interval])`, "{{op}}"}},
		},
		{
			kind: series, title: "Throughput", about: "Bytes per second that the kernel moved to or from the disk, by anybody.", unit: "Bps", none: noKernel, width: 12,
			queries: []query{{`rate(` + ofDisk("ssd_io_bytes_total", "") + `[$__rate_interval])`, "{{op}}"}},
		},
		{
			kind: series, title: "Mean latency", about: "Mean time of an I/O in the kernel and the disk, by anybody. It depends on what they ask for: only probes compare like with like.",
			unit: "s", none: noKernel, width: 12,
			queries: []query{{
				`rate(` + ofDisk("ssd_io_seconds_total", "") + `[$__rate_interval]) / on (job, instance, device_id, op) (rate(` +
					ofDisk("ssd_io_operations_total", "") + `[$__rate_interval]) > 0)`, "{{op}}",
			}},
		},
		{
			kind: series, title: "Busy", about: "Share of time with at least one I/O in flight. An SSD serves many at once: 100 % is not the end of what it can do.",
			unit: "percentunit", max: 1, none: noKernel, width: 12,
			queries: []query{{`rate(` + ofDisk("ssd_io_busy_seconds_total", "") + `[$__rate_interval])`, "busy"}},
		},
	}}
}
