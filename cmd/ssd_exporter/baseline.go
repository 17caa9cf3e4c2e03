package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/dustin/go-humanize"

	"ssd_exporter/monitor"
	"ssd_exporter/monitor/control"
)

// addBaseline adds "baseline show", "baseline accept" and "baseline reset", which ask the running service.
func (a *app) addBaseline() {
	c := a.kingpin.Command("baseline", "What the running service compares each disk with. It is found by --state.path.")

	var output string
	show := c.Command("show", "List every series of every target: clean runs learned, baseline, last value, and how far that is from it.")
	show.Flag("output", "table (for people) or json.").Default("table").EnumVar(&output, "table", "json")
	a.add(show, func(ctx context.Context) error { return a.baselineShow(ctx, output) })

	var target, workload string
	which := func(name, help string, ask func(context.Context) ([]control.Change, error)) {
		cmd := c.Command(name, help)
		cmd.Arg("TARGET", "Name of the target.").Required().StringVar(&target)
		cmd.Arg("WORKLOAD", "Name of the workload; all of the target when left out.").StringVar(&workload)
		a.add(cmd, func(ctx context.Context) error { return a.baselineChange(ctx, name, ask) })
	}
	which("accept", "Say that a disk is now as it should be: its newest clean runs, 24 at most, become the baseline. The old one is kept beside it.",
		func(ctx context.Context) ([]control.Change, error) {
			return a.controlled().Accept(ctx, target, workload)
		})
	which("reset", "Forget the baseline and learn anew from the next clean runs, after a disk was exchanged or moved. The old one is kept beside it.",
		func(ctx context.Context) ([]control.Change, error) {
			return a.controlled().Reset(ctx, target, workload)
		})
}

func (a *app) baselineShow(ctx context.Context, output string) error {
	all, err := a.controlled().Baselines(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("baseline show: %w", err)
	case output == "json":
		return writeJSON(a.stdout, all)
	case len(all) == 0:
		_, err := fmt.Fprintln(a.stdout, "No clean run has been measured yet.")
		return err
	}
	return printBaselines(a.stdout, all)
}

func printBaselines(w io.Writer, all []control.Series) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "TARGET\tWORKLOAD\tSERIES\tRUNS\tBASELINE\tLAST\tDRIFT\tSINCE\tKEPT BESIDE")
	for i := range all {
		s := &all[i]
		since := "first runs"
		if s.Since != nil {
			since = s.Since.UTC().Format("2006-01-02 15:04") + " UTC"
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%d\t%s\t%s\t%s\t%s\t%d\n", clean(s.Target), clean(s.Workload), seriesName(s), s.Runs,
			inUnit(s.Baseline, s.Unit), inUnit(s.Last, s.Unit), drift(s), since, s.Earlier)
	}
	return tw.Flush()
}

func seriesName(s *control.Series) string {
	if s.Op == "all" {
		return s.Signal
	}
	return s.Op + " " + s.Signal
}

func inUnit(v *float64, unit string) string {
	switch {
	case v == nil:
		return "-"
	case unit == monitor.UnitIOPS:
		return humanize.Comma(int64(*v+0.5)) + "/s"
	case unit == monitor.UnitRatio:
		return fmt.Sprintf("%.2f%%", 100**v)
	}
	return latency(v)
}

// drift is how much more time an I/O takes than by the baseline.
func drift(s *control.Series) string {
	switch {
	case s.Degradation != nil:
		return fmt.Sprintf("%+.1f%%", 100**s.Degradation)
	case s.Signal == "p99":
		return "not judged"
	case s.Baseline == nil:
		return "learning"
	}
	return "-"
}

// baselineChange tells what became of each workload. When nothing changed at all, that is a failure.
func (a *app) baselineChange(ctx context.Context, did string, ask func(context.Context) ([]control.Change, error)) error {
	changes, err := ask(ctx)
	if err != nil {
		return fmt.Errorf("baseline %s: %w", did, err)
	}
	changed := 0
	for _, c := range changes {
		text := "learns anew"
		switch {
		case c.Kept != "":
			text = "as it was: " + c.Kept
		case did == "accept":
			text = fmt.Sprintf("the newest %d clean runs are its baseline", c.Runs)
		}
		if c.Kept == "" {
			changed++
		}
		if _, err := fmt.Fprintf(a.stdout, "%s %s: %s\n", clean(c.Target), clean(c.Workload), clean(text)); err != nil {
			return err
		}
	}
	if changed == 0 {
		hint := ""
		if did == "accept" {
			hint = `; wait for more clean runs, or begin anew with "ssd_exporter baseline reset"`
		}
		return errors.New("no baseline was changed" + hint)
	}
	return nil
}
