package dashboards

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"ssd_exporter/collector"
)

// The made-up host has three disks. The first has a target of its own, the other two share one; the third is in trouble, so that
// also what shows trouble has something to show.
const (
	well, member, sick = "SIM_WELL_1", "SIM_MEMBER_2", "SIM_SICK_3"
	single, array      = "single", "array"
)

// simulated serves every metric of the catalogue, with every value of its closed labels, as a host that has been up for long.
type simulated struct {
	classic bool // histograms with buckets, and text; else native ones, and protobuf
	start   time.Time
}

func (s *simulated) serve(t *testing.T) (address string) {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

func (s *simulated) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	format := expfmt.NewFormat(expfmt.TypeProtoDelim)
	if s.classic {
		format = expfmt.NewFormat(expfmt.TypeTextPlain)
	}
	w.Header().Set("Content-Type", string(format))
	e := expfmt.NewEncoder(w, format)
	for _, f := range s.families() {
		if err := e.Encode(f); err != nil {
			return
		}
	}
}

func (s *simulated) families() []*dto.MetricFamily {
	var all []*dto.MetricFamily
	for _, r := range append(collector.Catalog(), collector.Row{Name: "process_start_time_seconds", Kind: collector.Gauge, Help: "."}) {
		f := &dto.MetricFamily{Name: new(r.Name), Help: new(r.Help), Type: dto.MetricType_GAUGE.Enum()}
		for _, scope := range subjects(r.Scope) {
			for _, labels := range combinations(scope, r) {
				f.Metric = append(f.Metric, s.sample(f, r, labels))
			}
		}
		all = append(all, f)
	}
	return all
}

// subjects are the label values of a scope.
func subjects(s collector.Scope) []map[string]string {
	switch s {
	case collector.Disk:
		return []map[string]string{{"device_id": well}, {"device_id": member}, {"device_id": sick}}
	case collector.Target:
		return []map[string]string{{"target": single, "device_id": well}, {"target": array}}
	case collector.Leaf:
		return []map[string]string{{"target": single, "device_id": well}, {"target": array, "device_id": member}, {"target": array, "device_id": sick}}
	case collector.Workload:
		return []map[string]string{
			{"target": single, "device_id": well, "workload": "read_4k_q1"},
			{"target": single, "device_id": well, "workload": "mixed80_4k_q4"},
			{"target": array, "workload": "read_4k_q1"},
		}
	default:
		return []map[string]string{{}}
	}
}

// combinations adds every value of closed labels, and one of each open one.
func combinations(scope map[string]string, r collector.Row) []map[string]string {
	all := []map[string]string{scope}
	for _, label := range r.Labels {
		values := r.Closed[label]
		if values == nil {
			values = open(label, scope["device_id"])
		}
		var more []map[string]string
		for _, have := range all {
			for _, v := range values {
				next := map[string]string{label: v}
				maps.Copy(next, have)
				more = append(more, next)
			}
		}
		all = more
	}
	return all
}

func open(label, id string) []string {
	switch label {
	case "source":
		return []string{"ata_attribute_173", "ata_device_statistics"}
	case "sensor":
		return []string{"composite", "1"}
	case "limit":
		return []string{"warning", "critical"}
	case "level":
		return []string{"1", "2"}
	case "model":
		return []string{strings.TrimRight(id, "_123")}
	case "transport":
		return []string{"nvme"}
	default:
		return []string{"x"}
	}
}

// sample gives a metric a value that grows if it is a counter, and is plausible where something depends on it.
func (s *simulated) sample(f *dto.MetricFamily, r collector.Row, labels map[string]string) *dto.Metric {
	m := &dto.Metric{}
	for name, value := range labels {
		m.Label = append(m.Label, &dto.LabelPair{Name: new(name), Value: new(value)})
	}
	age := time.Since(s.start).Seconds()
	switch r.Kind {
	case collector.Counter:
		f.Type = dto.MetricType_COUNTER.Enum()
		m.Counter = &dto.Counter{Value: new(1000 + 10*age)}
		switch {
		case strings.HasSuffix(r.Name, "_seconds_total"):
			m.Counter.Value = new(1000 + age/2)
		case labels["reason"] == "quiet", labels["reason"] == "paused": // probes are meant to run
			m.Counter.Value = new(1000.0)
		}
	case collector.Histogram:
		f.Type = dto.MetricType_HISTOGRAM.Enum()
		m.Histogram = s.histogram(uint64(1000 + 100*age))
	default:
		m.Gauge = &dto.Gauge{Value: new(s.gauge(r, labels))}
	}
	return m
}

func (s *simulated) gauge(r collector.Row, labels map[string]string) float64 {
	ill := labels["device_id"] == sick
	switch r.Name {
	case "ssd_critical_warning":
		if ill && labels["kind"] == "spare" {
			return 1
		}
		return 0
	case "ssd_smart_read_success", "ssd_smart_healthy":
		if ill {
			return 0
		}
		return 1
	case "ssd_probe_contended", "ssd_probe_stuck":
		return 0
	case "process_start_time_seconds":
		return float64(s.start.Add(-48 * time.Hour).Unix())
	case "ssd_probe_interval_seconds":
		return 900
	case "ssd_probe_last_success_timestamp_seconds":
		if labels["target"] == array {
			return float64(s.start.Add(-5 * time.Hour).Unix())
		}
		return float64(s.start.Unix())
	}
	switch {
	case strings.HasSuffix(r.Name, "_timestamp_seconds"):
		return float64(s.start.Unix())
	case strings.HasSuffix(r.Name, "_celsius"):
		return 40
	case strings.HasSuffix(r.Name, "_bytes"), strings.HasSuffix(r.Name, "_bytes_per_second"), strings.HasSuffix(r.Name, "_rated_seconds"):
		return 1e9
	case strings.HasSuffix(r.Name, "_ratio") && ill, r.Kind == collector.Info, strings.HasSuffix(r.Name, "_valid"):
		return 1
	case strings.HasSuffix(r.Name, "_ratio"):
		return 0.25
	}
	return 0.5
}

// histogram has n observations around a millisecond.
func (s *simulated) histogram(n uint64) *dto.Histogram {
	h := &dto.Histogram{SampleCount: new(n), SampleSum: new(float64(n) / 1000)}
	if s.classic {
		for le, share := range map[float64]float64{0.0005: 0.1, 0.001: 0.6, 0.002: 0.99, 0.004: 1} {
			h.Bucket = append(h.Bucket, &dto.Bucket{UpperBound: new(le), CumulativeCount: new(uint64(share * float64(n)))})
		}
		return h
	}
	// Schema 3, buckets 2^(i/8): the 80th below 1 s is about a millisecond.
	h.Schema, h.ZeroThreshold, h.ZeroCount = new(int32(3)), new(1e-128), new(uint64(0))
	h.PositiveSpan = []*dto.BucketSpan{{Offset: new(int32(-80)), Length: new(uint32(2))}}
	h.PositiveDelta = []int64{int64(n / 2), int64(n - 2*(n/2))}
	return h
}
