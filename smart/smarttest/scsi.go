package smarttest

import (
	"encoding/binary"
	"fmt"
	"syscall"
)

const errNoTTY = syscall.ENOTTY

// SCSI is a SAS disk, or anything else that speaks SCSI.
type SCSI struct {
	Vendor, Product, Revision string
	Serial                    string
	WWN                       uint64
	Type                      uint8 // peripheral device type: 0 is a disk
	Removable                 bool
	Standby                   bool
	Rotation                  uint16 // of VPD page B1h
	LastBlock                 uint64
	BlockSize                 uint32
	Pages                     map[uint8][]Parameter // log pages; nil: LOG SENSE is unknown
}

// Parameter is one parameter of a log page.
type Parameter struct {
	Code  uint16
	Value []byte
}

// Answer does what the disk does.
func (s SCSI) Answer(c Command) Reply {
	if len(c.CDB) < 6 {
		return Reply{Errno: errNoTTY}
	}
	switch c.CDB[0] {
	case 0x00: // TEST UNIT READY
		return Reply{}
	case 0x12:
		return s.inquiry(c.CDB[1]&1 != 0, c.CDB[2])
	case 0x03:
		sense := make([]byte, 18)
		sense[0], sense[7] = 0x70, 10
		if s.Standby {
			sense[12], sense[13] = 0x5e, 0x04
		}
		return Reply{Data: sense}
	case 0x9e:
		page := make([]byte, 32)
		binary.BigEndian.PutUint64(page, s.LastBlock)
		binary.BigEndian.PutUint32(page[8:], s.BlockSize)
		return Reply{Data: page}
	case 0x4d:
		if s.Pages != nil {
			return s.logSense(c.CDB[2] & 0x3f)
		}
	}
	return checkCondition(5, 0x20, 0)
}

func (s SCSI) inquiry(vpd bool, page uint8) Reply {
	body := []byte(nil)
	switch {
	case !vpd:
		data := make([]byte, 36)
		data[0], data[2], data[3], data[4] = s.Type, 6, 2, 31
		if s.Removable {
			data[1] = 0x80
		}
		copy(data[8:], fmt.Sprintf("%-8.8s%-16.16s%-4.4s", s.Vendor, s.Product, s.Revision))
		return Reply{Data: data}
	case page == 0x00:
		body = []byte{0x00, 0x80, 0x83, 0xb1}
	case page == 0x80 && s.Serial != "":
		body = []byte(s.Serial)
	case page == 0x83 && s.WWN != 0:
		body = binary.BigEndian.AppendUint64([]byte{1, 3, 0, 8}, s.WWN)
	case page == 0xb1:
		body = binary.BigEndian.AppendUint16(nil, s.Rotation)
		body = append(body, make([]byte, 58)...)
	default:
		return checkCondition(5, 0x24, 0)
	}
	return Reply{Data: append([]byte{s.Type, page, byte(len(body) >> 8), byte(len(body))}, body...)}
}

func (s SCSI) logSense(page uint8) Reply {
	var body []byte
	if page == 0 {
		body = append(body, 0)
		for p := range uint8(0x40) {
			if _, ok := s.Pages[p]; ok {
				body = append(body, p)
			}
		}
	} else {
		params, ok := s.Pages[page]
		if !ok {
			return checkCondition(5, 0x24, 0)
		}
		for _, p := range params {
			body = append(body, byte(p.Code>>8), byte(p.Code), 3, byte(len(p.Value)))
			body = append(body, p.Value...)
		}
	}
	return Reply{Data: append([]byte{page, 0, byte(len(body) >> 8), byte(len(body))}, body...)}
}
