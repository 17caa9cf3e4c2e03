package engine

// tally is a histogram for the hot loop, with the buckets of Hist in one flat array: recording is an index and an
// increment, and nothing is allocated. One thread records. At the end it is folded into a Hist without loss.
type tally struct {
	counts [tallyBuckets]uint32
	n, sum int64
}

// tallyBuckets is one more than the index of HistMax (10 min lies in [2^39, 2^40) ns: shift 29).
const tallyBuckets = (40-subBits)<<(subBits-1) + int(HistMax>>(40-subBits)) + 1

func tallyIndex(ns int64) int {
	shift := bucketShift(ns)
	return shift<<(subBits-1) + int(ns>>shift)
}

func (t *tally) record(ns int64) {
	ns = min(max(ns, 0), int64(HistMax))
	t.counts[tallyIndex(ns)]++
	t.n++
	t.sum += ns
}

// fold adds the counts to h.
func (t *tally) fold(h *Hist) {
	if t == nil || t.n == 0 {
		return
	}
	for i, n := range t.counts {
		if n > 0 {
			h.add(tallyValue(i), int64(n))
		}
	}
}

// tallyValue is the lowest value of bucket i.
func tallyValue(i int) int64 {
	if i < 1<<subBits {
		return int64(i)
	}
	shift := i>>(subBits-1) - 1
	return int64(i-shift<<(subBits-1)) << shift
}
