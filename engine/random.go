package engine

import "math/bits"

// All randomness of a run is a pure function of the seed: draw(key, n) is the n-th number of the sequence that key
// names. Whichever thread deals ticket n, and whenever, the I/O is the same.

// draw is wyrand (public domain, Wang Yi) with its counter as an argument.
func draw(key, n uint64) uint64 {
	s := key + n*0xa0761d6478bd642f
	hi, lo := bits.Mul64(s, s^0xe7037ed1a0b428db)
	return hi ^ lo
}

// below maps a random number onto 0 … n-1.
func below(x, n uint64) uint64 {
	hi, _ := bits.Mul64(x, n)
	return hi
}

// Purposes of random numbers, each with its own sequence.
const (
	forAddress = iota + 1
	forDeck
	forArrival
	forContent
	forStamp
)

// keyOf derives the key of a sequence from the seed of the run.
func keyOf(seed uint64, phase, stream, purpose int) uint64 {
	return draw(draw(seed, uint64(phase)<<32|uint64(stream)), uint64(purpose))
}

// deck deals the operations of a mix: of every 1,000 tickets exactly permille are reads, in shuffled order. Each thread
// has its own, which holds the deck it dealt from last.
type deck struct {
	key      uint64
	permille int
	number   uint64 // of the deck in cards, plus 1; 0 is none
	cards    [deckSize]Op
}

func newDeck(key uint64, permille int) *deck { return &deck{key: key, permille: permille} }

// deal returns the operation of ticket n.
func (d *deck) deal(n uint64) Op {
	switch d.permille {
	case deckSize:
		return Read
	case 0:
		return Write
	}
	if number := n/deckSize + 1; number != d.number {
		d.shuffle(number)
	}
	return d.cards[n%deckSize]
}

// shuffle makes deck number by Fisher and Yates' method.
func (d *deck) shuffle(number uint64) {
	for i := range d.cards {
		d.cards[i] = Write
		if i < d.permille {
			d.cards[i] = Read
		}
	}
	for i := deckSize - 1; i > 0; i-- {
		j := below(draw(d.key, number*deckSize+uint64(i)), uint64(i+1))
		d.cards[i], d.cards[j] = d.cards[j], d.cards[i]
	}
	d.number = number
}
