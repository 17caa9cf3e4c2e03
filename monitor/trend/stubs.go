package trend

// Learn takes a clean sample in while learning; afterwards it changes nothing. It returns whether it did.
func (b *Baseline) Learn(x float64) bool { return false }

// Runs is how many clean runs were learned.
func (b Baseline) Runs() int { return 0 }

// Centre is the median; false below MinRuns.
func (b Baseline) Centre() (float64, bool) { return 0, false }

// Degradation is x over the centre minus 1: 0 as ever, 1 twice as slow, negative better; false below MinRuns.
func (b Baseline) Degradation(x float64) (float64, bool) { return 0, false }
