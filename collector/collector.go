package collector

import (
	"fmt"
	"log/slog"
	"math"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"ssd_exporter/monitor"
)

// Options of the page. They are comparable: a page is made for one value of them.
type Options struct {
	ClassicHistograms bool         // classic buckets beside the native ones
	Attributes        bool         // ssd_smart_attribute_*
	Log               *slog.Logger // told of samples that had to be left out; nil discards
}

// New collects the metrics of the snapshot that get returns. A nil snapshot has no metrics.
func New(get func() *monitor.Snapshot, o Options) prometheus.Collector {
	c := &snapshotCollector{get: get, options: o}
	for _, row := range Catalog() {
		if row.Process || row.OptIn && !o.Attributes {
			continue
		}
		c.rows = append(c.rows, describedRow{Row: row, desc: prometheus.NewDesc(row.Name, row.Help, row.AllLabels(), nil)})
	}
	return c
}

type snapshotCollector struct {
	get     func() *monitor.Snapshot
	options Options
	rows    []describedRow
}

type describedRow struct {
	Row
	desc *prometheus.Desc
}

// Describe tells all metrics, whether they have samples now or not.
func (c *snapshotCollector) Describe(ch chan<- *prometheus.Desc) {
	for i := range c.rows {
		ch <- c.rows[i].desc
	}
}

// Collect sends the samples of the snapshot.
func (c *snapshotCollector) Collect(ch chan<- prometheus.Metric) {
	s := c.get()
	if s == nil {
		return
	}
	all := subjects(s)
	for i := range c.rows {
		r := &c.rows[i]
		// Two disks may tell the same identity, and two strings may become the same when made valid. The registry would refuse
		// the whole page for it: the first one wins.
		seen := make(map[string]struct{}, len(all[r.Scope]))
		for _, of := range all[r.Scope] {
			c.ask(r, of, seen, ch)
		}
	}
}

// ask sends the samples of one row about one subject. A bug in the row costs this pair alone.
func (c *snapshotCollector) ask(r *describedRow, of subject, seen map[string]struct{}, ch chan<- prometheus.Metric) {
	defer func() {
		if p := recover(); p != nil {
			c.leftOut(r, of.labels, fmt.Errorf("panic: %v", p))
		}
	}()
	r.yield(of, sink{add: func(s sample) {
		labels := make([]string, 0, len(of.labels)+len(s.labels))
		for _, v := range of.labels {
			labels = append(labels, valid(v))
		}
		for _, v := range s.labels {
			labels = append(labels, valid(v))
		}
		key := strings.Join(labels, "\xff") // no byte of valid UTF-8
		if _, dup := seen[key]; dup {
			return
		}
		seen[key] = struct{}{}
		m, err := c.metric(r, s, labels)
		if err != nil {
			c.leftOut(r, labels, err)
			return
		}
		ch <- m
	}})
}

func (c *snapshotCollector) metric(r *describedRow, s sample, labels []string) (prometheus.Metric, error) {
	if s.hist != nil {
		return newHistogram(r.desc, s.hist, s.since, c.options.ClassicHistograms, labels)
	}
	if math.IsNaN(s.value) || math.IsInf(s.value, 0) {
		return nil, fmt.Errorf("the value is %v", s.value)
	}
	kind := prometheus.GaugeValue
	if r.Kind == Counter {
		if s.value < 0 {
			return nil, fmt.Errorf("the counter is %v", s.value)
		}
		kind = prometheus.CounterValue
	}
	return prometheus.NewConstMetric(r.desc, kind, s.value, labels...)
}

func (c *snapshotCollector) leftOut(r *describedRow, labels []string, err error) {
	if c.options.Log != nil {
		c.options.Log.Error("a sample was left out of the metrics; please report this", "metric", r.Name, "labels", labels, "err", err)
	}
}

// valid makes a label value valid UTF-8: disks and files supply any bytes, and one bad byte would void the page.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
