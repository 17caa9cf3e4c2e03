package collector

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"ssd_exporter/monitor"
)

// Options of the page.
type Options struct {
	ClassicHistograms bool
	Attributes        bool
}

// New collects the metrics of the snapshot that get returns.
func New(get func() *monitor.Snapshot, o Options) prometheus.Collector { return nil }

// Handler serves /metrics: the encoded page of the snapshot, and the families of live appended at each scrape.
func Handler(get func() *monitor.Snapshot, o func() Options, live prometheus.Gatherer) http.Handler {
	return nil
}

// Markdown is docs/metrics.md.
func Markdown() string { return "" }
