package trend

// MinRuns is how many clean runs a provisional baseline needs before anything is compared with it.
const MinRuns = 8

// LearnRuns is how many clean runs a provisional baseline takes in; later runs do not move it.
const LearnRuns = 96

// Baseline is what one series was like in its first clean runs. Samples are in the series' own unit (seconds per I/O for
// a rate, seconds for a latency); larger is worse. The zero value has learned nothing.
type Baseline struct {
	Samples []float64 // the first clean runs, in order, at most LearnRuns
}
