package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// The geometry of every Hist: HdrHistogram's for values of 1 ns and more at three significant digits. Buckets are 1 ns
// wide up to 2,047 ns and at most 1/1024 of their value above. Only populated buckets take memory.
const (
	histLowest = 1
	histDigits = 3

	// HistMax is the longest latency that a Hist tells apart. What took longer is recorded as HistMax and counted by
	// Clamped.
	HistMax = 10 * time.Minute

	// trustSamples is how many I/Os must lie beyond a percentile before it means anything.
	trustSamples = 10
)

// Hist is an HDR histogram of durations from 1 ns to HistMax at three significant digits. It survives JSON, as the
// base64 of the compressed V2 encoding that every HdrHistogram implementation reads.
//
// The zero value is an empty histogram. A copy shares the counts with its original; Clone makes an independent one.
// It is not safe for concurrent use while anything records or merges.
type Hist struct{ h *hdrhistogram.PackedHistogram }

// NewHist returns an empty histogram.
func NewHist() Hist {
	return Hist{hdrhistogram.NewPacked(histLowest, int64(HistMax), histDigits)}
}

// Record adds one duration. Below 0 it counts as 0.
func (h *Hist) Record(d time.Duration) { h.add(int64(d), 1) }

func (h *Hist) add(ns, n int64) {
	if h.h == nil {
		*h = NewHist()
	}
	// The value is within range after clamping; only a total beyond 2^63 could fail, which is never reached.
	_ = h.h.RecordValues(min(max(ns, 0), int64(HistMax)), n)
}

// Merge adds all counts of o.
func (h *Hist) Merge(o Hist) {
	if o.h == nil {
		return
	}
	if h.h == nil {
		*h = NewHist()
	}
	h.h.Merge(o.h) // nothing is dropped: all Hists have one geometry
}

// Clone returns an independent copy.
func (h Hist) Clone() Hist {
	if h.h == nil {
		return Hist{}
	}
	return Hist{h.h.Clone()}
}

// Count is the number of recorded durations.
func (h Hist) Count() int64 {
	if h.h == nil {
		return 0
	}
	return h.h.TotalCount()
}

// Clamped is the number of durations that were longer than HistMax, and are in the histogram as HistMax.
func (h Hist) Clamped() int64 {
	if h.h == nil {
		return 0
	}
	return h.h.CountAtValue(int64(HistMax))
}

// Quantile returns the duration that the share q of all is not longer than, 0 ≤ q ≤ 1: the upper end of the bucket in
// which the sample of rank ⌈q·n⌉ lies. It is 0 when the histogram is empty. Ask Trusted before publishing it.
func (h Hist) Quantile(q float64) time.Duration {
	n := h.Count()
	if n == 0 {
		return 0
	}
	// The tolerance keeps 0.99 × 100 at rank 99 in binary floating point.
	rank := min(max(int64(math.Ceil(q*float64(n)-1e-6)), 1), n)
	var value, seen int64
	h.h.ForEachBucket(func(low, count int64) bool {
		seen += count
		value = bucketTop(low)
		return seen < rank
	})
	return time.Duration(value)
}

// Trusted says whether there are samples enough for the quantile q: at least 10/(1-q), so that ten of them lie beyond.
func (h Hist) Trusted(q float64) bool {
	if q < 0 || q >= 1 {
		return false
	}
	return float64(h.Count()) >= trustSamples/(1-q)*(1-1e-9)
}

// Max is the longest duration, to the resolution of the histogram; 0 when empty.
func (h Hist) Max() time.Duration {
	if h.Count() == 0 {
		return 0
	}
	return time.Duration(h.h.Max())
}

// Mean is the mean duration, to the resolution of the histogram; 0 when empty.
func (h Hist) Mean() time.Duration {
	if h.Count() == 0 {
		return 0
	}
	return time.Duration(h.h.Mean())
}

// ShareAbove is the share, 0 to 1, of durations longer than d; those in the bucket of d count as not longer. It is 0
// when the histogram is empty.
func (h Hist) ShareAbove(d time.Duration) float64 {
	n := h.Count()
	if n == 0 {
		return 0
	}
	above := int64(0)
	h.h.ForEachBucket(func(low, count int64) bool {
		if low > int64(d) {
			above += count
		}
		return true
	})
	return float64(above) / float64(n)
}

// Each calls f for every populated bucket, shortest first: count durations lie in [lower, upper].
func (h Hist) Each(f func(lower, upper time.Duration, count int64)) {
	if h.h == nil {
		return
	}
	h.h.ForEachBucket(func(low, count int64) bool {
		f(time.Duration(low), time.Duration(bucketTop(low)), count)
		return true
	})
}

// MarshalJSON encodes the histogram; an empty one is null.
func (h Hist) MarshalJSON() ([]byte, error) {
	if h.Count() == 0 {
		return []byte("null"), nil
	}
	b, err := h.h.Encode()
	if err != nil {
		return nil, fmt.Errorf("encode a latency histogram: %w", err)
	}
	return json.Marshal(string(b))
}

// UnmarshalJSON decodes what MarshalJSON encoded. A histogram of another geometry is an error: its buckets would not
// line up with ours.
func (h *Hist) UnmarshalJSON(b []byte) error {
	var encoded *string
	if err := json.Unmarshal(b, &encoded); err != nil {
		return fmt.Errorf("decode a latency histogram: %w", err)
	}
	if encoded == nil || *encoded == "" {
		*h = Hist{}
		return nil
	}
	p, err := hdrhistogram.DecodePacked([]byte(*encoded))
	if err != nil {
		return fmt.Errorf("decode a latency histogram: %w", err)
	}
	if p.LowestTrackableValue() != histLowest || p.HighestTrackableValue() != int64(HistMax) || p.SignificantFigures() != histDigits {
		return errors.New("decode a latency histogram: it has another range or precision than ours")
	}
	switch n := p.TotalCount(); {
	case n == 0:
		*h = Hist{}
		return nil
	case n > math.MaxInt64/2: // merging must not overflow
		return fmt.Errorf("decode a latency histogram: %d samples are not plausible", n)
	}
	*h = Hist{p}
	return nil
}

// Bucket arithmetic of the geometry above: values below 2^subBits have a bucket each, and each doubling beyond has
// 2^(subBits-1).
const subBits = 11

// bucketShift is the width of the bucket of ns as a power of two.
func bucketShift(ns int64) int {
	return max(bits.Len64(uint64(ns))-subBits, 0)
}

// bucketTop is the highest value in the bucket that begins at low.
func bucketTop(low int64) int64 {
	return low + int64(1)<<bucketShift(low) - 1
}
