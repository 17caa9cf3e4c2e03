package collector

import (
	"fmt"
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"ssd_exporter/engine"
)

// schema 3 has 8 buckets to every doubling, each 1.09 times the one before: the largest that keeps factor 1.1.
const schema = 3

// newHistogram makes a native histogram of latencies in seconds, with classic buckets beside it when asked for. Its sum is that
// of the middles of the engine's buckets, which are far narrower than the ones made here: like the counts it never falls.
func newHistogram(desc *prometheus.Desc, h *engine.Hist, since time.Time, classic bool, labels []string) (prometheus.Metric, error) {
	var (
		count, zero uint64
		sum         float64
		native      = map[int]int64{}
		bounds      = classicBounds()
		below       = make([]uint64, len(bounds)+1) // by the first bound that holds them; the last is above all
	)
	h.Each(func(lower, upper time.Duration, n int64) {
		if n <= 0 {
			return
		}
		middle := (lower.Seconds() + upper.Seconds()) / 2
		count += uint64(n)
		sum += middle * float64(n)
		if middle > prometheus.DefNativeHistogramZeroThreshold {
			native[int(math.Ceil(math.Log2(middle)*(1<<schema)))] += n
		} else {
			zero += uint64(n)
		}
		i := 0
		for i < len(bounds) && upper.Seconds() > bounds[i] {
			i++
		}
		below[i] += uint64(n)
	})
	metric, err := prometheus.NewConstNativeHistogram(desc, count, sum, native, nil, zero, schema,
		prometheus.DefNativeHistogramZeroThreshold, since, labels...)
	if err != nil {
		return nil, err
	}
	var m dto.Metric
	if err := metric.Write(&m); err != nil {
		return nil, fmt.Errorf("make a native histogram: %w", err)
	}
	if since.IsZero() {
		m.Histogram.CreatedTimestamp = nil
	}
	if classic {
		m.Histogram.Bucket = classicBuckets(bounds, below)
	}
	return constHistogram{desc: desc, labels: m.Label, histogram: m.Histogram}, nil
}

func classicBuckets(bounds []float64, below []uint64) []*dto.Bucket {
	buckets := make([]*dto.Bucket, len(bounds))
	cumulative := uint64(0)
	for i, bound := range bounds {
		cumulative += below[i]
		buckets[i] = &dto.Bucket{UpperBound: new(bound), CumulativeCount: new(cumulative)}
	}
	return buckets
}

// constHistogram is a finished histogram, native and perhaps classic too; client_golang's constant metrics have either.
type constHistogram struct {
	desc      *prometheus.Desc
	labels    []*dto.LabelPair
	histogram *dto.Histogram
}

// Desc is the metric's description.
func (m constHistogram) Desc() *prometheus.Desc { return m.desc }

// Write fills out.
func (m constHistogram) Write(out *dto.Metric) error {
	out.Label, out.Histogram = m.labels, m.histogram
	return nil
}

// classicBounds run from 5 µs to 10 s, in seconds, each about 1.5 times the one before: wider ones misstate percentiles (with a
// factor of 2, a p99 by up to 44 %).
func classicBounds() []float64 {
	return []float64{
		5e-6, 7.5e-6, 11e-6, 17e-6, 25e-6, 38e-6, 57e-6, 85e-6,
		130e-6, 190e-6, 290e-6, 430e-6, 650e-6, 970e-6,
		1.5e-3, 2.2e-3, 3.3e-3, 4.9e-3, 7.4e-3, 11e-3, 17e-3, 25e-3, 38e-3, 57e-3, 85e-3,
		0.13, 0.19, 0.29, 0.43, 0.65, 0.97,
		1.5, 2.2, 3.3, 4.9, 7.4, 10,
	}
}
