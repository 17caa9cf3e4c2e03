package smart

import (
	"encoding/binary"
	"fmt"
	"math"
)

// scsiIdentity is standard INQUIRY data.
type scsiIdentity struct {
	vendor, product, revision string
	deviceType                uint8
	removable                 bool
}

// parseInquiry reads standard INQUIRY data (SPC-4, 6.4.2).
func parseInquiry(b []byte) (scsiIdentity, error) {
	if len(b) < 36 {
		return scsiIdentity{}, fmt.Errorf("INQUIRY: %w: %d bytes", errParse, len(b))
	}
	return scsiIdentity{
		vendor: clean(string(b[8:16])), product: clean(string(b[16:32])), revision: clean(string(b[32:36])),
		deviceType: b[0] & 0x1f, removable: b[1]&0x80 != 0,
	}, nil
}

// fill copies the names; the model is "VENDOR PRODUCT", as other tools print it.
func (i scsiIdentity) fill(r *Reading) {
	if model := clean(i.vendor + " " + i.product); model != "" {
		r.Identity.Model = model
	}
	if i.revision != "" {
		r.Identity.Firmware = i.revision
	}
}

// scsiPowerState names the condition that REQUEST SENSE reported: ASC 5Eh is a low power condition, 04h/02h a disk that
// waits to be started (SPC-4, annex D).
func scsiPowerState(s sense) string {
	if !s.valid {
		return ""
	}
	switch uint16(s.asc)<<8 | uint16(s.ascq) {
	case 0x0402, 0x5e02, 0x5e04, 0x5e09, 0x5e0a, 0x5e43: // stopped; standby_z and standby_y by timer and by command; standby
		return "standby"
	case 0x5e01, 0x5e03, 0x5e05, 0x5e06, 0x5e07, 0x5e08, 0x5e42:
		return "idle"
	case 0x0000:
		if s.key == 0 {
			return "active"
		}
	}
	return ""
}

// vpdBody checks the header of a VPD page (code in byte 1, length in bytes 2 and 3) and returns what follows.
func vpdBody(name string, b []byte, page uint8) ([]byte, error) {
	if len(b) < 4 || b[1] != page {
		return nil, fmt.Errorf("%s: %w: another page came back", name, errParse)
	}
	return b[4:min(len(b), 4+int(binary.BigEndian.Uint16(b[2:])))], nil
}

// logBody does the same for a log page (code in bits 5:0 of byte 0). A list or parameter that is cut off is dropped later.
func logBody(name string, b []byte, page uint8) ([]byte, error) {
	if len(b) < 4 || b[0]&0x3f != page {
		return nil, fmt.Errorf("%s: %w: another page came back", name, errParse)
	}
	return b[4:min(len(b), 4+int(binary.BigEndian.Uint16(b[2:])))], nil
}

// parseParameters splits the body of a log page: code (2 bytes), control, length, value, all big-endian (SPC-4, 7.3.2).
func parseParameters(b []byte) map[uint16][]byte {
	params := map[uint16][]byte{}
	for len(b) >= 4 && len(b) >= 4+int(b[3]) {
		params[binary.BigEndian.Uint16(b)] = b[4 : 4+int(b[3])]
		b = b[4+int(b[3]):]
	}
	return params
}

// scsiCounter reads a big-endian counter of any length. All ones is a counter that stopped at its end or was never kept.
func scsiCounter(b []byte) *uint64 {
	if len(b) == 0 {
		return nil
	}
	var v uint64
	ones := true
	for _, x := range b {
		if v>>56 != 0 {
			return new(uint64(math.MaxUint64))
		}
		v = v<<8 | uint64(x)
		ones = ones && x == 0xff
	}
	if ones {
		return nil
	}
	return &v
}

// processed is "total bytes processed", parameter 0005h of the error counter pages (SPC-4, 7.3.5).
func processed(p map[uint16][]byte) *float64 {
	if v := scsiCounter(p[5]); v != nil {
		return new(float64(*v))
	}
	return nil
}

// addUncorrected adds "total uncorrected errors", parameter 0006h, of the read and of the write page.
func (l *SCSILog) addUncorrected(p map[uint16][]byte) {
	v := scsiCounter(p[6])
	switch {
	case v == nil:
	case l.Uncorrected == nil:
		l.Uncorrected = v
	case *l.Uncorrected > math.MaxUint64-*v:
		l.Uncorrected = new(uint64(math.MaxUint64))
	default:
		l.Uncorrected = new(*l.Uncorrected + *v)
	}
}

// scsiTemperature reads page 0Dh: parameter 0000h the temperature, 0001h the reference (trip) temperature, in byte 1 of the
// value; FFh is none (SPC-4, 7.3.21). Both 0 is what RAID volumes say.
func scsiTemperature(p map[uint16][]byte) (current *float64, trip *int) {
	if v := p[0]; len(v) >= 2 && v[1] != 0xff {
		current = new(float64(v[1]))
	}
	if v := p[1]; len(v) >= 2 && v[1] != 0xff && v[1] != 0 {
		trip = new(int(v[1]))
	}
	if trip == nil && current != nil && *current == 0 {
		current = nil
	}
	return current, trip
}

// scsiPercentageUsed reads parameter 0001h of page 11h: the Percentage Used Endurance Indicator in the last of four bytes
// (SBC-3, 6.4.6).
func scsiPercentageUsed(p map[uint16][]byte) *int {
	if v := p[1]; len(v) >= 4 {
		return new(int(v[3]))
	}
	return nil
}

// scsiPowerOn reads parameter 0000h of page 15h: accumulated power on minutes (SBC-3, 6.4.2).
func scsiPowerOn(p map[uint16][]byte) *float64 {
	if v := p[0]; len(v) >= 4 && binary.BigEndian.Uint32(v) != math.MaxUint32 {
		return new(float64(binary.BigEndian.Uint32(v)) / 60)
	}
	return nil
}

// parseExceptions reads page 2Fh: parameter 0000h holds ASC and ASCQ of the disk's worry, and its temperature (SPC-4,
// 7.3.8). 5Dh predicts a failure. 0Bh is a warning, such as a temperature, and no verdict.
func parseExceptions(p map[uint16][]byte, r *Reading) {
	v := p[0]
	if len(v) < 2 {
		return
	}
	switch v[0] {
	case 0x00:
		r.Passed = new(true)
	case 0x5d:
		r.Passed = new(false)
	default:
		r.Messages = append(r.Messages, fmt.Sprintf("informational exception %02x/%02x", v[0], v[1]))
	}
	if len(v) >= 3 && r.TemperatureC == nil && v[2] != 0 && v[2] != 0xff {
		r.TemperatureC = new(float64(v[2]))
	}
}

// parseWWN finds the NAA designator of the logical unit in VPD page 83h (SPC-4, 7.8.5).
func parseWWN(b []byte) string {
	for len(b) >= 4 && len(b) >= 4+int(b[3]) {
		value := b[4 : 4+int(b[3])]
		const naa, logicalUnit = 3, 0
		if b[1]&0x0f == naa && b[1]>>4&3 == logicalUnit && (len(value) == 8 || len(value) == 16) {
			return fmt.Sprintf("naa.%x", value)
		}
		b = b[4+len(value):]
	}
	return ""
}

// parseRotation reads the medium rotation rate of VPD page B1h (SBC-3, 6.5.2), body without header: 1 is an SSD.
func parseRotation(b []byte) *int {
	if len(b) < 2 {
		return nil
	}
	switch rate := binary.BigEndian.Uint16(b); {
	case rate == 1:
		return new(0)
	case rate >= 0x401 && rate <= 0xfffe:
		return new(int(rate))
	}
	return nil
}

// parseCapacity16 reads READ CAPACITY (16): last block and block size in bytes (SBC-3, 5.16). Nonsense gives zeros.
func parseCapacity16(b []byte) (bytes int64, block int) {
	if len(b) < 12 {
		return 0, 0
	}
	return capacityOf(binary.BigEndian.Uint64(b), binary.BigEndian.Uint32(b[8:]))
}

// parseCapacity10 reads READ CAPACITY (10), which cannot tell more than 2^32-1 blocks.
func parseCapacity10(b []byte) (bytes int64, block int) {
	if len(b) < 8 || binary.BigEndian.Uint32(b) == math.MaxUint32 {
		return 0, 0
	}
	return capacityOf(uint64(binary.BigEndian.Uint32(b)), binary.BigEndian.Uint32(b[4:]))
}

func capacityOf(last uint64, block uint32) (int64, int) {
	if block == 0 || block > 1<<20 || last >= math.MaxInt64/uint64(block) {
		return 0, 0
	}
	return int64(last+1) * int64(block), int(block)
}
