package ledger

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
	"slices"
)

// The layout of a slot; doc.go has the table.
const (
	slotSize    = 512
	slotVersion = 1
	slotMagic   = "ssdxlgr\n"
	maxFills    = 16
	fillOffset  = 80
	fillSize    = 24
	openOffset  = fillOffset + maxFills*fillSize
	latestOff   = openOffset + 3*8
	crcOffset   = slotSize - 4
	fillUnit    = 4096 // bytes
)

var errBadSlot = errors.New("not a valid slot")

// slot is the content of a record.
type slot struct {
	seq      uint64
	tokens   int64  // bytes available
	fraction uint64 // of a byte, in units of 1/day
	refilled int64  // Unix nanoseconds; 0: the bucket has not begun
	latest   int64  // Unix nanoseconds of the last refill before the clock went back; 0: it has come past that again
	perDay   int64  // last asked with; -1: never
	written  [3]int64
	open     [3]int64 // of written: reserved and not settled
	fills    []fill
}

// fill is one target's one-time fill within the window.
type fill struct {
	key     uint64
	first   uint32 // Unix seconds of the first attempt
	deaths  uint16 // attempts that were never settled
	open    bool   // the last attempt has not been settled yet
	size    uint32 // of the largest attempt, in fillUnit
	written uint32 // settled, in fillUnit
}

// newSlot is the record of a disk never seen before.
func newSlot() slot { return slot{perDay: -1} }

// lostSlot is the record of a disk whose record was lost at or before now: an empty bucket.
func lostSlot(now int64) slot { return slot{perDay: -1, refilled: now} }

func (s slot) clone() slot {
	s.fills = slices.Clone(s.fills)
	return s
}

// encode never fails: fills beyond maxFills cannot arise, since ReserveFill refuses them.
func (s slot) encode() []byte {
	b := make([]byte, slotSize)
	le := binary.LittleEndian
	copy(b, slotMagic)
	le.PutUint32(b[8:], slotVersion)
	le.PutUint32(b[12:], uint32(len(s.fills)))
	le.PutUint64(b[16:], s.seq)
	le.PutUint64(b[24:], uint64(s.tokens))
	le.PutUint64(b[32:], s.fraction)
	le.PutUint64(b[40:], uint64(s.refilled))
	le.PutUint64(b[48:], uint64(s.perDay))
	for i, w := range s.written {
		le.PutUint64(b[56+8*i:], uint64(w))
	}
	for i, o := range s.open {
		le.PutUint64(b[openOffset+8*i:], uint64(o))
	}
	le.PutUint64(b[latestOff:], uint64(s.latest))
	for i, f := range s.fills {
		e := b[fillOffset+i*fillSize:]
		le.PutUint64(e, f.key)
		le.PutUint32(e[8:], f.first)
		le.PutUint16(e[12:], f.deaths)
		if f.open {
			e[14] = 1
		}
		le.PutUint32(e[16:], f.size)
		le.PutUint32(e[20:], f.written)
	}
	le.PutUint32(b[crcOffset:], checksum(b))
	return b
}

// decode accepts only what encode can have made: any other byte is errBadSlot.
func decode(b []byte) (slot, error) {
	le := binary.LittleEndian
	if len(b) != slotSize || string(b[:8]) != slotMagic || le.Uint32(b[8:]) != slotVersion ||
		le.Uint32(b[crcOffset:]) != checksum(b) {
		return slot{}, errBadSlot
	}
	n := le.Uint32(b[12:])
	s := slot{
		seq:      le.Uint64(b[16:]),
		tokens:   int64(le.Uint64(b[24:])),
		fraction: le.Uint64(b[32:]),
		refilled: int64(le.Uint64(b[40:])),
		latest:   int64(le.Uint64(b[latestOff:])),
		perDay:   int64(le.Uint64(b[48:])),
	}
	if n > maxFills || s.fraction >= uint64(day) || s.perDay < -1 || s.refilled < 0 || s.latest < 0 || s.seq == math.MaxUint64 {
		return slot{}, errBadSlot
	}
	for i := range s.written {
		s.written[i] = int64(le.Uint64(b[56+8*i:]))
		s.open[i] = int64(le.Uint64(b[openOffset+8*i:]))
		if s.written[i] < 0 || s.open[i] < 0 || s.open[i] > s.written[i] {
			return slot{}, errBadSlot
		}
	}
	for i := range int(n) {
		e := b[fillOffset+i*fillSize:]
		s.fills = append(s.fills, fill{
			key:     le.Uint64(e),
			first:   le.Uint32(e[8:]),
			deaths:  le.Uint16(e[12:]),
			open:    e[14] == 1,
			size:    le.Uint32(e[16:]),
			written: le.Uint32(e[20:]),
		})
	}
	return s, nil
}

func checksum(b []byte) uint32 {
	return crc32.Checksum(b[:crcOffset], crc32.MakeTable(crc32.Castagnoli))
}
