package smart

import (
	"math"
	"strconv"
	"strings"
)

// ruleKind is how a family keeps its wear in an attribute.
type ruleKind int

const (
	noRule        ruleKind = iota
	left100                // VALUE counts down from 100
	left200                // VALUE counts down from 200, 100 is the rated end, and it goes on below
	usedRaw                // RAW counts percent used, VALUE is its 8-bit complement
	leftRaw                // RAW is percent left
	phison                 // RAW is percent left, VALUE by firmware
	siliconMotion          // RAW is percent left and turns negative
	sandisk                // RAW packs three words of 16 bits
)

// figure is what a rule reads: percent used, and whether the attribute had stopped counting there.
type figure struct {
	used  float64
	floor bool
}

// read applies the family's rule. False means that the attribute is missing or does not look as the rule expects it:
// another layout under the same number.
func (f *family) read(r *Reading) (figure, bool) {
	if f == nil || f.rule == noRule {
		return figure{}, false
	}
	a := r.attribute(f.id)
	if a == nil {
		return figure{}, false
	}
	raw, known := leading(a)
	switch f.rule {
	case left100:
		if a.Value < 0 || a.Value > 100 {
			return figure{}, false
		}
		return figure{float64(100 - a.Value), a.Value <= f.floor}, true
	case left200:
		return readLeft200(a, f.floor)
	case usedRaw:
		return readUsedRaw(a, raw, known)
	case leftRaw:
		if !known || raw < 0 || raw > 100 {
			return figure{}, false
		}
		return figure{float64(100 - raw), raw == 0}, true
	case phison:
		return readPhison(a, raw, known, r.Identity.Firmware)
	case siliconMotion:
		return readSiliconMotion(a, raw, known)
	case sandisk:
		return readSanDisk(a, r.Identity.Firmware)
	}
	return figure{}, false
}

// readLeft200 reads 200 - VALUE. A floor of 100 means that 100 and below say nothing; otherwise it is where counting ends.
func readLeft200(a *Attribute, floor int) (figure, bool) {
	if a.Value < 0 || a.Value > 200 || floor == 100 && a.Value <= 100 {
		return figure{}, false
	}
	return figure{float64(200 - a.Value), a.Value <= floor}, true
}

// readUsedRaw takes RAW where VALUE proves it: 100 - RAW modulo 256, or stopped at its floor.
func readUsedRaw(a *Attribute, raw int64, known bool) (figure, bool) {
	if !known || a.Value < 0 || raw < 0 || raw > 5000 {
		return figure{}, false
	}
	switch {
	case uint8(100-a.Value) == uint8(raw):
		return figure{float64(raw), a.Value == 0 && raw == 100}, true
	case a.Value <= 1 && raw >= 99:
		return figure{float64(raw), false}, true
	}
	return figure{}, false
}

func readPhison(a *Attribute, raw int64, known bool, firmware string) (figure, bool) {
	if strings.HasPrefix(firmware, "03070009") { // keeps the percent left in VALUE
		if a.Value < 0 || a.Value > 100 {
			return figure{}, false
		}
		return figure{float64(100 - a.Value), a.Value == 0}, true
	}
	if !known || raw <= 0 || raw > 100 { // 0 is "not filled in" on many, worn out on few
		return figure{}, false
	}
	return figure{float64(100 - raw), false}, true
}

func readSiliconMotion(a *Attribute, raw int64, known bool) (figure, bool) {
	if !known {
		return figure{}, false
	}
	if raw >= 1<<31 && raw < 1<<32 { // 32 bits, signed
		raw -= 1 << 32
	}
	if raw > 100 || raw < -5000 {
		return figure{}, false
	}
	if v := a.Value; raw >= 0 && v >= 0 && v <= 100 && v != 0 && v != 100 && int64(v) != raw {
		return figure{}, false
	}
	return figure{float64(100 - raw), raw == 0}, true
}

// readSanDisk finds the word that counts erases; of the other two, which count host writes, the high byte is the same
// percentage by another measure. Old firmware (X2…) has one word only; what other firmware keeps in a single small number
// is not life.
func readSanDisk(a *Attribute, firmware string) (figure, bool) {
	packed := a.Raw > 0xffff || strings.HasPrefix(a.RawString, "0x") || strings.Count(a.RawString, " ") == 2
	if !packed {
		if !strings.HasPrefix(firmware, "X2") {
			return figure{}, false
		}
		return figure{float64(a.Raw >> 8), false}, true
	}
	w := [3]uint16{uint16(a.Raw), uint16(a.Raw >> 16), uint16(a.Raw >> 32)}
	erase := w[1]
	if w[1] == w[2] && w[0] != w[1] {
		erase = w[0]
	}
	return figure{float64(erase >> 8), false}, true
}

// leading is the first number of the raw value as smartctl printed it ("32 (Min/Max 2/72)" is 32), which is what vendors
// mean by it. Without a printed form it is the whole 48 bits, which are signed where the top bit is set. False: no number.
func leading(a *Attribute) (int64, bool) {
	s := a.RawString
	if s == "" {
		v := int64(a.Raw)
		if a.Raw >= 1<<47 {
			v -= 1 << 48
		}
		return v, true
	}
	if hex, ok := strings.CutPrefix(s, "0x"); ok {
		v, err := strconv.ParseUint(hex, 16, 64)
		return int64(v), err == nil && v <= math.MaxInt64
	}
	end := 0
	for end < len(s) && (s[end] >= '0' && s[end] <= '9' || end == 0 && s[end] == '-') {
		end++
	}
	v, err := strconv.ParseInt(s[:end], 10, 64)
	return v, err == nil
}

// witnessKind is a third, independent figure of a family.
type witnessKind int

const (
	noWitness    witnessKind = iota
	byEraseCount             // average erase count (167) over its rating (168)
	byEraseLeft              // VALUE of 173 counts down from 100
)

// testify reads the family's witness, percent used, and the attribute it comes from.
func (f *family) testify(r *Reading) (used float64, id uint8, ok bool) {
	switch f.witness {
	case byEraseCount:
		average, rated := r.attribute(167), r.attribute(168)
		if average == nil || rated == nil {
			return 0, 0, false
		}
		a, ok1 := leading(average)
		n, ok2 := leading(rated)
		if ok1 && ok2 && a > 0 && a < 1_000_000 && n >= 100 && n <= 20_000 {
			return 100 * float64(a) / float64(n), 167, true
		}
	case byEraseLeft:
		if a := r.attribute(173); a != nil && a.Value >= 0 && a.Value <= 100 {
			return float64(100 - a.Value), 173, true
		}
	}
	return 0, 0, false
}
