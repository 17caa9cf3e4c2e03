package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{{[]float64{3}, 3}, {[]float64{9, 1, 2}, 2}, {[]float64{4, 1, 3, 2}, 2.5}} {
		if got := Median(c.values); got != c.want {
			t.Errorf("median of %v is %v, want %v", c.values, got, c.want)
		}
	}
	if got := Median(nil); !math.IsNaN(got) {
		t.Errorf("median of nothing is %v", got)
	}
}

func TestGeometricMean(t *testing.T) {
	if got := GeometricMean([]float64{0.5, 2, 1}); math.Abs(got-1) > 1e-12 {
		t.Errorf("of 0.5, 2 and 1: %v, want 1", got)
	}
}

func TestLowerBoundIsTheOrderStatisticOfTheSignTest(t *testing.T) {
	for n, want := range map[int]float64{3: 0, 4: 1, 5: 1, 7: 2, 9: 3, 15: 5, 31: 12} {
		values := make([]float64, n)
		for i := range values {
			values[i] = float64(n - i) // 1 … n, backwards
		}
		got, ok := LowerBound(values, 0.9)
		if ok != (want > 0) || got != want {
			t.Errorf("of 1 to %d: %v (%v), want X(%v)", n, got, ok, want)
		}
	}
}

func TestLowerBoundHoldsAtLeastAsOftenAsItSays(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const rounds = 4000
	held := 0
	for range rounds {
		values := make([]float64, 15)
		for i := range values {
			values[i] = math.Exp(r.NormFloat64()) // skewed, median 1
		}
		if b, ok := LowerBound(values, 0.9); ok && b <= 1 {
			held++
		}
	}
	if share := float64(held) / rounds; share < 0.9 {
		t.Errorf("the bound held in %.1f %% of %d rounds, want at least 90 %%", 100*share, rounds)
	}
}
