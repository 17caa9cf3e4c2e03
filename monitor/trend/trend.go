package trend

import "slices"

// MinRuns is how many clean runs a provisional baseline needs before anything is compared with it.
const MinRuns = 8

// LearnRuns is how many clean runs a provisional baseline takes in; later runs do not move it.
const LearnRuns = 96

// Baseline is what one series was like in its first clean runs. Samples are in the series' own unit (seconds per I/O for
// a rate, seconds for a latency); larger is worse. The zero value has learned nothing.
type Baseline struct {
	Samples []float64 // the first clean runs, in order, at most LearnRuns
}

// Learn takes a clean sample in while learning; afterwards it changes nothing. It returns whether it did. A sample that is
// not a positive finite number is no measurement and is refused.
func (b *Baseline) Learn(x float64) bool {
	if len(b.Samples) >= LearnRuns || !measured(x) {
		return false
	}
	// A fresh array each time: copies of the Baseline, held by readers, never see a later sample.
	b.Samples = append(slices.Clone(b.Samples), x)
	return true
}

// Runs is how many clean runs were learned.
func (b Baseline) Runs() int { return len(b.Samples) }

// Centre is the median in the series' unit; false below MinRuns. The median, because one slow run in the first days (a
// backup, a rebuild nobody saw) must not become the yardstick.
func (b Baseline) Centre() (float64, bool) {
	if len(b.Samples) < MinRuns {
		return 0, false
	}
	sorted := slices.Clone(b.Samples)
	slices.Sort(sorted)
	mid := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[mid], true
	}
	return sorted[mid-1]/2 + sorted[mid]/2, true
}

// Degradation is x over the centre minus 1: 0 as ever, 1 twice as slow, negative better; false below MinRuns, and for an x
// that is no measurement.
func (b Baseline) Degradation(x float64) (float64, bool) {
	centre, ok := b.Centre()
	if !ok || centre <= 0 || !measured(x) {
		return 0, false
	}
	return x/centre - 1, true
}

// measured is false for NaN too: every comparison with it is.
func measured(x float64) bool { return x > 0 && x <= maxSeconds }

// maxSeconds bounds what can be a latency: a year. It keeps infinities and nonsense out.
const maxSeconds = 366 * 24 * 3600
