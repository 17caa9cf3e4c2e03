package stats

import (
	"math"
	"slices"
)

// Median is the middle value, or the mean of the middle two. It is NaN of nothing.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(values))
	n := len(s)
	return (s[(n-1)/2] + s[n/2]) / 2
}

// GeometricMean is that of values above 0. It is NaN of nothing.
func GeometricMean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += math.Log(v)
	}
	return math.Exp(sum / float64(len(values)))
}

// LowerBound is what the true median lies above with the given confidence (0.9 is 90 %), by the sign test: the largest
// order statistic X(k) for which at most k-1 of n values would fall below the median with a probability of 1-confidence.
// ok is false when there are too few values for any bound: at 90 % that is fewer than four.
func LowerBound(values []float64, confidence float64) (bound float64, ok bool) {
	s := slices.Sorted(slices.Values(values))
	n := len(s)
	probability := math.Pow(0.5, float64(n)) // that none lies below
	tail := 0.0
	for k := range n {
		tail += probability // that k or fewer lie below
		if tail > 1-confidence {
			break
		}
		bound, ok = s[k], true
		probability *= float64(n-k) / float64(k+1)
	}
	return bound, ok
}
