package smart

import "fmt"

// Sense keys (SPC-4, 4.5.6).
const (
	senseRecovered      = 0x1
	senseIllegalRequest = 0x5
	senseUnitAttention  = 0x6
	senseAborted        = 0xb
)

// sense is SCSI sense data: why a command ended as it did.
type sense struct {
	valid          bool
	key, asc, ascq uint8
	ata            *ataRegisters // nil when the sense data holds no ATA registers
}

// ataRegisters are the registers that an ATA command left, as SAT hands them over.
type ataRegisters struct {
	err, status             uint8
	count                   uint8
	lbaLow, lbaMid, lbaHigh uint8
}

const ataErrorAbort = 0x04 // ABRT in the error register: the disk refused the command

// parseSense reads sense data in fixed (70h, 71h) or descriptor (72h, 73h) format (SPC-4, 4.5). Bytes that are neither
// give an invalid sense. ATA registers come as descriptor 09h or, in fixed format with ASC/ASCQ 00h/1Dh, in the
// information fields (SAT-4, 12.2.2.6 and 12.2.2.7).
func parseSense(b []byte) sense {
	if len(b) < 4 {
		return sense{}
	}
	switch b[0] & 0x7f {
	case 0x70, 0x71:
		s := sense{valid: true, key: b[2] & 0x0f}
		if len(b) >= 14 {
			s.asc, s.ascq = b[12], b[13]
			if s.asc == 0x00 && s.ascq == 0x1d {
				s.ata = &ataRegisters{err: b[3], status: b[4], count: b[6], lbaLow: b[9], lbaMid: b[10], lbaHigh: b[11]}
			}
		}
		return s
	case 0x72, 0x73:
		s := sense{valid: true, key: b[1] & 0x0f, asc: b[2], ascq: b[3]}
		if len(b) < 8 {
			return s
		}
		for d := b[8:]; len(d) >= 2 && len(d) >= 2+int(d[1]); d = d[2+int(d[1]):] {
			if d[0] == 0x09 && d[1] >= 12 {
				s.ata = &ataRegisters{err: d[3], status: d[13], count: d[5], lbaLow: d[7], lbaMid: d[9], lbaHigh: d[11]}
			}
		}
		return s
	}
	return sense{}
}

// String names the sense key and says what the additional codes are.
func (s sense) String() string {
	names := [16]string{
		"no sense", "recovered error", "not ready", "medium error", "hardware error", "illegal request",
		"unit attention", "data protect", "blank check", "vendor specific", "copy aborted", "aborted command", "reserved",
		"volume overflow", "miscompare", "completed",
	}
	text := fmt.Sprintf("%s, sense %x/%02x/%02x", names[s.key&0x0f], s.key, s.asc, s.ascq)
	switch {
	case s.ata != nil && s.ata.err&ataErrorAbort != 0:
		text += ", refused by the disk"
	case s.asc == 0x20:
		text += ", unknown command"
	case s.asc == 0x24:
		text += ", unknown field or page"
	case s.asc == 0x04:
		text += ", not ready"
	}
	return text
}
