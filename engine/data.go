package engine

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// arena is the memory that the kernel reads and writes while I/Os are in flight. It is mapped, not on the Go heap: the
// kernel's use of it must not depend on the garbage collector, and it must outlive a thread whose I/O never came back.
type arena struct {
	mem    []byte
	mapped []byte // mem and what was mapped for its alignment
}

// hugePage is the size that the kernel gathers small pages into on most machines.
const hugePage = 2 << 20

// newArena maps size bytes. Large ones ask for huge pages: a block that is contiguous in memory goes to the disk in one
// request, where scattered pages may take several, and differently in each run.
func newArena(size int) (arena, error) {
	mapped := size
	if size >= hugePage/2 {
		mapped = (size+hugePage-1)/hugePage*hugePage + hugePage
	}
	mem, err := unix.Mmap(-1, 0, mapped, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANONYMOUS|unix.MAP_PRIVATE)
	if err != nil {
		return arena{}, fmt.Errorf("map %d bytes of I/O buffers: %w", size, err)
	}
	a := arena{mem: mem[:size:size], mapped: mem}
	if mapped > size {
		skip := -uintptr(unsafe.Pointer(&mem[0])) & (hugePage - 1)
		a.mem = mem[skip:][:size:size]
		_ = unix.Madvise(mem, unix.MADV_HUGEPAGE) // where there are none, small pages serve
	}
	for i := 0; i < len(a.mem); i += os.Getpagesize() {
		a.mem[i] = 0 // now, and not while an I/O is timed
	}
	return a, nil
}

func (a *arena) free() {
	if a.mapped != nil {
		_ = unix.Munmap(a.mapped) // cannot fail for a mapping that is ours, and nothing could be done
		a.mem, a.mapped = nil, nil
	}
}

// pageAligned rounds n up to whole pages, which satisfies every memory alignment of direct I/O.
func pageAligned(n int) int {
	page := os.Getpagesize()
	return (n + page - 1) / page * page
}

const (
	// stampEvery is the distance of the stamps that make every sector ever written different from every other.
	stampEvery = 512
	// compressUnit is the piece of a block whose tail is zeros for compressible data: no compressor works on less.
	compressUnit = 4096
)

// content makes the bytes of writes. Blocks are taken in turn from a pool that is much larger than what is in flight, so
// that neighbours in time (and in a compressor's window) share nothing; the stamp makes each sector unique for ever.
type content struct {
	data   Data
	codec  Codec
	key    uint64 // of the stamps
	stamps uint64 // drawn so far
	pool   []byte
	block  int // bytes
	stride int // bytes from one block of the pool to the next
	next   int
	busy   []bool // by index in the pool
}

// newContent fills pool: page-aligned memory that holds at least 2 × depth blocks at stride.
func newContent(s Stream, codec Codec, key, stampKey uint64, pool []byte, stride int) *content {
	c := &content{data: s.Data, codec: codec, key: stampKey, pool: pool, block: s.BlockSize, stride: stride}
	c.busy = make([]bool, len(pool)/stride)
	if s.Data.Kind == Zero {
		return c
	}
	words := unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(pool))), len(pool)/8)
	for i := range words {
		words[i] = draw(key, uint64(i))
	}
	if s.Data.Kind == Compressible {
		for i := range c.busy {
			c.zeroTails(pool[i*stride:][:s.BlockSize])
		}
	}
	return c
}

// random is how many bytes at the start of each unit are not zeros.
func (c *content) random(unit int) int {
	if c.data.Kind == Compressible {
		return int(float64(unit)*(1-c.data.Ratio)) &^ 7
	}
	return unit
}

func (c *content) zeroTails(block []byte) {
	for off := 0; off < len(block); off += compressUnit {
		unit := block[off:min(off+compressUnit, len(block))]
		clear(unit[c.random(len(unit)):])
	}
}

// take returns a block, ready to be written at off, and its index for release.
func (c *content) take(off int64) ([]byte, int) {
	for c.busy[c.next] { // ends: fewer than half are in flight
		c.next = (c.next + 1) % len(c.busy)
	}
	i := c.next
	c.next = (c.next + 1) % len(c.busy)
	c.busy[i] = true
	block := c.pool[i*c.stride:][:c.block:c.block]
	switch {
	case c.codec != nil:
		c.codec.Stamp(block, off)
	case c.data.Kind != Zero:
		c.stamp(block)
	}
	return block, i
}

func (c *content) release(i int) { c.busy[i] = false }

// stamp draws one number per write and puts it, varied by position, at the start of each sector that is not zeros.
func (c *content) stamp(block []byte) {
	c.stamps++
	x := draw(c.key, c.stamps)
	p := unsafe.Pointer(unsafe.SliceData(block))
	for unit := 0; unit < len(block); unit += compressUnit {
		end := unit + c.random(min(compressUnit, len(block)-unit))
		for off := unit; off+8 <= end; off += stampEvery {
			// In the bytes of the block: off+8 <= len(block). Aligned: off is a multiple of 512 in page-aligned memory.
			*(*uint64)(unsafe.Add(p, off)) = x ^ uint64(off)*0x9e3779b97f4a7c15
		}
	}
}
