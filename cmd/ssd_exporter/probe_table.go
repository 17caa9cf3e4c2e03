package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/dustin/go-humanize"

	"ssd_exporter/engine"
)

// print shows the reports in the form that was asked for: one workload as an object, the profile as an object of several.
func (p *probing) print(all []probeReport) error {
	var err error
	switch {
	case p.flags.output == "table":
		err = printProbeTable(p.app.stdout, all)
	case p.flags.single():
		err = writeJSON(p.app.stdout, all[0])
	default:
		err = writeJSON(p.app.stdout, struct {
			Workloads []probeReport `json:"workloads"`
		}{all})
	}
	if err != nil {
		return fmt.Errorf("writing the output: %w", err)
	}
	return nil
}

func printProbeTable(w io.Writer, all []probeReport) error {
	if _, err := fmt.Fprintln(w, headline(all[0].Target)); err != nil {
		return err
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "WORKLOAD\tOP\tIOPS\tTHROUGHPUT\tMEAN\tP50\tP90\tP99\tP99.9\tMAX\tI/OS\tERRORS\tENGINE")
	for i := range all {
		r := &all[i]
		for _, row := range []struct {
			op engine.Op
			of *probeOp
		}{{engine.Read, r.Read}, {engine.Write, r.Write}} {
			if row.of != nil {
				fmt.Fprintln(tw, strings.Join(probeRow(r, row.op, row.of), "\t"))
			}
		}
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	for i := range all {
		for _, remark := range remarks(&all[i]) {
			if _, err := fmt.Fprintf(w, "%s: %s\n", all[i].Workload, clean(remark)); err != nil {
				return err
			}
		}
	}
	return nil
}

func headline(t probeTarget) string {
	disks := "unknown disks"
	if len(t.Disks) > 0 {
		disks = strings.Join(t.Disks, ", ")
	}
	if t.File == nil {
		return fmt.Sprintf("%s, read only", clean(t.Path))
	}
	return fmt.Sprintf("%s on %s (%s), probe file of %s", clean(t.Path), disks, orDash(deref(t.Filesystem)), humanize.IBytes(uint64(*t.FileSize)))
}

func probeRow(r *probeReport, op engine.Op, o *probeOp) []string {
	l := o.Latency
	return []string{
		r.Workload, op.String(), humanize.Comma(int64(o.IOPS + 0.5)), humanize.Bytes(uint64(o.BytesPerSecond)) + "/s",
		latency(l.Mean), latency(l.P50), latency(l.P90), latency(l.P99), latency(l.P999), latency(l.Max),
		humanize.Comma(o.IOs), humanize.Comma(o.Errors), r.Engine,
	}
}

// latency is a time with three digits; "-" when there were too few I/Os for it.
func latency(seconds *float64) string {
	if seconds == nil {
		return "-"
	}
	d := time.Duration(*seconds * float64(time.Second))
	switch {
	case d < time.Millisecond:
		return fmt.Sprintf("%.3gµs", float64(d)/float64(time.Microsecond))
	case d < time.Second:
		return fmt.Sprintf("%.3gms", float64(d)/float64(time.Millisecond))
	}
	return fmt.Sprintf("%.3gs", d.Seconds())
}

// remarks are what a reader of the table must know beside the figures.
func remarks(r *probeReport) []string {
	var out []string
	if r.Partial {
		out = append(out, "PARTIAL, it did not run to its end")
	}
	if !r.Valid {
		out = append(out, "NOT VALID, "+deref(r.Detail))
	}
	if r.Stopped == engine.StoppedMaxWriteBytes && r.Parameters.MaxIOs == nil {
		out = append(out, fmt.Sprintf("it ended early, after %s written; --yes-write=SIZE agrees to more", humanize.Bytes(uint64(r.WrittenBytes))))
	}
	if r.ForeignIOPS != nil && *r.ForeignIOPS > 200 {
		out = append(out, fmt.Sprintf("others did %.0f I/Os per second on the disk meanwhile", *r.ForeignIOPS))
	}
	if r.LongestGap != nil && *r.LongestGap >= 0.5 {
		out = append(out, fmt.Sprintf("nothing completed for %s at one time", latency(r.LongestGap)))
	}
	return out
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
