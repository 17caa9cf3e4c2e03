package smart

import (
	"fmt"
	"math"
)

// Keys of Wear.Sources beside ata_attribute_<id>.
const (
	sourceStatistics = "ata_device_statistics"
	sourceNVMe       = "nvme_percentage_used"
	sourceSCSI       = "scsi_endurance"
	sourceMMC        = "emmc_life_time"
)

// near is the difference in points of wear within which two figures agree: both are rounded, and drives round apart.
const near = 3

// saturated is where a one-byte percentage stops: 255 means 255 or more (NVMe base specification, log page 02h, byte 5).
const saturated = 255

// attributeSource is the key of an attribute.
func attributeSource(id uint8) string {
	switch id { // the ones that families use, so that a reading costs no formatting
	case 169:
		return "ata_attribute_169"
	case 173:
		return "ata_attribute_173"
	case 177:
		return "ata_attribute_177"
	case 202:
		return "ata_attribute_202"
	case 231:
		return "ata_attribute_231"
	case 233:
		return "ata_attribute_233"
	}
	return fmt.Sprintf("ata_attribute_%d", id)
}

// add records a source, in percent used.
func (w *Wear) add(source string, percent float64) {
	if w.Sources == nil {
		w.Sources = make(map[string]float64, 2)
	}
	w.Sources[source] = percent / 100
}

// choose makes a source the one to believe.
func (w *Wear) choose(source string, percent float64) {
	used := percent / 100
	w.Used, w.Source = &used, source
}

func (w *Wear) note(text string) {
	if w.Note != "" {
		text = w.Note + "; " + text
	}
	w.Note = text
}

// nvmeWear takes the drive's own word: there is no other.
func nvmeWear(l *NVMeLog) (w Wear) {
	if l.PercentageUsed == nil || *l.PercentageUsed < 0 {
		return w
	}
	p := float64(*l.PercentageUsed)
	w.add(sourceNVMe, p)
	w.choose(sourceNVMe, p)
	if p >= saturated {
		w.LowerBound = true
		w.note("255 means 255 or more")
	}
	return w
}

// scsiWear is the Percentage Used Endurance Indicator of the Solid State Media log page (11h, parameter 0001h), one byte.
func scsiWear(l *SCSILog) (w Wear) {
	if l.PercentageUsed == nil || *l.PercentageUsed < 0 {
		return w
	}
	p := float64(*l.PercentageUsed)
	w.add(sourceSCSI, p)
	w.choose(sourceSCSI, p)
	if p >= saturated {
		w.LowerBound = true
		w.note("255 means 255 or more")
	}
	return w
}

// mmcWear is the worse of the two life time estimates, each a step of ten points: 01h is 0..10 % used, 0Ah 90..100 %, 0Bh
// more than 100 % (JEDEC eMMC 5.0, EXT_CSD 268 and 269). The upper end of the step is given.
func mmcWear(l *MMCLife) (w Wear) {
	worse := max(l.TypeA, l.TypeB)
	if l.TypeA > 0x0b || l.TypeB > 0x0b {
		worse = min(l.TypeA, l.TypeB) // reserved values say nothing
	}
	if worse == 0 || worse > 0x0b {
		return w
	}
	p := 10 * float64(worse)
	w.add(sourceMMC, p)
	w.choose(sourceMMC, p)
	if worse == 0x0b {
		w.note("life time estimate exceeded (0Bh): above 1.0, how far is not said")
	} else {
		w.note(fmt.Sprintf("upper end of the step from %d %% to %d %%", 10*(worse-1), 10*worse))
	}
	return w
}

// ataWear decides between the family's attribute and the drive's own Percentage Used (PUE, Device Statistics page 7).
//
//	attribute readable, not at its floor   the attribute (the larger of both where the family says so)
//	attribute at its floor                 PUE if it can be believed, else the floor figure as a lower bound
//	no attribute or no family              PUE if it can be believed, else nothing
//
// A PUE of 255 is a saturated byte when the attribute stands at its floor too, and bogus otherwise (Intel 520: 96 of 96).
func ataWear(f *family, r *Reading) (w Wear) {
	pue, hasPUE := percentageUsed(r)
	v, hasV := f.read(r)
	if hasPUE {
		w.add(sourceStatistics, pue)
	}
	var id string
	if hasV {
		id = attributeSource(f.id)
		w.add(id, v.used)
	}
	believed := hasPUE && (pue < saturated || hasV && v.floor)
	if hasPUE && !believed {
		w.note("Percentage Used of 255 is not credible here")
	}
	switch {
	case hasV && !v.floor:
		w.choose(id, v.used)
		if believed {
			w.compare(f, r, v.used, pue)
		}
	case hasV && believed && !f.distrust:
		w.chooseAtFloor(f, r, id, v.used, pue)
	case hasV:
		w.choose(id, v.used)
		w.LowerBound = true
		w.note("attribute at its floor")
	case believed && (f == nil || !f.distrust):
		w.choose(sourceStatistics, pue)
	case believed:
		w.note("Percentage Used is known to be wrong on this family")
	}
	return w
}

// percentageUsed is the drive's own figure in percent, one byte.
func percentageUsed(r *Reading) (float64, bool) {
	v, ok := r.Statistics[StatPercentageUsed]
	return float64(v & 0xff), ok
}

// compare looks at a readable attribute beside a believable PUE. The attribute has been chosen already.
func (w *Wear) compare(f *family, r *Reading, used, pue float64) {
	if f.larger && pue > used {
		w.choose(sourceStatistics, pue)
	}
	if math.Abs(used-pue) <= near {
		return
	}
	if used > saturated && math.Abs(math.Mod(used, 256)-pue) <= near {
		w.note("Percentage Used is this figure modulo 256")
		return
	}
	if f.distrust {
		w.note("Percentage Used is known to be wrong on this family")
		return
	}
	third, id, ok := f.testify(r)
	switch {
	case ok && math.Abs(third-pue) <= near && math.Abs(third-used) > near:
		w.add(attributeSource(id), third)
		w.choose(sourceStatistics, pue)
		w.note("attribute and Percentage Used disagree, the erase count sides with the latter")
	case ok && math.Abs(third-used) <= near && math.Abs(third-pue) > near:
		w.add(attributeSource(id), third)
		w.note("attribute and Percentage Used disagree, the erase count sides with the former")
	default:
		w.note("attribute and Percentage Used disagree")
	}
}

// chooseAtFloor takes PUE when the attribute has stopped, unless the erase count proves that PUE has wrapped at 8 bits.
func (w *Wear) chooseAtFloor(f *family, r *Reading, id string, used, pue float64) {
	third, thirdID, ok := f.testify(r)
	if ok && third > saturated && math.Abs(used-pue) > near && math.Abs(math.Mod(third, 256)-pue) <= near {
		source := attributeSource(thirdID)
		w.add(source, math.Round(third))
		w.choose(source, math.Round(third))
		w.note("attribute at its floor, Percentage Used is the erase count modulo 256")
		return
	}
	w.choose(sourceStatistics, pue)
	w.note("attribute at its floor")
	if pue >= saturated {
		w.LowerBound = true
	}
}
