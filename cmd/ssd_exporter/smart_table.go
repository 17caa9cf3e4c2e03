package main

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode"

	"github.com/dustin/go-humanize"

	"ssd_exporter/smart"
)

// tablePrinter shows a table for people, and below it what could not be understood and what to do.
type tablePrinter struct {
	w       io.Writer
	colour  bool
	reports []report
}

func (p *tablePrinter) print(r report) error {
	p.reports = append(p.reports, r)
	return nil
}

func (p *tablePrinter) close() error {
	tw := tabwriter.NewWriter(p.w, 0, 0, 2, ' ', 0)
	var problems []string
	rows := 0
	for _, r := range p.reports {
		if r.err != nil {
			problems = append(problems, clean(r.problem()))
			continue
		}
		name := clean(diskName(r))
		for _, e := range r.health.Errors {
			problems = append(problems, name+": "+clean(e))
		}
		if rows++; rows == 1 {
			fmt.Fprintln(tw, strings.Join([]string{"DISK", "MODEL", p.paint("WEAR", plainText), "FROM", "WRITTEN", "WAF", "POWER ON", "TEMP", p.paint("HEALTH", plainText)}, "\t"))
		}
		fmt.Fprintln(tw, strings.Join(p.row(name, r.health), "\t"))
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	if rows > 0 && len(problems) > 0 {
		problems = append([]string{""}, problems...)
	}
	var err error
	for _, s := range problems {
		_, werr := fmt.Fprintln(p.w, s)
		err = errors.Join(err, werr)
	}
	return err
}

func (p *tablePrinter) row(name string, h *smart.Health) []string {
	return []string{
		name, orDash(clean(h.Identity.Model)), p.wear(h.Wear), orDash(h.Wear.Source), size(h.HostWritten),
		number(h.WriteAmplification, "%.2f"), powerOn(h), temperature(h), p.healthy(h),
	}
}

func (p *tablePrinter) wear(w smart.Wear) string {
	switch {
	case w.Used == nil:
		return p.paint("-", plainText)
	case *w.Used >= 1:
		return p.paint(percent(w), red)
	case *w.Used >= 0.8:
		return p.paint(percent(w), yellow)
	}
	return p.paint(percent(w), green)
}

func percent(w smart.Wear) string {
	s := strings.TrimSuffix(strconv.FormatFloat(100**w.Used, 'f', 1, 64), ".0")
	if w.LowerBound {
		s = "≥" + s
	}
	return s + "%"
}

func (p *tablePrinter) healthy(h *smart.Health) string {
	for _, set := range h.Critical {
		if set {
			return p.paint("warning", red)
		}
	}
	switch {
	case h.Healthy == nil:
		return p.paint("-", plainText)
	case *h.Healthy:
		return p.paint("ok", green)
	}
	return p.paint("failing", red)
}

// Colours. All take the same number of bytes, because tabwriter counts them as width.
const (
	plainText = "39"
	red       = "31"
	green     = "32"
	yellow    = "33"
)

func (p *tablePrinter) paint(s, colour string) string {
	if !p.colour {
		return s
	}
	return "\x1b[" + colour + "m" + s + "\x1b[39m"
}

// diskName is what a person calls the disk of an understood report.
func diskName(r report) string {
	switch {
	case r.health.Identity.Kernel != "":
		return r.health.Identity.Kernel
	case r.health.Identity.Serial != "":
		return r.health.Identity.Serial
	}
	return r.source
}

// clean keeps what a disk or a file says from moving the cursor.
func clean(s string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsPrint(c) {
			return c
		}
		return ' '
	}, s)
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func size(n *uint64) string {
	if n == nil {
		return "-"
	}
	return humanize.Bytes(*n)
}

func number(f *float64, format string) string {
	if f == nil {
		return "-"
	}
	return fmt.Sprintf(format, *f)
}

func powerOn(h *smart.Health) string {
	if h.PowerOn == nil {
		return "-"
	}
	if days := h.PowerOn.Hours() / 24; days < 730 {
		return fmt.Sprintf("%.0f d", days)
	}
	return fmt.Sprintf("%.1f y", h.PowerOn.Hours()/24/365.25)
}

func temperature(h *smart.Health) string {
	t, ok := h.Temperatures["composite"]
	if !ok {
		return "-"
	}
	return fmt.Sprintf("%.0f °C", t)
}
