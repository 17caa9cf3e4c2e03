package engine

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// source is one stream within one phase: it numbers the I/Os of all its threads. What ticket n does is a function of
// the seed alone.
type source struct {
	Stream
	area       area
	permille   int
	addressKey uint64
	deckKey    uint64
	arrivals   *arrivals // nil in a closed loop
	tickets    atomic.Uint64
}

func newSource(s Stream, a area, seed uint64, phase, index int, warmUp bool) *source {
	src := &source{
		Stream: s, area: a, permille: s.ReadPermille,
		addressKey: keyOf(seed, phase, index, forAddress),
		deckKey:    keyOf(seed, phase, index, forDeck),
	}
	switch {
	case warmUp:
		src.permille, src.Arrival = deckSize, Closed
	case s.Arrival != Closed:
		src.arrivals = &arrivals{
			interval: float64(time.Second) / s.Rate,
			poisson:  s.Arrival == Poisson,
			key:      keyOf(seed, phase, index, forArrival),
		}
	}
	return src
}

// ticket is one I/O to be issued.
type ticket struct {
	n   uint64
	op  Op
	try uint64
	at  int64 // intended start, open loop only
}

// arrivals are the intended start times of an open loop, in order, shared by the threads of a stream.
type arrivals struct {
	interval float64 // mean, ns
	poisson  bool
	key      uint64

	mu    sync.Mutex
	n     uint64
	since float64 // ns from the begin of the phase to the latest
}

// next returns the next arrival: its number, and its time in ns since the begin of the phase.
func (a *arrivals) next() (n uint64, at int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	n = a.n
	a.n++
	if !a.poisson {
		return n, int64(float64(n) * a.interval) // no error adds up
	}
	// Times between arrivals are exponential; u lies in [0, 1).
	u := float64(draw(a.key, n)>>11) / (1 << 53)
	a.since += -math.Log1p(-u) * a.interval
	return n, int64(a.since)
}
