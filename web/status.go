package web

import (
	"html/template"
	"net/http"
	"strings"
	"time"

	"ssd_exporter/blockdev"
	"ssd_exporter/monitor"
)

// view is the status page before it is HTML: words only, so that the template decides nothing.
type view struct {
	Style   template.CSS
	Version string
	Links   []link
	Refresh bool // every 15 s
	Summary string
	Started string
	Notes   []string
	Disks   []diskCard
	Targets []targetCard
	Waiting string // why there is nothing to see yet
	Writes  string
}

type link struct{ URL, Text string }

// fact is a line of a card.
type fact struct{ Name, Value string }

// problem is a sentence about something wrong (Bad) or worth knowing.
type problem struct {
	Bad  bool
	Text string
}

func (s *site) view(r *http.Request) view {
	v := view{
		Style: s.style, Version: s.Version, Refresh: r.URL.Query().Get("refresh") != "off",
		Links: []link{{URL: relative(s.MetricsURL), Text: "Metrics"}},
	}
	if s.Config != nil {
		v.Links = append(v.Links, link{URL: "config", Text: "Configuration"})
	}
	var snapshot *monitor.Snapshot
	if s.Snapshot != nil {
		snapshot = s.Snapshot()
	}
	if snapshot == nil || snapshot.At.IsZero() && len(snapshot.Disks)+len(snapshot.Targets) == 0 {
		v.Waiting = "The exporter has just started and is looking for disks. This page shows them in a moment."
		return v
	}
	v.fill(snapshot, s.now())
	return v
}

func (v *view) fill(s *monitor.Snapshot, now time.Time) {
	v.Summary = some(len(s.Disks), "disk") + ", " + some(len(s.Targets), "probe target")
	if !s.Started.IsZero() {
		v.Started = when(s.Started, now)
	}
	v.Notes = s.Notes
	names := map[blockdev.ID]string{}
	for i := range s.Disks {
		names[s.Disks[i].ID] = diskName(&s.Disks[i])
		v.Disks = append(v.Disks, newDiskCard(&s.Disks[i], now))
	}
	for i := range s.Targets {
		v.Targets = append(v.Targets, newTargetCard(&s.Targets[i], s.Disks, names, now))
	}
	v.Writes = writes(s.Targets)
}

// writes says what this program writes, and where.
func writes(targets []monitor.TargetState) string {
	var files []string
	for i := range targets {
		if t := &targets[i]; t.FileSize > 0 {
			files = append(files, binarySize(t.FileSize)+" below "+t.Dir)
		}
	}
	if len(files) == 0 {
		return "This program has no probe file yet. It writes to files that it made itself, and never to a disk directly."
	}
	return "Besides its own state, this program writes only to probe files that it made itself, and never to a disk directly: " + strings.Join(files, ", ") + "."
}

// relative makes a path of this server work behind a proxy that adds a prefix.
func relative(path string) string {
	if path = strings.TrimLeft(path, "/"); path != "" {
		return "./" + path
	}
	return "."
}
