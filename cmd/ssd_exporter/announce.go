package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"ssd_exporter/config"
	"ssd_exporter/engine/probefile"
	"ssd_exporter/monitor"
)

// announce says what will be written, and where, before anything is.
func announce(w io.Writer, o *monitor.Options, addresses []string) {
	var b strings.Builder
	b.WriteString("ssd_exporter writes to these places and nowhere else:\n")
	fmt.Fprintf(&b, "  %s\n      what it measured (history.db, ledger/): a few megabytes\n", absolute(o.StateDir))
	for i := range o.Targets {
		t := &o.Targets[i]
		switch {
		case config.IsDevice(t.Dir):
			fmt.Fprintf(&b, "  %s (target %s): nothing, the device is only read\n", t.Dir, t.Name)
			continue
		case o.PerDay != nil && *o.PerDay == 0:
			fmt.Fprintf(&b, "  %s (target %s): nothing, budget.bytes_per_day is 0\n", absolute(t.Dir), t.Name)
			continue
		}
		fmt.Fprintf(&b, "  %s (target %s)\n      at most %s once, then %s\n",
			absolute(filepath.Join(t.Dir, probefile.Folder, probefile.DataName)), t.Name, humanize.IBytes(uint64(t.FileSize)), daily(t, o.PerDay))
	}
	if len(o.Targets) == 0 {
		b.WriteString("No target is configured: nothing is probed.\n")
	}
	for _, a := range addresses {
		fmt.Fprintf(&b, "Metrics and status page: %s\n", link(a))
	}
	_, _ = io.WriteString(w, b.String()) // whoever closed our output does not want to know
}

// daily says what the workloads of a target write in a day, at most.
func daily(t *monitor.Target, perDay *int64) string {
	n := writesPerDay(t)
	if perDay != nil && *perDay < n {
		n = *perDay
	}
	if n == 0 {
		return "nothing: its workloads only read"
	}
	return "at most " + humanize.Bytes(uint64(n)) + " a day; less where the disk's write budget is smaller"
}

// writesPerDay is the mean over a week of what all due workloads write at most.
func writesPerDay(t *monitor.Target) int64 {
	const days = 7
	begin := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	var bytes int64
	for i := range t.Workloads {
		w := &t.Workloads[i]
		each := w.MaxWritten()
		if each == 0 || w.Schedule == nil {
			continue
		}
		for at := w.Schedule.Next(begin); !at.IsZero() && !at.After(begin.AddDate(0, 0, days)); at = w.Schedule.Next(at) {
			bytes += each
		}
	}
	return bytes / days
}

func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// link makes ":10055" something that a terminal opens.
func link(address string) string {
	if strings.Contains(address, "://") {
		return address
	}
	if strings.HasPrefix(address, ":") {
		address = "localhost" + address
	}
	return "http://" + address + "/"
}
