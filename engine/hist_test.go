package engine

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// latencies are log-normal around 100 µs with a long tail, in ns.
func latencies(n int) []int64 {
	r := rand.New(rand.NewPCG(1, 2))
	out := make([]int64, n)
	for i := range out {
		out[i] = int64(100e3 * math.Exp(r.NormFloat64()))
	}
	return out
}

func TestHistQuantilesAreExactToThreeDigits(t *testing.T) {
	values := latencies(20000)
	h := NewHist()
	sum := 0.0
	for _, v := range values {
		h.Record(time.Duration(v))
		sum += float64(v)
	}
	slices.Sort(values)
	for _, q := range []float64{0, 0.0001, 0.1, 0.5, 0.9, 0.99, 0.999, 1} {
		want := values[max(int(math.Ceil(q*20000))-1, 0)]
		got := int64(h.Quantile(q))
		if got < want || float64(got) > float64(want)*1.001 {
			t.Errorf("quantile %g is %d, want %d to three digits", q, got, want)
		}
	}
	if got := float64(h.Mean()); math.Abs(got/(sum/20000)-1) > 0.001 {
		t.Errorf("mean %g, want %g", got, sum/20000)
	}
	if got, want := h.Max(), h.Quantile(1); got != want {
		t.Errorf("max %v, highest quantile %v", got, want)
	}
	above := h.ShareAbove(h.Quantile(0.99))
	if math.Abs(above-0.01) > 0.0005 {
		t.Errorf("a share of %g lies above the 99th percentile", above)
	}
}

func TestHistOfSmallValuesIsExactToTheNanosecond(t *testing.T) {
	h := NewHist()
	for _, v := range []time.Duration{-5, 0, 1, 999, 2047} {
		h.Record(v)
	}
	got := []time.Duration{h.Quantile(0.2), h.Quantile(0.4), h.Quantile(0.6), h.Quantile(0.8), h.Quantile(1)}
	if want := []time.Duration{0, 0, 1, 999, 2047}; !slices.Equal(got, want) {
		t.Errorf("quantiles %v, want %v", got, want)
	}
}

func TestHistClampsAndCountsWhatIsBeyondItsRange(t *testing.T) {
	h := NewHist()
	h.Record(time.Second)
	h.Record(HistMax + time.Hour)
	h.Record(math.MaxInt64)
	if h.Count() != 3 || h.Clamped() != 2 || h.Max() < HistMax || h.Max() > HistMax*1001/1000 {
		t.Errorf("count %d, clamped %d, max %v", h.Count(), h.Clamped(), h.Max())
	}
}

func TestTheZeroHistIsEmpty(t *testing.T) {
	var h Hist
	if h.Count() != 0 || h.Quantile(0.5) != 0 || h.Max() != 0 || h.Mean() != 0 || h.ShareAbove(0) != 0 || h.Trusted(0.5) || h.Clamped() != 0 {
		t.Error("an empty histogram says something")
	}
	h.Each(func(_, _ time.Duration, _ int64) { t.Error("a bucket in an empty histogram") })
	h.Merge(Hist{})
	h.Merge(NewHist())
	h.Record(time.Millisecond)
	if h.Count() != 1 {
		t.Errorf("count %d after one record", h.Count())
	}
}

func TestHistIsTrustedFromTenSamplesBeyondTheQuantile(t *testing.T) {
	for q, need := range map[float64]int{0.5: 20, 0.9: 100, 0.99: 1000, 0.999: 10000} {
		h := NewHist()
		h.add(1000, int64(need-1))
		if h.Trusted(q) {
			t.Errorf("%g is trusted with %d samples", q, need-1)
		}
		h.Record(1000)
		if !h.Trusted(q) {
			t.Errorf("%g is not trusted with %d samples", q, need)
		}
	}
}

func TestMergedHistsEqualOneHist(t *testing.T) {
	values := latencies(5000)
	var whole, a, b Hist
	for i, v := range values {
		whole.Record(time.Duration(v))
		if i%3 == 0 {
			a.Record(time.Duration(v))
		} else {
			b.Record(time.Duration(v))
		}
	}
	before := a.Clone()
	a.Merge(b)
	if asJSON(t, a) != asJSON(t, whole) {
		t.Error("the merged histogram differs from one of all values")
	}
	if before.Count() != (5000+2)/3 {
		t.Errorf("the clone has %d samples after its original was merged into", before.Count())
	}
}

func TestEachCoversEverySampleInItsBucket(t *testing.T) {
	h := NewHist()
	values := latencies(1000)
	for _, v := range values {
		h.Record(time.Duration(v))
	}
	slices.Sort(values)
	i, last := 0, time.Duration(-1)
	h.Each(func(lower, upper time.Duration, count int64) {
		if lower <= last || upper < lower {
			t.Errorf("bucket [%v, %v] after one that ends at %v", lower, upper, last)
		}
		last = upper
		for range count {
			if v := time.Duration(values[i]); v < lower || v > upper {
				t.Errorf("%v in bucket [%v, %v]", v, lower, upper)
			}
			i++
		}
	})
	if i != len(values) {
		t.Errorf("the buckets hold %d of %d", i, len(values))
	}
}

func TestHistJSONIsWhatEveryHdrHistogramReads(t *testing.T) {
	h := NewHist()
	for _, v := range latencies(3000) {
		h.Record(time.Duration(v))
	}
	var encoded string
	if err := json.Unmarshal([]byte(asJSON(t, h)), &encoded); err != nil {
		t.Fatal(err)
	}
	other, err := hdrhistogram.Decode([]byte(encoded))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := other.ValueAtPercentile(99), int64(h.Quantile(0.99)); got != want || other.TotalCount() != 3000 {
		t.Errorf("the library's reader finds p99 %d of %d samples, want %d of 3000", got, other.TotalCount(), want)
	}
	var back Hist
	if err := json.Unmarshal([]byte(asJSON(t, h)), &back); err != nil {
		t.Fatal(err)
	}
	if asJSON(t, back) != asJSON(t, h) {
		t.Error("changed by a round trip")
	}
	if got := asJSON(t, Hist{}); got != "null" {
		t.Errorf("an empty histogram is %s", got)
	}
}

func TestHistJSONOfOthersIsRefused(t *testing.T) {
	coarse, err := hdrhistogram.NewPacked(1000, int64(time.Minute), 2).Encode()
	if err != nil {
		t.Fatal(err)
	}
	for name, in := range map[string]string{
		"another precision": asJSON(t, string(coarse)),
		"no histogram":      `"aGVsbG8gd29ybGQ="`,
		"no base64":         `"*"`,
		"an object":         `{}`,
	} {
		var h Hist
		if err := json.Unmarshal([]byte(in), &h); err == nil {
			t.Errorf("%s: taken for a histogram of %d samples", name, h.Count())
		}
	}
}

func asJSON(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func FuzzHistJSON(f *testing.F) {
	h := NewHist()
	for _, v := range latencies(100) {
		h.Record(time.Duration(v))
	}
	f.Add(asJSON(f, h))
	f.Add("null")
	f.Add(`""`)
	f.Add(`"HISTFAAAAB542pNpmSzMwMCgyYAKmACYAAAA//8FTwEF"`)
	f.Fuzz(func(t *testing.T, in string) {
		var h Hist
		if json.Unmarshal([]byte(in), &h) != nil {
			return
		}
		other := NewHist()
		other.Merge(h)
		other.Merge(h)
		if other.Count() != 2*h.Count() {
			t.Errorf("%d samples merged twice are %d", h.Count(), other.Count())
		}
		_, _, _ = h.Quantile(0.99), h.Mean(), h.ShareAbove(time.Second)
		var back Hist
		if err := json.Unmarshal([]byte(asJSON(t, h)), &back); err != nil || back.Count() != h.Count() {
			t.Errorf("round trip: %d of %d samples, %v", back.Count(), h.Count(), err)
		}
	})
}

func TestTallyHasTheBucketsOfHist(t *testing.T) {
	tl := &tally{}
	want := NewHist()
	edges := []int64{-1, 0, 1, 2047, 2048, 2049, 4095, 4096, int64(HistMax) - 1, int64(HistMax), int64(HistMax) + 1, math.MaxInt64}
	for shift := range 40 {
		edges = append(edges, 1<<shift-1, 1<<shift, 1<<shift+1)
	}
	for _, v := range append(edges, latencies(5000)...) {
		tl.record(v)
		want.Record(time.Duration(v))
	}
	var got Hist
	tl.fold(&got)
	if asJSON(t, got) != asJSON(t, want) {
		t.Error("folding a tally gives another histogram than recording")
	}
	if a := testing.AllocsPerRun(1000, func() { tl.record(123456) }); a != 0 {
		t.Errorf("%v allocations per record", a)
	}
}
