package web

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"ssd_exporter/blockdev"
	"ssd_exporter/engine"
	"ssd_exporter/monitor"
	"ssd_exporter/monitor/history"
)

// targetCard is one probed place on the page.
type targetCard struct {
	Name      string
	Phase     string
	Progress  *float64 // of the fill, 0 to 1
	Facts     []fact
	Problems  []problem
	Workloads []workloadRow
}

// workloadRow is one line of a target's table.
type workloadRow struct {
	Name, What string
	Ops        []opFigures
	Drift      string
	Last       string // outcome and reason
	LastBad    bool
	LastWhen   string
	Skipped    string // why a later run was not started
	Next       string
	Plot       *plot
}

// opFigures are what one direction measured.
type opFigures struct{ Op, IOPS, Throughput, P50, P99 string }

func newTargetCard(t *monitor.TargetState, disks []monitor.DiskState, names map[blockdev.ID]string, now time.Time) targetCard {
	c := targetCard{Name: t.Name, Phase: phaseWords(t), Problems: targetProblems(t)}
	if t.Phase == "filling" {
		c.Progress = new(min(1, max(0, t.Progress)))
	}
	c.add("Probes", t.Dir)
	if fs := t.Filesystem; fs != nil {
		c.add("File system", strings.TrimSpace(fs.Type+" on "+fs.Source))
	}
	c.add("Disks", diskList(t, names))
	c.add("Profile", t.Profile)
	if t.FileSize > 0 {
		c.add("Probe file", binarySize(t.FileSize))
	}
	c.add("Write allowance", budget(t, disks))
	c.add("Last attempt", when(t.LastAttempt, now))
	c.add("Last success", when(t.LastSuccess, now))
	if t.ColdRatio != nil {
		c.add("Old data", fmt.Sprintf("takes %.2f times as long to read as fresh data%s", *t.ColdRatio, age(t.ColdSince, now)))
	}
	c.add("Runs", countWords(t.Events.Runs))
	c.add("Skipped", countWords(t.Events.Skipped))
	for i := range t.Workloads {
		c.Workloads = append(c.Workloads, newWorkloadRow(&t.Workloads[i], t.Recent, now))
	}
	return c
}

func (c *targetCard) add(name, value string) {
	if value != "" {
		c.Facts = append(c.Facts, fact{Name: name, Value: value})
	}
}

func newWorkloadRow(w *monitor.WorkloadState, recent []history.Run, now time.Time) workloadRow {
	row := workloadRow{
		Name: w.Workload.Name, What: workloadWords(w.Workload), Drift: drift(w.Series), Next: due(w.Next, now),
		Plot: newPlot(recent, w.Workload.Name),
	}
	if w.Measured != nil {
		for op, s := range w.Measured.Ops {
			if s != nil {
				row.Ops = append(row.Ops, opFigures{
					Op: opWord(engine.Op(op)), IOPS: rate(s.IOPS), Throughput: throughput(s.BytesPerSecond),
					P50: optional(s.Latency.P50), P99: optional(s.Latency.P99),
				})
			}
		}
	}
	if l := w.Last; l != nil {
		row.Last, row.LastBad, row.LastWhen = outcomeWords(l), !l.Measured(), when(l.Start, now)
	}
	if w.Skipped != "" && (w.Last == nil || w.SkippedAt.After(w.Last.Start)) {
		row.Skipped = skipWords(w) + " " + when(w.SkippedAt, now)
	}
	return row
}

// phaseWords says what goes on at a target.
func phaseWords(t *monitor.TargetState) string {
	switch t.Phase {
	case "inspecting":
		return "looking at the folder and its disk"
	case "filling":
		return "filling the probe file, once: " + percent(t.Progress)
	case "probing":
		return "probing now"
	case "waiting":
		return "waiting for its turn"
	case "stuck":
		return "stuck: the disk does not answer"
	case "idle":
		return "idle until the next run"
	case "":
		return "not started yet"
	default:
		return t.Phase
	}
}

func targetProblems(t *monitor.TargetState) []problem {
	var all []problem
	if t.Problem != "" {
		all = append(all, problem{Bad: true, Text: t.Problem})
	}
	if t.Stuck && t.Problem == "" {
		all = append(all, problem{Bad: true, Text: "The disk has not answered a probe. See the kernel's log (dmesg)."})
	}
	if n := t.Events.Verify; n > 0 {
		all = append(all, problem{Bad: true, Text: some(int(n), "block") + " did not hold what was written: data on this disk is in danger."})
	}
	if errs := countWords(t.Events.IOErrors); errs != "" {
		all = append(all, problem{Bad: true, Text: "Probe I/Os failed: " + errs + "."})
	}
	if fs := t.Filesystem; fs != nil && len(t.Disks) == 0 && fs.Why != "" {
		all = append(all, problem{Text: "Its disk is unknown: " + fs.Why})
	}
	return all
}

// countWords lists what is above 0, by name: "2 busy, 1 hot"; "" when nothing is.
func countWords[K ~string](counts map[K]uint64) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(counts)) {
		if counts[k] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[k], strings.ReplaceAll(string(k), "_", " ")))
		}
	}
	return strings.Join(parts, ", ")
}

// budget is what may still be written to the disks of a target: the smallest of them decides.
func budget(t *monitor.TargetState, disks []monitor.DiskState) string {
	var least *monitor.DiskState
	for i := range disks {
		d := &disks[i]
		if d.Budget != nil && slices.Contains(t.Disks, d.ID) && (least == nil || d.Budget.Remaining < least.Budget.Remaining) {
			least = d
		}
	}
	if least == nil {
		return ""
	}
	return allowance(least.Budget)
}

func diskList(t *monitor.TargetState, names map[blockdev.ID]string) string {
	list := make([]string, 0, len(t.Disks))
	for _, id := range t.Disks {
		if name := names[id]; name != "" {
			list = append(list, name)
		} else {
			list = append(list, string(id))
		}
	}
	return strings.Join(list, ", ")
}

// outcomeWords is how a run ended, and why.
func outcomeWords(r *history.Run) string {
	text := string(r.Outcome)
	if r.Reason != "" {
		text += " (" + strings.ReplaceAll(r.Reason, "_", " ") + ")"
	}
	if r.Detail != "" {
		text += ": " + r.Detail
	}
	return text
}

// due is when a run will start. Its time may have passed while it waits for the probe file, for its disk or for others.
func due(next, now time.Time) string {
	if !next.IsZero() && !next.After(now) {
		return "due now"
	}
	return when(next, now)
}

// skipWords says why a due run was not started.
func skipWords(w *monitor.WorkloadState) string {
	why := w.SkippedWhy
	if why == "" {
		why = strings.ReplaceAll(string(w.Skipped), "_", " ")
	}
	return "skipped: " + why
}

// drift compares with the baseline: "rate +3 %, read p50 +1 %".
func drift(series []monitor.SeriesState) string {
	var parts []string
	learned := 0
	for _, s := range series {
		learned = max(learned, s.Runs)
		if s.Degradation == nil {
			continue
		}
		name := s.Signal
		if s.Op != "all" && s.Op != "" {
			name = s.Op + " " + name
		}
		parts = append(parts, name+" "+change(*s.Degradation))
	}
	switch {
	case len(parts) > 0:
		return strings.Join(parts, ", ")
	case len(series) > 0:
		return "learning, " + some(learned, "clean run") + " so far"
	default:
		return ""
	}
}

// workloadWords describes a workload: "4.0 KiB random read, 1 outstanding, old data".
func workloadWords(w engine.Workload) string {
	parts := make([]string, 0, len(w.Streams))
	for i := range w.Streams {
		parts = append(parts, streamWords(&w.Streams[i]))
	}
	return strings.Join(parts, " and ")
}

func streamWords(s *engine.Stream) string {
	pattern := "random"
	if s.Pattern == engine.Sequential {
		pattern = "sequential"
	}
	mix := fmt.Sprintf("read %d / write %d", s.ReadPermille/10, 100-s.ReadPermille/10)
	switch s.ReadPermille {
	case 1000:
		mix = "read"
	case 0:
		mix = "write"
	}
	text := fmt.Sprintf("%s %s %s", binarySize(int64(s.BlockSize)), pattern, mix)
	if s.Arrival == engine.Paced || s.Arrival == engine.Poisson {
		text += fmt.Sprintf(", %s per second", rate(s.Rate))
	} else {
		text += fmt.Sprintf(", %d outstanding", max(1, s.Depth)*max(1, s.Workers))
	}
	if s.Sync == engine.Fdatasync {
		text += ", each flushed"
	}
	if s.Region == engine.Cold {
		text += ", old data"
	}
	return text
}

func opWord(op engine.Op) string {
	if op == engine.Write {
		return "write"
	}
	return "read"
}

// optional is a latency, or a dash when the run had too few I/Os to tell.
func optional(d *time.Duration) string {
	if d == nil {
		return "–"
	}
	return latency(*d)
}

func age(since, now time.Time) string {
	if since.IsZero() {
		return ""
	}
	return " (" + span(now.Sub(since)) + " old)"
}
