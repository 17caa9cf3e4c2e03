package smart

import (
	"fmt"
	"math"
	"strings"
)

// tally is a count of bytes and where it comes from.
type tally struct {
	bytes  uint64
	source string // for people
	unit   uint64 // of the attribute, when that is known now
}

// agreement is the relative difference within which two counters are the same: they round, and are not read at once.
const agreement = 0.03

// Bounds of a raw value that can prove a unit: below, chance makes anything fit; above, it is no counter.
const (
	leastProof = 20
	mostProof  = 1 << 47
)

// mostBytes is beyond any drive's life.
const mostBytes = 1 << 62

// units are tried when the family's own does not fit.
var units = [...]uint64{sector, mib32, gib, gigabyte, mib16}

// tallyBytes counts what the host wrote or read: Device Statistics, proven and if need be unwrapped by an attribute, or an
// attribute whose unit is known. cands are the attributes that may count the same, with the family's unit or 0.
//
// Device Statistics count logical sectors, but on many drives only 32 bits of them: they wrap after 2.2 TB. An attribute
// that says the same modulo 2^32 sectors proves that.
func tallyBytes(f *family, r *Reading, stat Stat, cands []counter) *tally {
	block := uint64(sector)
	if r.BlockSize > 0 && r.BlockSize <= 1<<16 {
		block = uint64(r.BlockSize)
	}
	sectors := r.Statistics[stat]
	if sectors > mostBytes/block { // not a count
		sectors = 0
	}
	if sectors > 0 {
		if t := proven(f, r, sectors, block, cands); t != nil {
			return t
		}
		if t := unwrapped(r, sectors, block, cands); t != nil {
			return t
		}
	}
	byAttribute := byKnownUnit(r, cands)
	switch {
	case sectors == 0:
		return byAttribute
	case byAttribute != nil && betterThan(byAttribute, sectors, block):
		byAttribute.source += ", device statistics hold less"
		return byAttribute
	case byAttribute != nil:
		return &tally{bytes: sectors * block, source: "device statistics, although attribute " + strings.TrimPrefix(byAttribute.source, "attribute ") + " disagrees"}
	}
	return &tally{bytes: sectors * block, source: "device statistics"}
}

// betterThan says whether an attribute is to be believed rather than Device Statistics that disagree: these have either
// stopped or wrapped at 32 bits, or merely repeat the attribute's count.
func betterThan(t *tally, sectors, block uint64) bool {
	return sectors < 1<<32 && t.bytes/block >= 1<<32-1<<27 || t.unit > sector && t.bytes/t.unit == sectors
}

// proven looks for an attribute that counts the same bytes in some unit.
func proven(f *family, r *Reading, sectors, block uint64, cands []counter) *tally {
	s := float64(sectors) * float64(block)
	for _, c := range cands {
		n, ok := c.count(r)
		if !ok {
			continue
		}
		for _, u := range c.options() {
			if u == sector && (f != nil && f.rule == sandisk || n == sectors && sectors < 1<<24) {
				continue // some firmware repeats a count of GiB in both places
			}
			b := float64(n) * float64(u)
			if math.Abs(b-s) <= agreement*max(b, s) {
				return &tally{bytes: sectors * block, unit: u, source: fmt.Sprintf("device statistics = attribute %d × %s", c.id, unitName(u))}
			}
		}
	}
	return nil
}

// unwrapped looks for an attribute that equals Device Statistics plus a multiple of 2^32 sectors.
func unwrapped(r *Reading, sectors, block uint64, cands []counter) *tally {
	if sectors >= 1<<32 {
		return nil
	}
	for _, c := range cands {
		n, ok := c.count(r)
		if !ok {
			continue
		}
		for _, u := range c.options() {
			if n > math.MaxUint64/u {
				continue
			}
			total := n * u / block
			k := math.Round((float64(total) - float64(sectors)) / (1 << 32))
			if k < 1 || total > mostBytes/block {
				continue
			}
			whole := sectors + uint64(k)<<32
			if math.Abs(float64(whole)-float64(total)) <= float64(2*u/block)+1e-5*float64(total) {
				return &tally{
					bytes: whole * block, unit: u,
					source: fmt.Sprintf("device statistics + %.0f × 2^32 sectors = attribute %d × %s", k, c.id, unitName(u)),
				}
			}
		}
	}
	return nil
}

// mostRewrites is how often a whole drive can be written or read over: the endurance of SLC flash. A count beyond it has
// another unit than it seems.
const mostRewrites = 100_000

// byKnownUnit takes the first attribute whose unit is known without proof: from the family table, or from the name that
// smartctl's drive database gives it. A count of 0 is "not kept".
func byKnownUnit(r *Reading, cands []counter) *tally {
	for _, c := range cands {
		a := r.attribute(c.id)
		if a == nil || a.Raw == 0 || a.Raw >= mostProof {
			continue
		}
		u := c.unitOf(r, a)
		if u == 0 || a.Raw > mostBytes/u || r.Capacity > 0 && a.Raw*u/mostRewrites > uint64(r.Capacity) {
			continue
		}
		return &tally{bytes: a.Raw * u, unit: u, source: fmt.Sprintf("attribute %d × %s", c.id, unitName(u))}
	}
	return nil
}

// count is the attribute's raw value when it can prove anything.
func (c *counter) count(r *Reading) (uint64, bool) {
	a := r.attribute(c.id)
	if a == nil || a.Raw < leastProof || a.Raw > mostProof {
		return 0, false
	}
	return a.Raw, true
}

// options are the units to try against Device Statistics. Only 241 and 242 are kept in different ones.
func (c *counter) options() []uint64 {
	switch {
	case c.id == 241 || c.id == 242:
		return units[:]
	case c.unit == mib32:
		return units[1:2]
	case c.unit == sector:
		return units[:1]
	}
	return nil
}

// unitOf is the unit by family, exceptions first, else by the attribute's name; 0 unknown.
func (c *counter) unitOf(r *Reading, a *Attribute) uint64 {
	if len(c.firmware) > 0 {
		key := r.Identity.Model + "/" + r.Identity.Firmware
		for _, x := range c.firmware {
			if x.match.MatchString(key) {
				return x.unit
			}
		}
	}
	if c.unit != 0 {
		return c.unit
	}
	return unitByName(a.Name)
}

// unitByName reads the unit that smartctl's drive database puts into names. "LBAs" and "GB" are not believed: the former
// is smartctl's guess for every unknown drive, the latter stands for sectors on some.
func unitByName(name string) uint64 {
	switch {
	case strings.HasSuffix(name, "_32MiB"):
		return mib32
	case strings.HasSuffix(name, "_GiB"), strings.HasSuffix(name, "_1GiB"):
		return gib
	}
	return 0
}

func unitName(u uint64) string {
	switch u {
	case sector:
		return "512 B"
	case mib16:
		return "16 MiB"
	case mib32:
		return "32 MiB"
	case gib:
		return "1 GiB"
	case gigabyte:
		return "1 GB"
	}
	return fmt.Sprintf("%d B", u)
}

// hostCounters are the attributes that may count what the host wrote.
func hostCounters(f *family, r *Reading) []counter {
	if f != nil && len(f.host) > 0 {
		return f.host
	}
	list := []counter{{id: 241}}
	if a := r.attribute(246); a != nil && (a.Name == "Total_LBAs_Written" || a.Name == "Total_Host_Sector_Write") {
		list = []counter{{id: 246, unit: sector}, {id: 241}}
	}
	return list
}

// hostWritten counts what the host has written over the drive's life.
func hostWritten(f *family, r *Reading) *tally {
	return tallyBytes(f, r, StatSectorsWritten, hostCounters(f, r))
}

// hostRead counts what the host has read. The unit that 241 is proven to count in holds for 242.
func hostRead(f *family, r *Reading, written *tally) *tally {
	c := counter{id: 242}
	if f != nil {
		c.id = f.reads
		if len(f.host) > 0 {
			c.unit, c.firmware = f.host[0].unit, f.host[0].firmware
		}
	}
	if written != nil && written.unit != 0 {
		c.unit, c.firmware = written.unit, nil
	}
	if c.id == 0 {
		return tallyBytes(f, r, StatSectorsRead, nil)
	}
	return tallyBytes(f, r, StatSectorsRead, []counter{c})
}
