package collector

import "ssd_exporter/monitor"

// baselineRows compare the last measured run with what the disk was like in its first clean ones.
func baselineRows() []Row {
	return []Row{
		{
			Name: "ssd_probe_baseline_runs", Kind: Gauge, Scope: Workload,
			Help: "Clean runs that the baseline has learned from so far.",
			yield: onWorkload(func(w *monitor.WorkloadState, out sink) {
				if len(w.Series) == 0 {
					return
				}
				runs := 0
				for _, s := range w.Series {
					runs = max(runs, s.Runs)
				}
				out.value(float64(runs))
			}),
		},
		{
			Name: "ssd_probe_baseline_iops", Kind: Gauge, Scope: Workload,
			Labels: []string{"op"}, Closed: map[string][]string{"op": {"read", "write", "all"}},
			Help: "I/Os per second of the baseline; all is reads and writes together.",
			yield: onSeries(func(s monitor.SeriesState, out sink) {
				if s.Signal == "rate" && s.Baseline != nil && *s.Baseline > 0 {
					out.value(1 / *s.Baseline, s.Op)
				}
			}),
		},
		{
			Name: "ssd_probe_baseline_latency_seconds", Kind: Gauge, Scope: Workload,
			Labels: []string{"op", "percentile"}, Closed: map[string][]string{"op": ops()["op"], "percentile": {"50", "99"}},
			Help: "Latency in seconds of the baseline at this percentile.",
			yield: onSeries(func(s monitor.SeriesState, out sink) {
				switch s.Signal {
				case "p50":
					out.ratio(s.Baseline, s.Op, "50")
				case "p99":
					out.ratio(s.Baseline, s.Op, "99")
				}
			}),
		},
		{
			Name: "ssd_probe_degradation_ratio", Kind: Gauge, Scope: Workload,
			Labels: []string{"op", "signal"},
			Closed: map[string][]string{"op": {"read", "write", "all"}, "signal": {"rate", "p50", "tail"}},
			Help: "Time per I/O over its baseline, minus 1: 0 as ever, 1 twice as slow (halved I/Os per second), negative better. " +
				"Of the tail: the share of I/Os slower than the baseline's 99th percentile, over 1 percent, minus 1. Absent while learning.",
			yield: onSeries(func(s monitor.SeriesState, out sink) { out.ratio(s.Degradation, s.Op, s.Signal) }),
		},
	}
}

func onSeries(f func(monitor.SeriesState, sink)) func(subject, sink) {
	return func(of subject, out sink) {
		for _, s := range of.workload.Series {
			f(s, out)
		}
	}
}
