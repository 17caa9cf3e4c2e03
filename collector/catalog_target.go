package collector

import (
	"ssd_exporter/engine"
	"ssd_exporter/monitor"
	"ssd_exporter/monitor/history"
)

// targetRows tell about a place that is probed, all its workloads together.
func targetRows() []Row {
	return []Row{
		{
			Name: "ssd_probe_target_info", Kind: Info, Scope: Target, Labels: []string{"path", "fstype", "profile"},
			Help: "Always 1; the labels say what is probed, and with which workloads.",
			yield: onTarget(func(t *monitor.TargetState, out sink) {
				fstype := ""
				if t.Filesystem != nil {
					fstype = t.Filesystem.Type
				}
				out.value(1, t.Dir, fstype, t.Profile)
			}),
		},
		{
			Name: "ssd_probe_target_device_info", Kind: Info, Scope: Leaf,
			Help:  "Always 1; one for each disk below a target.",
			yield: func(_ subject, out sink) { out.value(1) },
		},
		{
			Name: "ssd_probe_runs_total", Kind: Counter, Scope: Target,
			Labels: []string{"outcome"}, Closed: map[string][]string{"outcome": texts(history.Outcomes())},
			Help:  "Runs of any workload by how they ended.",
			yield: onTarget(func(t *monitor.TargetState, out sink) { tally(out, t.Events.Runs, history.Outcomes()) }),
		},
		{
			Name: "ssd_probe_skipped_total", Kind: Counter, Scope: Target,
			Labels: []string{"reason"}, Closed: map[string][]string{"reason": texts(monitor.Skips())},
			Help:  "Runs that were due and not started.",
			yield: onTarget(func(t *monitor.TargetState, out sink) { tally(out, t.Events.Skipped, monitor.Skips()) }),
		},
		{
			Name: "ssd_probe_aborted_total", Kind: Counter, Scope: Target,
			Labels: []string{"reason"}, Closed: map[string][]string{"reason": texts(monitor.Aborts())},
			Help:  "Runs that were ended before their time.",
			yield: onTarget(func(t *monitor.TargetState, out sink) { tally(out, t.Events.Aborted, monitor.Aborts()) }),
		},
		{
			Name: "ssd_probe_invalid_total", Kind: Counter, Scope: Target,
			Labels: []string{"reason"}, Closed: map[string][]string{"reason": texts(monitor.Invalids())},
			Help:  "Runs whose figures must not be believed, once for each reason.",
			yield: onTarget(func(t *monitor.TargetState, out sink) { tally(out, t.Events.Invalid, monitor.Invalids()) }),
		},
		{
			Name: "ssd_probe_io_errors_total", Kind: Counter, Scope: Target,
			Labels: []string{"errno"}, Closed: map[string][]string{"errno": errnos()},
			Help:  "Probe I/Os that failed; SHORT is a transfer that ended early.",
			yield: onTarget(func(t *monitor.TargetState, out sink) { tally(out, t.Events.IOErrors, errnos()) }),
		},
		{
			Name: "ssd_probe_verify_failures_total", Kind: Counter, Scope: Target,
			Help:  "Blocks that did not hold what was written to them.",
			yield: onTarget(func(t *monitor.TargetState, out sink) { out.value(float64(t.Events.Verify)) }),
		},
		{
			Name: "ssd_probe_stuck", Kind: Gauge, Scope: Target,
			Help:  "1 while the disk does not answer a probe, else 0.",
			yield: onTarget(func(t *monitor.TargetState, out sink) { out.flag(t.Stuck) }),
		},
		{
			Name: "ssd_probe_cold_read_ratio", Kind: Gauge, Scope: Target,
			Help:  "Median latency of reading old data over that of fresh data; above 1 old data is slower.",
			yield: onTarget(func(t *monitor.TargetState, out sink) { out.ratio(t.ColdRatio) }),
		},
		{
			Name: "ssd_probe_cold_data_age_seconds", Kind: Gauge, Scope: Target,
			Help: "Age in seconds of the old data.",
			yield: func(of subject, out sink) {
				if since := of.target.ColdSince; !since.IsZero() {
					out.seconds(of.snapshot.At.Sub(since))
				}
			},
		},
	}
}

// errnos are what a block device and the file system above it answer with (blk_errors in the kernel's block/blk-core.c, and the
// errors of a full, read-only or removed one), then what is none of them.
func errnos() []string {
	return []string{
		"EIO", "ENODATA", "EREMOTEIO", "EILSEQ", "ETIMEDOUT", "ENOLINK", "ENODEV", "ENXIO", "ENOSPC", "EDQUOT", "EROFS", "ENOMEM",
		"SHORT", "other",
	}
}

func onTarget(f func(*monitor.TargetState, sink)) func(subject, sink) {
	return func(of subject, out sink) { f(of.target, out) }
}

// opName is the value of the label op.
func opName(op engine.Op) string {
	if op == engine.Write {
		return "write"
	}
	return "read"
}
