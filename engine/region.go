package engine

import (
	"fmt"
	"sync"
)

// area is the part of the target that a stream touches, in whole blocks.
type area struct {
	start  int64 // bytes
	blocks int64
	block  int64 // bytes
}

// areaOf places a stream's region on a target of size bytes. The border between cold and hot is the same for all block
// sizes, so that no write to the hot half touches a cold byte.
func areaOf(s Stream, size int64) area {
	block := int64(s.BlockSize)
	half := size / 2
	from, to := int64(0), size
	switch s.Region {
	case Cold:
		to = half
	case Hot:
		from = (half + block - 1) / block * block
	}
	return area{start: from, blocks: max(to-from, 0) / block, block: block}
}

// roomFor says whether outstanding bytes of I/O find addresses of their own: redrawing ends quickly only in an area
// several times as large.
func (a area) roomFor(outstanding int64) error {
	const spread = 4
	if have := a.blocks * a.block; have < spread*outstanding {
		return fmt.Errorf("its region holds %d bytes, but %d outstanding bytes of a workload that writes need %d: use a larger file, a smaller block or depth", have, outstanding, spread*outstanding)
	}
	return nil
}

// at is the address of ticket n: random, or one after the other around the area from a random start. Each further try
// gives another random address.
func (a area) at(key uint64, p Pattern, n, try uint64) int64 {
	blocks := uint64(a.blocks)
	index := uint64(0)
	if p == Sequential && try == 0 {
		index = (below(draw(key, 0), blocks) + n%blocks) % blocks
	} else {
		index = below(draw(key, n<<8|try), blocks)
	}
	return a.start + int64(index)*a.block
}

// claims are the byte ranges in flight, over all threads of a run that writes. No range is in flight twice when either
// is a write: the disk may do them in any order, and what is read back then is nobody's fault.
type claims struct {
	mu     sync.Mutex
	ranges []claim // one per slot of each thread
}

type claim struct {
	from, to int64 // bytes; empty when equal
	write    bool
}

// take claims a range for a slot; false, and nothing changed, when it overlaps with one in flight and either writes.
func (c *claims) take(slot int, from, to int64, write bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.ranges {
		r := &c.ranges[i]
		if r.from < to && from < r.to && (write || r.write) {
			return false
		}
	}
	c.ranges[slot] = claim{from, to, write}
	return true
}

func (c *claims) release(slot int) {
	c.mu.Lock()
	c.ranges[slot] = claim{}
	c.mu.Unlock()
}
