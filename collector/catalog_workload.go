package collector

import (
	"ssd_exporter/engine"
	"ssd_exporter/monitor"
	"ssd_exporter/monitor/history"
)

// workloadRows tell what one workload measured on one target, and how its runs go.
func workloadRows() []Row {
	return []Row{
		{
			Name: "ssd_probe_engine_info", Kind: Info, Scope: Workload, Labels: []string{"engine", "reason"},
			Help: "Always 1; the labels say which I/O engine the last measured run used, and why.",
			yield: onMeasured(func(r *history.Run, out sink) {
				if r.Fingerprint.Engine != "" {
					out.value(1, string(r.Fingerprint.Engine), r.EngineWhy)
				}
			}),
		},
		{
			Name: "ssd_probe_iops", Kind: Gauge, Scope: Workload, Labels: []string{"op"}, Closed: ops(),
			Help:  "I/Os per second of the last measured run.",
			yield: onOps(func(op string, s *history.OpStats, out sink) { out.value(s.IOPS, op) }),
		},
		{
			Name: "ssd_probe_throughput_bytes_per_second", Kind: Gauge, Scope: Workload, Labels: []string{"op"}, Closed: ops(),
			Help:  "Bytes per second of the last measured run.",
			yield: onOps(func(op string, s *history.OpStats, out sink) { out.value(s.BytesPerSecond, op) }),
		},
		{
			Name: "ssd_probe_latency_seconds", Kind: Histogram, Scope: Workload, Labels: []string{"op"}, Closed: ops(),
			Help: "Latency in seconds of all probe I/Os since the exporter's start.",
			yield: func(of subject, out sink) {
				for op, h := range of.workload.Latency {
					out.histogram(h, of.workload.Since, opName(engine.Op(op)))
				}
			},
		},
		{
			Name: "ssd_probe_latency_percentile_seconds", Kind: Gauge, Scope: Workload, Labels: []string{"op", "percentile"},
			Closed: map[string][]string{"op": ops()["op"], "percentile": {"50", "90", "99", "99.9"}},
			Help:   "Latency in seconds that so many percent of the last measured run's I/Os kept.",
			yield: onOps(func(op string, s *history.OpStats, out sink) {
				out.ratio(seconds(s.Latency.P50), op, "50")
				out.ratio(seconds(s.Latency.P90), op, "90")
				out.ratio(seconds(s.Latency.P99), op, "99")
				out.ratio(seconds(s.Latency.P999), op, "99.9")
			}),
		},
		{
			Name: "ssd_probe_latency_max_seconds", Kind: Gauge, Scope: Workload, Labels: []string{"op"}, Closed: ops(),
			Help:  "Longest latency in seconds of the last measured run.",
			yield: onOps(func(op string, s *history.OpStats, out sink) { out.seconds(s.Max, op) }),
		},
		{
			Name: "ssd_probe_longest_gap_seconds", Kind: Gauge, Scope: Workload,
			Help:  "Longest time in seconds in which nothing completed though something was outstanding, in the last measured run.",
			yield: onMeasured(func(r *history.Run, out sink) { out.seconds(r.LongestGap) }),
		},
		{
			Name: "ssd_probe_valid", Kind: Gauge, Scope: Workload,
			Help:  "1 when the last attempt gave figures that can be believed, else 0.",
			yield: onRecent(func(r *history.Run, out sink) { out.flag(r.Measured()) }),
		},
		{
			Name: "ssd_probe_contended", Kind: Gauge, Scope: Workload,
			Help:  "1 when others used the disk during the last attempt, else 0.",
			yield: onRecent(func(r *history.Run, out sink) { out.flag(r.Contended) }),
		},
		{
			Name: "ssd_probe_foreign_iops", Kind: Gauge, Scope: Workload,
			Help:  "I/Os per second of others on the same disks during the last attempt.",
			yield: onRecent(func(r *history.Run, out sink) { out.ratio(r.ForeignIOPS) }),
		},
		{
			Name: "ssd_probe_duration_seconds", Kind: Gauge, Scope: Workload,
			Help:  "Time in seconds that the last attempt took.",
			yield: onRecent(func(r *history.Run, out sink) { out.seconds(r.Duration) }),
		},
		{
			Name: "ssd_probe_last_attempt_timestamp_seconds", Kind: Gauge, Scope: Workload,
			Help:  "Unix time at which the last run began, however it ended.",
			yield: onLast(func(r *history.Run, out sink) { out.unix(r.Start) }),
		},
		{
			Name: "ssd_probe_last_success_timestamp_seconds", Kind: Gauge, Scope: Workload,
			Help:  "Unix time at which the last clean run began: good figures, and nobody else used the disk. However long ago.",
			yield: onWorkload(func(w *monitor.WorkloadState, out sink) { out.unix(w.LastSuccess) }),
		},
		{
			Name: "ssd_probe_next_run_timestamp_seconds", Kind: Gauge, Scope: Workload,
			Help:  "Unix time at which the next run is due.",
			yield: onWorkload(func(w *monitor.WorkloadState, out sink) { out.unix(w.Next) }),
		},
		{
			Name: "ssd_probe_interval_seconds", Kind: Gauge, Scope: Workload,
			Help:  "Longest time in seconds between two runs of the schedule.",
			yield: onWorkload(func(w *monitor.WorkloadState, out sink) { out.seconds(w.Interval) }),
		},
	}
}

func ops() map[string][]string { return map[string][]string{"op": {"read", "write"}} }

func onWorkload(f func(*monitor.WorkloadState, sink)) func(subject, sink) {
	return func(of subject, out sink) { f(of.workload, out) }
}

// onRecent is for what the last attempt found: it ends with the workload's other figures.
func onRecent(f func(*history.Run, sink)) func(subject, sink) {
	return func(of subject, out sink) {
		if of.workload.Last != nil && !of.workload.Expired {
			f(of.workload.Last, out)
		}
	}
}

func onLast(f func(*history.Run, sink)) func(subject, sink) {
	return func(of subject, out sink) {
		if of.workload.Last != nil {
			f(of.workload.Last, out)
		}
	}
}

func onMeasured(f func(*history.Run, sink)) func(subject, sink) {
	return func(of subject, out sink) {
		if of.workload.Measured != nil {
			f(of.workload.Measured, out)
		}
	}
}

func onOps(f func(string, *history.OpStats, sink)) func(subject, sink) {
	return onMeasured(func(r *history.Run, out sink) {
		for op, stats := range r.Ops {
			if stats != nil {
				f(opName(engine.Op(op)), stats, out)
			}
		}
	})
}
