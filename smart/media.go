package smart

import (
	"math"
	"slices"
)

// Bounds of a write amplification that can be believed over a drive's life.
const (
	leastAmplification           = 0.95
	leastAmplificationCompressed = 0.3
	mostAmplification            = 200
)

// mediaWritten counts what the drive wrote to its flash. There is one source only, so it is held against the host's bytes,
// and left out when the ratio is absurd.
func mediaWritten(f *family, r *Reading, host uint64) *uint64 {
	bytes, ok := countMedia(f, r, host)
	if !ok || host == 0 {
		return nil
	}
	least := leastAmplification
	if f != nil && f.compressing {
		least = leastAmplificationCompressed
	}
	if ratio := bytes / float64(host); ratio < least || ratio > mostAmplification {
		return nil
	}
	b := uint64(math.Round(bytes))
	return &b
}

func countMedia(f *family, r *Reading, host uint64) (float64, bool) {
	if f != nil && f.media.pages {
		own, all := r.attribute(247), r.attribute(248)
		if own == nil || all == nil || own.Raw == 0 {
			return 0, false
		}
		a, ok1 := leading(own)
		b, ok2 := leading(all)
		if !ok1 || !ok2 || a <= 0 || b < 0 {
			return 0, false
		}
		return float64(host) * (float64(a) + float64(b)) / float64(a), true
	}
	if n, ok := named(r, 243, "NAND_Writes_32MiB"); ok {
		return n * mib32, true
	}
	if f != nil && f.media.none {
		return 0, false
	}
	if n, ok := named(r, 249, "NAND_Writes_1GiB", "NAND_Writes_GiB"); ok {
		return n * gib, true
	}
	if n, ok := named(r, 233, "Flash_Writes_GiB", "NAND_GiB_Written"); ok {
		return n * gib, true
	}
	if f == nil || len(f.media.ids) == 0 {
		return 0, false
	}
	var sum float64
	for _, id := range f.media.ids {
		n, ok := named(r, id, f.media.names...)
		if !ok {
			return 0, false
		}
		sum += n
	}
	return sum * float64(f.media.unit), sum > 0
}

// named is the raw value of an attribute that has one of these names, or any name when none are given. A count of 0, or
// one beyond 31 bits (some are negative), is none.
func named(r *Reading, id uint8, names ...string) (float64, bool) {
	a := r.attribute(id)
	if a == nil || len(names) > 0 && !slices.Contains(names, a.Name) {
		return 0, false
	}
	n, ok := leading(a)
	if !ok || n <= 0 || n >= 1<<31 {
		return 0, false
	}
	return float64(n), true
}
