package collector

import (
	"fmt"
	"strings"
)

// Markdown is docs/metrics.md.
func Markdown() string {
	var b strings.Builder
	b.WriteString(`# Metrics

<!-- Made from collector/catalog.go by "go test ./collector -run Markdown -update"; do not edit. -->

- What is unknown has no sample: never 0, never 100 %. A disk that has gone ends its series at once.
- Ratios run from 0 to 1 unless the text says otherwise; times are seconds, sizes bytes. No sample carries a timestamp.
- ` + "`device_id`" + ` is the disk's model and serial number. It outlives renames and reboots; the kernel's name, which does not, is
  only on ` + "`ssd_device_info`" + `. It is unique on a host, not in a fleet: join on ` + "`(job, instance, device_id)`" + `.
- Target metrics have ` + "`device_id`" + ` when the target lies on exactly one disk; it is empty otherwise, and
  ` + "`ssd_probe_target_device_info`" + ` lists the disks.
- Counters of events start at 0 with the exporter; each label value of a closed set is there from the start.
- Figures of a workload end after three missed intervals, health values after two failed reads. A sleeping disk keeps its values,
  with their age.
- Histograms are native (schema 3). Classic buckets are opt-in (` + "`metrics.classic_histograms`" + `). Nothing needs either of them:
  percentiles of each run are gauges of their own, and are there only when the run had enough I/Os to tell them.
- "info" is a gauge that is always 1.
`)
	for _, scope := range Scopes() {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n| metric | type | labels | meaning |\n|---|---|---|---|\n", title(scope), intro(scope))
		for _, row := range Catalog() {
			if row.Scope == scope {
				fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", row.Name, row.Kind, labelCell(row), helpCell(row))
			}
		}
	}
	return b.String()
}

func title(s Scope) string {
	switch s {
	case Disk:
		return "Disks"
	case Target:
		return "Targets"
	case Leaf:
		return "Disks of targets"
	case Workload:
		return "Workloads"
	default:
		return "The exporter"
	}
}

func intro(s Scope) string {
	switch s {
	case Disk:
		return "One set for each disk. Every metric has the label `device_id`."
	case Target:
		return "One set for each probed place. Every metric has the labels `target` (its name in the configuration) and `device_id`."
	case Leaf:
		return "One for each disk below each target, with the labels `target` and `device_id`."
	case Workload:
		return "One set for each workload of each target. Every metric has the labels `target`, `device_id` and `workload`."
	default:
		return "No common labels. The Go runtime's `go_*` and the process's `process_*` come with them."
	}
}

func labelCell(r Row) string {
	cells := make([]string, 0, len(r.Labels))
	for _, l := range r.Labels {
		cell := "`" + l + "`"
		if closed := r.Closed[l]; closed != nil {
			cell += ": " + strings.Join(closed, " ")
		}
		cells = append(cells, cell)
	}
	return strings.Join(cells, "; ")
}

func helpCell(r Row) string {
	help := strings.ReplaceAll(r.Help, "|", `\|`)
	if r.OptIn {
		help += " Opt-in."
	}
	return help
}
