package web

import (
	"fmt"
	"strings"

	"ssd_exporter/monitor/history"
)

// Size of a plot in its own units, with room at the border for the dots.
const (
	plotWidth  = 140
	plotHeight = 32
	plotBorder = 3
)

// plot is a line of I/Os per second over time, from 0 at the bottom.
type plot struct {
	Width, Height int
	Label         string // for those who cannot see it
	Line          string // points of a polyline
	Dots          []dot
}

type dot struct {
	X, Y      string
	Contended bool
}

// newPlot draws the runs of one workload, which come newest first; nil when fewer than two have figures.
func newPlot(recent []history.Run, workload string) *plot {
	var runs []*history.Run // oldest first
	var rates []float64
	for i := len(recent) - 1; i >= 0; i-- {
		if r := &recent[i]; r.Workload == workload && r.Measured() {
			runs, rates = append(runs, r), append(rates, totalIOPS(r))
		}
	}
	if len(runs) < 2 {
		return nil
	}
	lowest, highest := rates[0], rates[0]
	for _, v := range rates {
		lowest, highest = min(lowest, v), max(highest, v)
	}
	p := &plot{
		Width: plotWidth, Height: plotHeight,
		Label: fmt.Sprintf("I/Os per second of the last %d runs: from %s to %s, now %s",
			len(runs), rate(lowest), rate(highest), rate(rates[len(rates)-1])),
	}
	first, last := runs[0].Start, runs[len(runs)-1].Start
	var line strings.Builder
	for i, r := range runs {
		x := scale(r.Start.Sub(first).Seconds(), last.Sub(first).Seconds(), plotWidth)
		y := scale(highest-rates[i], highest, plotHeight)
		fmt.Fprintf(&line, "%s,%s ", x, y)
		p.Dots = append(p.Dots, dot{X: x, Y: y, Contended: r.Contended})
	}
	p.Line = strings.TrimSpace(line.String())
	return p
}

// scale maps 0 to whole onto the inner part of size.
func scale(part, whole float64, size int) string {
	inner := float64(size - 2*plotBorder)
	if whole > 0 {
		inner *= min(1, max(0, part/whole))
	}
	return fmt.Sprintf("%.1f", plotBorder+inner)
}

func totalIOPS(r *history.Run) float64 {
	total := 0.0
	for _, op := range r.Ops {
		if op != nil {
			total += op.IOPS
		}
	}
	return total
}
