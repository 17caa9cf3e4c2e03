package collector

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"ssd_exporter/blockdev"
	"ssd_exporter/monitor"
)

// fleet is a host with 64 disks that tell all they can, and some targets with every default workload on each.
func fleet(targets int) *monitor.Snapshot {
	s := &monitor.Snapshot{At: noon(), Started: noon().Add(-48 * time.Hour)}
	for i := range 64 {
		d := fullDisk()
		d.Identity.Kernel, d.Identity.Serial = fmt.Sprintf("nvme%dn1", i), fmt.Sprintf("S1A2B3C4D5E6F%02d", i)
		d.ID = d.Identity.ID()
		s.Disks = append(s.Disks, d)
	}
	for i := range targets {
		s.Targets = append(s.Targets, target(fmt.Sprintf("target%03d", i), []blockdev.ID{s.Disks[i%len(s.Disks)].ID}, lightNames()...))
	}
	return s
}

// BenchmarkFleet scrapes a host with 64 disks. "made ahead" is what Prometheus meets in the service: between two of its scrapes at
// least one snapshot is published, and KeepFresh has made its page. "new snapshot" is the work that this takes off the scrape,
// and "same snapshot" a second Prometheus.
func BenchmarkFleet(b *testing.B) {
	live := prometheus.NewRegistry()
	live.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	for _, size := range []struct {
		name    string
		targets int
	}{{"64 disks and 4 targets", 4}, {"64 disks with 4 targets each", 256}} {
		s := fleet(size.targets)
		for _, when := range []string{"made ahead", "new snapshot", "same snapshot"} {
			for _, form := range []struct {
				name   string
				header http.Header
			}{
				{"text, plain", http.Header{}},
				{"text, gzip", http.Header{"Accept-Encoding": {"gzip"}}},
				{"protobuf, gzip", http.Header{"Accept": {acceptProtobuf}, "Accept-Encoding": {"gzip"}}},
			} {
				b.Run(size.name+"/"+when+"/"+form.name, func(b *testing.B) {
					current := s
					h := Handler(func() *monitor.Snapshot { return current }, defaults, live)
					h.keep(when == "made ahead")
					benchScrapes(b, h, form.header, func() {
						if when != "same snapshot" {
							current = new(*s)
						}
						if when == "made ahead" {
							h.refresh(time.Now())
						}
					})
				})
			}
		}
	}
}

// benchScrapes times scrapes, and not what lies before each.
func benchScrapes(b *testing.B, h http.Handler, header http.Header, before func()) {
	r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	r.Header = header
	var took []time.Duration
	w := &sizeOnly{header: http.Header{}}
	h.ServeHTTP(w, r)
	for b.Loop() {
		before()
		clear(w.header)
		w.bytes = 0
		start := time.Now()
		h.ServeHTTP(w, r)
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	b.ReportMetric(0, "ns/op") // it has what lies before in it
	b.ReportMetric(float64(w.bytes)/1e3, "kB")
	b.ReportMetric(took[len(took)/2].Seconds()*1e3, "p50-ms")
	b.ReportMetric(took[len(took)*99/100].Seconds()*1e3, "p99-ms")
}

// sizeOnly is a client that reads and forgets.
type sizeOnly struct {
	header http.Header
	bytes  int64
}

func (s *sizeOnly) Header() http.Header { return s.header }
func (s *sizeOnly) WriteHeader(int)     {}
func (s *sizeOnly) Write(p []byte) (int, error) {
	n, err := io.Discard.Write(p)
	s.bytes += int64(n)
	return n, err
}
