package trend

// The tail of a run is its share of I/Os slower than the baseline's p99: a count, and far steadier than the run's own p99.
const (
	// TailShare is the share that a run like the baseline has.
	TailShare = 0.01
	// TailIOs is how many I/Os a run needs for its tail to mean something: of fewer, less than ten are expected beyond.
	TailIOs = 1000
)

// TailDegradation is the share of slow I/Os, 0 to 1, over the expected one, minus 1: 0 as ever, 1 twice as many, -1 none.
func TailDegradation(share float64) float64 { return share/TailShare - 1 }
