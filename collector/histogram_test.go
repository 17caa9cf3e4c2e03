package collector

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"ssd_exporter/engine"
)

func histogramOf(t *testing.T, classic bool, since time.Time, latencies ...time.Duration) *dto.Histogram {
	t.Helper()
	h := engine.NewHist()
	for _, l := range latencies {
		h.Record(l)
	}
	m, err := newHistogram(prometheus.NewDesc("x_seconds", "x", nil, nil), &h, since, classic, nil)
	if err != nil {
		t.Fatal(err)
	}
	var out dto.Metric
	if err := m.Write(&out); err != nil {
		t.Fatal(err)
	}
	return out.GetHistogram()
}

// buckets are the counts of a native histogram by index.
func buckets(h *dto.Histogram) map[int]int64 {
	counts := map[int]int64{}
	index, at, count := 0, 0, int64(0)
	for _, span := range h.GetPositiveSpan() {
		index += int(span.GetOffset())
		for range span.GetLength() {
			count += h.GetPositiveDelta()[at]
			if count > 0 {
				counts[index] = count
			}
			at++
			index++
		}
	}
	return counts
}

func spread() []time.Duration {
	var all []time.Duration
	for d := 3 * time.Microsecond; d < 20*time.Second; d += d/37 + 1 {
		all = append(all, d)
	}
	return all
}

func TestNativeBucketsAreTheOnesOfTheClientLibrary(t *testing.T) {
	theirs := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "x", NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 1000})
	for _, d := range spread() {
		theirs.Observe(d.Seconds())
	}
	var m dto.Metric
	if err := theirs.Write(&m); err != nil {
		t.Fatal(err)
	}
	ours := histogramOf(t, false, time.Time{}, spread()...)
	if ours.GetSchema() != m.GetHistogram().GetSchema() {
		t.Fatalf("schema %d, want %d", ours.GetSchema(), m.GetHistogram().GetSchema())
	}
	if ours.GetSampleCount() != m.GetHistogram().GetSampleCount() {
		t.Errorf("%d samples, want %d", ours.GetSampleCount(), m.GetHistogram().GetSampleCount())
	}
	// The engine's buckets straddle ours here and there, so that a count may sit in the bucket next door.
	want, got := buckets(m.GetHistogram()), buckets(ours)
	moved := int64(0)
	for i, n := range want {
		moved += max(0, n-got[i])
	}
	if total := int64(len(spread())); moved*100 > total {
		t.Errorf("%d of %d samples are in another bucket", moved, total)
	}
	if g, w := ours.GetSampleSum(), m.GetHistogram().GetSampleSum(); math.Abs(g/w-1) > 0.001 {
		t.Errorf("sum %v, want %v", g, w)
	}
}

func TestClassicBucketsNeverClaimTooMuch(t *testing.T) {
	h := histogramOf(t, true, time.Time{}, spread()...)
	if got := len(h.GetBucket()); got != len(classicBounds()) {
		t.Fatalf("%d classic buckets, want %d", got, len(classicBounds()))
	}
	for i, b := range h.GetBucket() {
		within, well := uint64(0), uint64(0)
		for _, d := range spread() {
			if d.Seconds() <= b.GetUpperBound() {
				within++
			}
			if d.Seconds() <= b.GetUpperBound()*0.998 {
				well++
			}
		}
		if got := b.GetCumulativeCount(); got > within || got < well {
			t.Errorf("bucket %d: %d samples up to %v s, want %d, or a few fewer", i, got, b.GetUpperBound(), within)
		}
	}
	if last := h.GetBucket()[len(h.GetBucket())-1]; last.GetCumulativeCount() >= h.GetSampleCount() {
		t.Error("what took longer than the last bound must be in the count alone")
	}
	if len(h.GetPositiveSpan()) == 0 {
		t.Error("the native part is gone")
	}
	if len(histogramOf(t, false, time.Time{}, time.Millisecond).GetBucket()) > 0 {
		t.Error("classic buckets that nobody asked for")
	}
}

func TestClassicBoundsAreEvenlySpaced(t *testing.T) {
	bounds := classicBounds()
	if bounds[0] != 5e-6 || bounds[len(bounds)-1] != 10 || !slices.IsSorted(bounds) {
		t.Fatalf("bounds %v", bounds)
	}
	for i := 1; i < len(bounds); i++ {
		if f := bounds[i] / bounds[i-1]; f < 1.3 || f > 1.6 {
			t.Errorf("%v to %v: factor %.2f", bounds[i-1], bounds[i], f)
		}
	}
}

func TestHistogramsNeverFall(t *testing.T) {
	h := engine.NewHist()
	sum, count := 0.0, uint64(0)
	for _, d := range spread() {
		h.Record(d)
		m, err := newHistogram(prometheus.NewDesc("x_seconds", "x", nil, nil), &h, time.Time{}, true, nil)
		if err != nil {
			t.Fatal(err)
		}
		var out dto.Metric
		if err := m.Write(&out); err != nil {
			t.Fatal(err)
		}
		if g := out.GetHistogram(); g.GetSampleSum() <= sum || g.GetSampleCount() != count+1 {
			t.Fatalf("after %v: %d samples of sum %v, before %d of %v", d, g.GetSampleCount(), g.GetSampleSum(), count, sum)
		}
		sum, count = out.GetHistogram().GetSampleSum(), out.GetHistogram().GetSampleCount()
	}
}

func TestTheStartOfAHistogramIsToldWhenKnown(t *testing.T) {
	if got := histogramOf(t, false, noon(), time.Millisecond).GetCreatedTimestamp().AsTime(); !got.Equal(noon()) {
		t.Errorf("created %v, want %v", got, noon())
	}
	if got := histogramOf(t, false, time.Time{}, time.Millisecond).GetCreatedTimestamp(); got != nil {
		t.Errorf("created %v, want nothing", got)
	}
}

func TestAnEmptyHistogramIsStillAHistogram(t *testing.T) {
	h := histogramOf(t, true, time.Time{})
	if h.GetSampleCount() != 0 || h.GetSampleSum() != 0 || h.GetSchema() != schema {
		t.Errorf("%v", h)
	}
}
