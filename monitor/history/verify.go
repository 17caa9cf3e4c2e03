package history

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
)

// verify proves that a file is a complete bbolt database before bbolt maps it into memory. bbolt trusts the pages it maps:
// a file that was cut short or overwritten makes it read beyond the mapping or panic on another goroutine, which would end
// the exporter. Here every page that can be reached is read through ReadAt and every offset is checked; the layout is that
// of bbolt's file format version 2 (internal/common/page.go and meta.go of go.etcd.io/bbolt), in the machine's byte order.
func verify(r io.ReaderAt, size int64) error {
	m, err := newestMeta(r, size)
	if err != nil {
		return err
	}
	if size/int64(m.pageSize) < 4 || m.high > uint64(size/int64(m.pageSize)) {
		return fmt.Errorf("cut short: %d bytes hold less than the %d pages of %d bytes it should have", size, m.high, m.pageSize)
	}
	v := verifier{r: r, meta: m, seen: make([]bool, m.high)}
	if err := v.tree(m.root, 0); err != nil {
		return err
	}
	return v.freelist()
}

const (
	boltMagic   = 0xED0CDAED
	boltVersion = 2

	flagBranch   = 0x01
	flagLeaf     = 0x02
	flagFreelist = 0x10

	headerSize   = 16 // id uint64, flags uint16, count uint16, overflow uint32
	elementSize  = 16 // branch: pos, ksize uint32, page uint64; leaf: flags, pos, ksize, vsize uint32
	bucketHeader = 16 // root page uint64, sequence uint64
	metaSize     = 64 // magic, version, page size, flags uint32; root, sequence, freelist, high water, txid, checksum uint64

	maxDepth = 32 // of nested pages; a tree of 4 KiB pages this deep would not fit on any disk
)

var errForeign = errors.New("not a file of this program")

type meta struct {
	pageSize             uint32
	root, freelist, high uint64
	txid                 uint64
}

// newestMeta reads both meta pages. The second one's place depends on the page size, which only a meta page tells.
func newestMeta(r io.ReaderAt, size int64) (meta, error) {
	best, found, magic := meta{}, false, false
	try := func(off int64) {
		m, hasMagic, ok := readMeta(r, off)
		magic = magic || hasMagic
		if ok && (off == 0 || int64(m.pageSize) == off) && (!found || m.txid > best.txid) {
			best, found = m, true
		}
	}
	try(0)
	for page := int64(1 << 10); page <= 16<<20 && page < size; page <<= 1 {
		try(page)
	}
	switch {
	case found:
		return best, nil
	case magic:
		return meta{}, errors.New("neither of its two headers has a right checksum")
	default:
		return meta{}, errForeign
	}
}

func readMeta(r io.ReaderAt, off int64) (m meta, hasMagic, ok bool) {
	buf := make([]byte, headerSize+metaSize)
	if _, err := r.ReadAt(buf, off); err != nil {
		return meta{}, false, false
	}
	b, ne := buf[headerSize:], binary.NativeEndian
	if ne.Uint32(b) != boltMagic {
		return meta{}, false, false
	}
	sum := fnv.New64a()
	sum.Write(b[:metaSize-8])
	m = meta{pageSize: ne.Uint32(b[8:]), root: ne.Uint64(b[16:]), freelist: ne.Uint64(b[32:]), high: ne.Uint64(b[40:]), txid: ne.Uint64(b[48:])}
	good := ne.Uint32(b[4:]) == boltVersion && ne.Uint64(b[56:]) == sum.Sum64() &&
		m.pageSize >= 1<<10 && m.pageSize <= 16<<20 && m.pageSize&(m.pageSize-1) == 0
	return m, true, good
}

type verifier struct {
	r    io.ReaderAt
	meta meta
	seen []bool // by page: reached once; a second time is a damaged tree
}

type page struct {
	flags, count uint16
	data         []byte // header included, with its overflow pages
}

func (v *verifier) page(id uint64) (page, error) {
	size := int64(v.meta.pageSize)
	if id < 2 || id >= v.meta.high {
		return page{}, fmt.Errorf("page %d lies outside the file", id)
	}
	var head [headerSize]byte
	if _, err := v.r.ReadAt(head[:], int64(id)*size); err != nil {
		return page{}, fmt.Errorf("page %d: %w", id, err)
	}
	ne := binary.NativeEndian
	overflow := uint64(ne.Uint32(head[12:]))
	if ne.Uint64(head[:]) != id || id+overflow >= v.meta.high {
		return page{}, fmt.Errorf("page %d does not know its own place", id)
	}
	for i := id; i <= id+overflow; i++ {
		if v.seen[i] {
			return page{}, fmt.Errorf("page %d is used twice", i)
		}
		v.seen[i] = true
	}
	p := page{flags: ne.Uint16(head[8:]), count: ne.Uint16(head[10:]), data: make([]byte, int64(overflow+1)*size)}
	if _, err := v.r.ReadAt(p.data, int64(id)*size); err != nil {
		return page{}, fmt.Errorf("page %d: %w", id, err)
	}
	return p, nil
}

func (v *verifier) tree(id uint64, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("page %d: nested too deep", id)
	}
	p, err := v.page(id)
	if err != nil {
		return err
	}
	switch p.flags {
	case flagBranch:
		err = v.branch(p, depth)
	case flagLeaf:
		err = v.leaf(p, depth, false)
	default:
		err = fmt.Errorf("unexpected kind %#x", p.flags)
	}
	if err != nil {
		return fmt.Errorf("page %d: %w", id, err)
	}
	return nil
}

func (v *verifier) branch(p page, depth int) error {
	if p.count == 0 {
		return errors.New("a branch without children")
	}
	var last []byte
	for i := range int(p.count) {
		ne, at := binary.NativeEndian, headerSize+i*elementSize
		if at+elementSize > len(p.data) {
			return errors.New("more entries than fit")
		}
		e := p.data[at:]
		key, err := p.slice(at, ne.Uint32(e), ne.Uint32(e[4:]))
		if err != nil {
			return err
		}
		if i > 0 && bytes.Compare(last, key) >= 0 {
			return errors.New("keys out of order")
		}
		last = key
		if err := v.tree(ne.Uint64(e[8:]), depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (v *verifier) leaf(p page, depth int, inline bool) error {
	var last []byte
	for i := range int(p.count) {
		ne, at := binary.NativeEndian, headerSize+i*elementSize
		if at+elementSize > len(p.data) {
			return errors.New("more entries than fit")
		}
		e := p.data[at:]
		ksize := ne.Uint32(e[8:])
		kv, err := p.slice(at, ne.Uint32(e[4:]), ksize, ne.Uint32(e[12:]))
		if err != nil {
			return err
		}
		key, value := kv[:ksize], kv[ksize:]
		if ksize == 0 || (i > 0 && bytes.Compare(last, key) >= 0) {
			return errors.New("keys out of order")
		}
		last = key
		switch flags := ne.Uint32(e); {
		case flags == 0:
		case flags == 1 && !inline:
			if err := v.bucket(value, depth); err != nil {
				return fmt.Errorf("bucket %q: %w", key, err)
			}
		default:
			return fmt.Errorf("entry of unknown kind %#x", flags)
		}
	}
	return nil
}

func (v *verifier) bucket(value []byte, depth int) error {
	ne := binary.NativeEndian
	if len(value) < bucketHeader {
		return errors.New("header cut short")
	}
	if root := ne.Uint64(value); root != 0 {
		return v.tree(root, depth+1)
	}
	b := value[bucketHeader:] // a small bucket lies in its parent's page
	if len(b) < headerSize || ne.Uint16(b[8:]) != flagLeaf {
		return errors.New("inline page damaged")
	}
	return v.leaf(page{flags: flagLeaf, count: ne.Uint16(b[10:]), data: b}, depth, true)
}

// slice is the bytes of an element's key (and value), which lie pos bytes behind the element itself.
func (p page) slice(element int, pos uint32, sizes ...uint32) ([]byte, error) {
	start := int64(element) + int64(pos)
	end := start
	for _, n := range sizes {
		end += int64(n)
	}
	if start < headerSize+int64(p.count)*elementSize || end > int64(len(p.data)) {
		return nil, errors.New("entry reaches beyond its page")
	}
	return p.data[start:end], nil
}

// freelist checks that no page is both free and in use: bbolt would write over it.
func (v *verifier) freelist() error {
	p, err := v.page(v.meta.freelist)
	if err != nil {
		return fmt.Errorf("free list: %w", err)
	}
	ne, n, ids := binary.NativeEndian, uint64(p.count), p.data[headerSize:]
	if p.flags != flagFreelist {
		return fmt.Errorf("free list: unexpected kind %#x", p.flags)
	}
	if n == 0xFFFF { // the count did not fit and stands before the entries
		n, ids = ne.Uint64(ids), ids[8:]
	}
	if n > uint64(len(ids)/8) {
		return errors.New("free list: more entries than fit")
	}
	for i := range n {
		id := ne.Uint64(ids[8*i:])
		if id < 2 || id >= v.meta.high || v.seen[id] {
			return fmt.Errorf("free list: page %d is not free", id)
		}
		v.seen[id] = true
	}
	return nil
}
