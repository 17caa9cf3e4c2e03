package smart

import (
	"encoding/binary"
	"fmt"
	"strings"

	drive "github.com/anatol/smart.go"
)

// ataIdentity is what IDENTIFY DEVICE says.
type ataIdentity struct {
	model, serial, firmware string
	wwn                     string
	capacity                int64
	blockSize               int
	rotation                *int
	smart, smartOn          bool // S.M.A.R.T. exists; is switched on
	gpl                     bool // READ LOG EXT exists
	sct                     bool // SMART Command Transport exists
}

// parseIdentify reads the 512 bytes of IDENTIFY DEVICE (ACS-4, 7.13).
func parseIdentify(page []byte) (ataIdentity, error) {
	var raw drive.AtaIdentifyDevice
	if len(page) < 512 {
		return ataIdentity{}, fmt.Errorf("IDENTIFY DEVICE: %w: %d bytes", errParse, len(page))
	}
	if page[510] == 0xa5 && !checksumOK(page[:512]) {
		return ataIdentity{}, fmt.Errorf("IDENTIFY DEVICE: %w: wrong checksum", errParse)
	}
	if _, err := binary.Decode(page, binary.LittleEndian, &raw); err != nil {
		return ataIdentity{}, fmt.Errorf("IDENTIFY DEVICE: %w: %w", errParse, err)
	}
	word := func(i int) uint16 { return binary.LittleEndian.Uint16(page[2*i:]) }
	valid := func(w uint16) bool { return w>>14 == 1 }
	id := ataIdentity{model: clean(raw.ModelNumber()), serial: clean(raw.SerialNumber()), firmware: clean(raw.FirmwareRevision())}
	if id.model == "" {
		return ataIdentity{}, fmt.Errorf("IDENTIFY DEVICE: %w: no model name", errParse)
	}
	_, capacity, logical, _, _ := raw.Capacity()
	if capacity < 1<<62 && logical < 1<<20 {
		id.capacity, id.blockSize = int64(capacity), int(logical)
	}
	switch rate := raw.RotationRate; {
	case rate == 1:
		id.rotation = new(0)
	case rate >= 0x401 && rate <= 0xfffe:
		id.rotation = new(int(rate))
	}
	id.smart = !valid(raw.CommandsSupported2) || raw.CommandsSupported1&1 != 0
	id.smartOn = !valid(raw.CommandsEnabled3) || raw.CommandsEnabled1&1 != 0
	id.gpl = raw.IsGeneralPurposeLoggingCapable()
	id.sct = word(206)&1 != 0 && word(206) != 0xffff
	if w := raw.WWN(); valid(raw.CommandsEnabled3) && raw.CommandsEnabled3&(1<<8) != 0 && w>>60 == 5 {
		id.wwn = fmt.Sprintf("naa.%016x", w)
	}
	return id, nil
}

// fill copies what the disk says of itself over what the kernel says.
func (id ataIdentity) fill(r *Reading) {
	r.Identity.Model = id.model
	if id.serial != "" {
		r.Identity.Serial = id.serial
	}
	if id.firmware != "" {
		r.Identity.Firmware = id.firmware
	}
	if r.Identity.WWN == "" {
		r.Identity.WWN = id.wwn
	}
	if id.capacity > 0 {
		r.Capacity, r.BlockSize = id.capacity, id.blockSize
	}
	r.RotationRate = id.rotation
}

// smartUsable says why there is nothing to read. Switching S.M.A.R.T. on would change the disk, so that is left to people.
func (id ataIdentity) smartUsable() error {
	switch {
	case !id.smart:
		return errUnsupported
	case !id.smartOn:
		return fmt.Errorf("%w: it is switched off on this disk; `smartctl -s on` switches it on", errUnsupported)
	}
	return nil
}

// attributeCount and attributeBytes give the layout of the SMART data and threshold pages: a revision, then 30 entries.
const (
	attributeCount = 30
	attributeBytes = 2 + 12*attributeCount
)

// parseAttributes reads SMART READ DATA: revision, then 30 entries of id, flags, value, worst, six raw bytes, reserved
// (ATA/ATAPI-5, 8.41.5; vendor specific in later standards but unchanged in practice). An entry with id 0 is a hole, not
// the end.
func parseAttributes(page []byte) ([]Attribute, error) {
	if len(page) < 512 {
		return nil, fmt.Errorf("SMART READ DATA: %w: %d bytes", errParse, len(page))
	}
	if !checksumOK(page[:512]) {
		return nil, fmt.Errorf("SMART READ DATA: %w: wrong checksum", errParse)
	}
	var raw drive.AtaSmartPageRaw
	if _, err := binary.Decode(page[:attributeBytes], binary.LittleEndian, &raw); err != nil {
		return nil, fmt.Errorf("SMART READ DATA: %w: %w", errParse, err)
	}
	var attrs []Attribute
	for _, e := range raw.Attrs {
		if e.Id == 0 {
			continue
		}
		v := e.VendorBytes
		attrs = append(attrs, Attribute{
			ID: e.Id, Value: int(e.Current), Worst: int(e.Worst), Threshold: -1, Flags: e.Flags,
			Raw: uint64(v[0]) | uint64(v[1])<<8 | uint64(v[2])<<16 | uint64(v[3])<<24 | uint64(v[4])<<32 | uint64(v[5])<<40,
		})
	}
	if len(attrs) == 0 { // an all-zero page has a correct checksum
		return nil, fmt.Errorf("SMART READ DATA: %w: not one attribute", errParse)
	}
	return attrs, nil
}

// addThresholds puts the figures of SMART READ THRESHOLDS beside the attributes with the same id.
func addThresholds(attrs []Attribute, page []byte) error {
	if len(page) < 512 {
		return fmt.Errorf("SMART READ THRESHOLDS: %w: %d bytes", errParse, len(page))
	}
	if !checksumOK(page[:512]) {
		return fmt.Errorf("SMART READ THRESHOLDS: %w: wrong checksum", errParse)
	}
	var raw drive.AtaSmartThresholdsPageRaw
	if _, err := binary.Decode(page, binary.LittleEndian, &raw); err != nil {
		return fmt.Errorf("SMART READ THRESHOLDS: %w: %w", errParse, err)
	}
	for _, e := range raw.ThresholdEntries {
		for i := range attrs {
			if e.Id != 0 && attrs[i].ID == e.Id && attrs[i].Threshold < 0 {
				attrs[i].Threshold = int(e.Threshold)
				break // some disks list an id twice, in the same order in both pages
			}
		}
	}
	return nil
}

// hoursAndCycles takes attributes 9 and 12 in their usual form: 24 bits of hours below vendor bytes, and a plain count.
func hoursAndCycles(attrs []Attribute) (hours *float64, cycles *uint64) {
	for _, a := range attrs {
		switch {
		case a.ID == 9 && hours == nil:
			hours = new(float64(a.Raw & 0xffffff))
		case a.ID == 12 && cycles == nil && a.Raw < 1<<32:
			cycles = new(a.Raw)
		}
	}
	return hours, cycles
}

// attributeTemperature is the low raw byte of attribute 194, else 190; never a normalised value, which many disks count down.
func attributeTemperature(attrs []Attribute) *float64 {
	for _, id := range []uint8{194, 190} {
		for _, a := range attrs {
			if t := int8(a.Raw); a.ID == id && t > 0 && t < 127 {
				return new(float64(t))
			}
		}
	}
	return nil
}

// sctTemperature is the current temperature in an SCT Status page (ACS-4, 8.6), signed degrees Celsius; 80h is unknown.
func sctTemperature(page []byte) *float64 {
	if len(page) < 512 || binary.LittleEndian.Uint16(page) < 2 || page[200] == 0x80 || page[200] == 0 {
		return nil
	}
	return new(float64(int8(page[200])))
}

func checksumOK(page []byte) bool {
	var sum byte
	for _, b := range page {
		sum += b
	}
	return sum == 0
}

// clean trims spaces and the NULs with which some disks pad.
func clean(s string) string { return strings.Trim(s, " \x00\t\r\n") }
