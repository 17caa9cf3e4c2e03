package web

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"ssd_exporter/blockdev"
	"ssd_exporter/engine"
	"ssd_exporter/monitor"
	"ssd_exporter/monitor/history"
	"ssd_exporter/smart"
)

// pageOf is the status page at noon.
func pageOf(t *testing.T, s *monitor.Snapshot) string {
	t.Helper()
	h := Handler(options(s)).(*site)
	h.now = noon
	w := ask(h, "GET", "/")
	if w.Code != 200 {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	page := w.Body.String()
	wellFormed(t, page)
	return page
}

// wellFormed proves that all elements nest: a browser would guess where they do not.
func wellFormed(t *testing.T, page string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(strings.TrimPrefix(page, "<!doctype html>")))
	d.Entity = xml.HTMLEntity
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("line %d: %v", strings.Count(page[:d.InputOffset()], "\n")+1, err)
		}
	}
}

func contains(t *testing.T, page string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if t.Failed() {
		_, body, _ := strings.Cut(page, "</style>")
		t.Log(body)
	}
}

func TestFirstVisitBeforeAnythingIsKnown(t *testing.T) {
	for _, s := range []*monitor.Snapshot{nil, {}} {
		contains(t, pageOf(t, s), "just started", `http-equiv="refresh" content="15"`)
	}
}

func TestFirstVisitBeforeTheFirstProbe(t *testing.T) {
	s := &monitor.Snapshot{
		At: noon(), Started: noon(),
		Disks: []monitor.DiskState{{ID: "vda", Identity: blockdev.Identity{Kernel: "vda"}}},
		Targets: []monitor.TargetState{{
			Name: "data", Dir: "/srv", Phase: "filling", Progress: 0.42,
			Workloads: []monitor.WorkloadState{{Workload: engine.Workload{Name: "read_4k_q1"}}},
		}},
	}
	page := pageOf(t, s)
	contains(t, page, "filling the probe file, once: 42 %", `<progress max="1" value="0.42"`, "Its health has not been read yet.",
		"read_4k_q1", "none yet", "has no probe file yet")
	for _, zero := range []string{"0 B", "0 %", "0 °C", "0 s", "<meter"} {
		if strings.Contains(page, ">"+zero) {
			t.Errorf("something unknown is shown as %q", zero)
		}
	}
}

func TestHealthyHost(t *testing.T) {
	contains(t, pageOf(t, healthy()),
		"1 disk, 1 probe target · started 3 hours ago · version 1.2.3", `href="./metrics"`, `href="config"`,
		// the disk
		"Widget SSD 990", "Widget_SSD_990_S000", "12.5 % of its rated life used", `<meter min="0" max="1"`, `value="0.125"`, "says nvme percentage used",
		"60 TB (5 % of the 1.2 PB it is rated for)", "90 TB", "81 TB", "1.35", "41 °C (1: 44 °C)", "375 days", "2.0 TB", "1 minute ago, from native",
		"Written by probes", "5.0 MB", "Written to fill probe files", "1.1 GB", "1.7 GB now, and 2.0 GB a day",
		// the target
		"idle until the next run", "ext4 on /dev/nvme0n1p2", "1.0 GiB", "1.02 times as long to read as fresh data (36 hours old)",
		"90 success", "3 busy, 1 read only", "4.0 KiB random read 80 / write 20, 4 outstanding", "4.0 KiB random read, 1 outstanding, old data",
		"10,000", "2,500", "83.2 µs", "332.8 µs", "21 µs", "41 MB/s", "rate &#43;3.1 %, read p50 -1 %", "learning, 3 clean runs so far",
		"59 minutes from now", "I/Os per second of the last 12 runs: from 11,125 to 12,500, now 12,500", `class="contended"`,
		// what is written
		"Besides its own state, this program writes only to probe files that it made itself, and never to a disk directly: 1.0 GiB below /var/lib/ssd_exporter",
	)
}

func TestProblemsAreToldInWords(t *testing.T) {
	disk := func(change func(*monitor.DiskState)) *monitor.Snapshot {
		s := healthy()
		change(&s.Disks[0])
		return s
	}
	target := func(change func(*monitor.TargetState)) *monitor.Snapshot {
		s := healthy()
		change(&s.Targets[0])
		return s
	}
	for _, c := range []struct {
		story string
		s     *monitor.Snapshot
		want  string
	}{
		{"no permission", disk(func(d *monitor.DiskState) {
			d.Health, d.Smart.Success, d.Smart.Reason = nil, false, smart.Permission
			d.Smart.Problem = "cannot open /dev/nvme0: run as root or give CAP_SYS_ADMIN"
		}), `class="bad">cannot open /dev/nvme0: run as root or give CAP_SYS_ADMIN`},
		{"a virtual disk is no fault", disk(func(d *monitor.DiskState) {
			d.Health, d.Smart.Reason, d.Smart.Problem = nil, smart.Unsupported, "a virtual disk has no S.M.A.R.T."
		}), `<li>a virtual disk has no S.M.A.R.T.`},
		{"failing", disk(func(d *monitor.DiskState) { d.Health.Healthy = new(false) }), "Save its data and replace it."},
		{"worn out", disk(func(d *monitor.DiskState) { d.Health.Wear.Used = new(1.05) }), "105 % of its rated life used"},
		{"worn out, in words", disk(func(d *monitor.DiskState) { d.Health.Wear.Used = new(1.05) }), "Its rated life is used up."},
		{"at least so worn", disk(func(d *monitor.DiskState) { d.Health.Wear.LowerBound = true }), "at least 12.5 %"},
		{
			"wear unknown", disk(func(d *monitor.DiskState) { d.Health.Wear = smart.Wear{Note: "no rule for this family."} }),
			"Its wear is unknown: no rule for this family.<",
		},
		{"spare low", disk(func(d *monitor.DiskState) { d.Health.SpareAvailable = new(0.05) }), "Only 5 % of its spare blocks are left; its own limit is 10 %."},
		{"hot", disk(func(d *monitor.DiskState) { d.Health.Temperatures["composite"] = 83 }), "It is at 83 °C; its own limit is 82 °C."},
		{"pending", disk(func(d *monitor.DiskState) { d.Health.PendingSectors = new(uint64(1)) }), "1 sector cannot be read."},
		{"warning", disk(func(d *monitor.DiskState) { d.Health.Critical = map[string]bool{"read_only": true, "spare": false} }), "The disk has become read-only."},
		{"asleep", disk(func(d *monitor.DiskState) { d.Smart.Asleep = true }), "asleep; it is not woken"},
		{"no writing", disk(func(d *monitor.DiskState) { d.Budget.PerDay = 0 }), "no writing at all"},
		{"target", target(func(g *monitor.TargetState) { g.Problem = "the disk is full" }), `class="bad">the disk is full`},
		{"stuck", target(func(g *monitor.TargetState) { g.Stuck, g.Phase = true, "stuck" }), "has not answered a probe"},
		{"corrupt", target(func(g *monitor.TargetState) { g.Events.Verify = 2 }), "2 blocks did not hold what was written"},
		{"I/O errors", target(func(g *monitor.TargetState) { g.Events.IOErrors = map[string]uint64{"EIO": 3} }), "Probe I/Os failed: 3 EIO."},
		{"unknown leaves", target(func(g *monitor.TargetState) { g.Disks, g.Filesystem.Why = nil, "overlay of two disks" }), "Its disk is unknown: overlay of two disks"},
		{"failed run", target(func(g *monitor.TargetState) {
			g.Workloads[0].Last = &history.Run{Outcome: history.Aborted, Reason: "foreign_io", Detail: "800 IOPS of others", Start: noon()}
		}), `class="bad"><div>aborted (foreign io): 800 IOPS of others`},
		{"skipped since", target(func(g *monitor.TargetState) {
			w := &g.Workloads[0]
			w.Skipped, w.SkippedAt, w.SkippedWhy = monitor.SkipReadOnly, w.Last.Start.Add(time.Minute), "the disk is read-only"
		}), "skipped: the disk is read-only"},
		{"skipped without words", target(func(g *monitor.TargetState) {
			g.Workloads[1].Skipped, g.Workloads[1].SkippedAt = monitor.SkipNoSpace, noon().Add(-time.Minute)
		}), "skipped: no space 1 minute ago"},
		{"notes", &monitor.Snapshot{At: noon(), Notes: []string{"no disk with S.M.A.R.T. found"}}, "<li>no disk with S.M.A.R.T. found</li>"},
	} {
		t.Run(c.story, func(t *testing.T) { contains(t, pageOf(t, c.s), c.want) })
	}
}

func TestStringsOfDisksAndFilesStayText(t *testing.T) {
	const evil = `"><script>alert(1)</script><img src=x onerror=alert(2)>&#0;{{.}}'` + "\x00\xff"
	s := healthy()
	d := &s.Disks[0]
	d.ID, d.Identity = evil, blockdev.Identity{Model: evil, Serial: evil, Firmware: evil, Transport: evil, Kernel: evil, WWN: evil}
	d.Health.Family, d.Health.Wear.Source, d.Health.Wear.Note, d.Health.Errors = evil, evil, evil, []string{evil}
	d.Health.Temperatures[evil], d.Health.Critical = 1, map[string]bool{evil: true}
	d.Smart.Problem, d.Smart.Source = evil, evil
	g := &s.Targets[0]
	g.Name, g.Dir, g.Profile, g.Problem, g.Phase, g.Disks = evil, evil, evil, evil, evil, []blockdev.ID{evil}
	g.Filesystem = &blockdev.Filesystem{Type: evil, Source: evil, Why: evil}
	g.Events.IOErrors = map[string]uint64{evil: 1}
	g.Workloads[0].Workload.Name = evil
	g.Workloads[0].Last.Detail, g.Workloads[0].Last.Reason = evil, evil
	for i := range g.Recent {
		g.Recent[i].Workload = evil
	}
	s.Notes = []string{evil}
	h := Handler(options(s)).(*site)
	h.now = noon
	page := ask(h, "GET", "/").Body.String()
	for _, forbidden := range []string{"<script", "<img", "\x00"} {
		if strings.Contains(page, forbidden) {
			t.Errorf("the page has %q", forbidden)
		}
	}
	if n := strings.Count(page, "&lt;script&gt;"); n < 15 {
		t.Errorf("the strings occur %d times as text", n)
	}
}

func TestSixtyFourDisks(t *testing.T) {
	s := healthy()
	for n := 1; n < 64; n++ {
		s.Disks = append(s.Disks, healthyDisk(n))
		s.Targets = append(s.Targets, healthyTarget(healthyDisk(n).Identity.Kernel, healthyDisk(n).ID))
	}
	page := pageOf(t, s)
	contains(t, page, "64 disks, 64 probe targets", "Widget_SSD_990_S063")
	if got := strings.Count(page, "<article>"); got != 128 {
		t.Errorf("%d cards, want 128", got)
	}
}

func TestTheSmallestAllowanceOfATargetCounts(t *testing.T) {
	s := healthy()
	second := healthyDisk(1)
	second.Budget.Remaining = 250_000_000
	s.Disks = append(s.Disks, second)
	s.Targets[0].Disks = append(s.Targets[0].Disks, second.ID)
	_, targets, _ := strings.Cut(pageOf(t, s), "<h2>Speed</h2>")
	targets, _, _ = strings.Cut(targets, "<h2>Disks</h2>")
	contains(t, targets, "250 MB now, and 2.0 GB a day")
}

func TestASkipBeforeTheLastRunIsHistory(t *testing.T) {
	s := healthy()
	w := &s.Targets[0].Workloads[0]
	w.Skipped, w.SkippedAt, w.SkippedWhy = monitor.SkipBusy, w.Last.Start.Add(-time.Minute), "others are busy"
	if strings.Contains(pageOf(t, s), "others are busy") {
		t.Error("the page tells a skip that a run has followed")
	}
}

func TestRefreshingCanBeStopped(t *testing.T) {
	w := ask(Handler(options(healthy())), "GET", "/?refresh=off")
	if strings.Contains(w.Body.String(), "http-equiv") || !strings.Contains(w.Body.String(), "Refresh every 15 s") {
		t.Error("the page goes on refreshing")
	}
}

func TestPlot(t *testing.T) {
	if p := newPlot([]history.Run{mixedRun(noon(), 1)}, "mixed80_4k_q4"); p != nil {
		t.Errorf("one run makes a line: %+v", p)
	}
	failed := mixedRun(noon().Add(-time.Hour), 999_999)
	failed.Outcome = history.Failed
	p := newPlot([]history.Run{
		mixedRun(noon(), 50), failed, mixedRun(noon().Add(-2*time.Hour), 0), mixedRun(noon().Add(-4*time.Hour), 100),
	}, "mixed80_4k_q4")
	if want := "3.0,3.0 70.0,29.0 137.0,16.0"; p.Line != want {
		t.Errorf("line %q, want %q", p.Line, want)
	}
	if want := "I/Os per second of the last 3 runs: from 0 to 125, now 63"; p.Label != want {
		t.Errorf("label %q, want %q", p.Label, want)
	}
	flat := newPlot([]history.Run{mixedRun(noon(), 0), mixedRun(noon(), 0)}, "mixed80_4k_q4")
	if strings.Contains(flat.Line, "NaN") || len(flat.Dots) != 2 {
		t.Errorf("line %q of two runs without I/Os at one moment", flat.Line)
	}
}

func TestWords(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{size(uint64(2_000_398_934_016)), "2.0 TB"},
		{size(int64(-5_000_000)), "-5.0 MB"},
		{binarySize(1 << 30), "1.0 GiB"},
		{latency(83200 * time.Nanosecond), "83.2 µs"},
		{latency(1234567), "1.2 ms"},
		{latency(0), "0 s"},
		{span(90 * time.Second), "90 s"},
		{span(90 * time.Minute), "90 min"},
		{span(36 * time.Hour), "36 hours"},
		{span(9000 * time.Hour), "375 days"},
		{span(30000 * time.Hour), "3.4 years"},
		{percent(1.05), "105 %"},
		{percent(0.1251), "12.5 %"},
		{change(0.0312), "+3.1 %"},
		{change(-0.0312), "-3.1 %"},
		{change(-0.0001), "0 %"},
		{rate(0.25), "0.3"},
		{rate(12345.6), "12,346"},
		{some(1, "disk"), "1 disk"},
		{some(0, "disk"), "0 disks"},
		{when(time.Time{}, noon()), ""},
		{when(noon().Add(-3*time.Minute), noon()), "3 minutes ago"},
		{due(noon().Add(-time.Second), noon()), "due now"},
		{due(noon().Add(time.Hour), noon()), "1 hour from now"},
		{due(time.Time{}, noon()), ""},
		{sourceWords("ata_attribute_173"), "attribute 173"},
		{streamWords(&engine.Stream{BlockSize: 4096, ReadPermille: 0, Sync: engine.Fdatasync}), "4.0 KiB random write, 1 outstanding, each flushed"},
		{streamWords(&engine.Stream{BlockSize: 1 << 20, Pattern: engine.Sequential, ReadPermille: 1000, Depth: 2}), "1.0 MiB sequential read, 2 outstanding"},
		{streamWords(&engine.Stream{BlockSize: 4096, ReadPermille: 800, Arrival: engine.Paced, Rate: 250}), "4.0 KiB random read 80 / write 20, 250 per second"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}
