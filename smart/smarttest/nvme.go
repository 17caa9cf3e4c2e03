package smarttest

import (
	"encoding/binary"
	"fmt"
)

// NVMe is an NVMe controller.
type NVMe struct {
	Model, Serial, Firmware string
	VendorID                uint16
	Capacity                uint64 // bytes
	Namespaces              uint32 // that it claims to have room for; 0 is 1
	WarningKelvin           uint16
	CriticalKelvin          uint16

	CriticalWarning                            uint8
	Kelvin                                     uint16
	Spare, SpareThreshold, Used                uint8
	UnitsRead, UnitsWritten                    uint64
	PowerCycles, PowerOnHours, UnsafeShutdowns uint64
	MediaErrors                                uint64
	SensorKelvin                               [8]uint16
	IdentifyStatus, LogStatus                  uint16 // not 0: the command fails with it
	Zeros                                      bool   // the log comes back empty, with success
}

// Answer does what the controller does: Identify Controller and Get Log Page 02h, nothing else.
func (n NVMe) Answer(c Command) Reply {
	cmd := c.NVMe
	switch {
	case c.CDB != nil:
		return Reply{Errno: errNoTTY}
	case cmd.Opcode == 0x06 && cmd.CDW10&0xff == 1:
		if n.IdentifyStatus != 0 {
			return Reply{NVMeStatus: n.IdentifyStatus}
		}
		return Reply{Data: n.identify()}
	case cmd.Opcode == 0x02 && cmd.NSID != 0xffffffff: // the log is the controller's, as some disks insist
	case cmd.Opcode == 0x02 && cmd.CDW10&0xff == 2 && int(cmd.CDW10>>16+1)*4 == c.Length:
		if n.LogStatus != 0 {
			return Reply{NVMeStatus: n.LogStatus}
		}
		return Reply{Data: n.log()}
	}
	return Reply{NVMeStatus: 0x4002} // invalid field, do not retry
}

// identify builds the Identify Controller structure (NVMe base specification 2.0, figure 275).
func (n NVMe) identify() []byte {
	page := make([]byte, 4096)
	binary.LittleEndian.PutUint16(page, n.VendorID)
	copy(page[4:], fmt.Sprintf("%-20.20s%-40.40s%-8.8s", n.Serial, n.Model, n.Firmware))
	binary.LittleEndian.PutUint16(page[266:], n.WarningKelvin)
	binary.LittleEndian.PutUint16(page[268:], n.CriticalKelvin)
	binary.LittleEndian.PutUint64(page[280:], n.Capacity)
	binary.LittleEndian.PutUint32(page[516:], max(n.Namespaces, 1))
	return page
}

// log builds log page 02h (figure 207).
func (n NVMe) log() []byte {
	page := make([]byte, 512)
	if n.Zeros {
		return page
	}
	put := func(offset int, v uint64) { binary.LittleEndian.PutUint64(page[offset:], v) }
	page[0] = n.CriticalWarning
	binary.LittleEndian.PutUint16(page[1:], n.Kelvin)
	page[3], page[4], page[5] = n.Spare, n.SpareThreshold, n.Used
	put(32, n.UnitsRead)
	put(48, n.UnitsWritten)
	put(112, n.PowerCycles)
	put(128, n.PowerOnHours)
	put(144, n.UnsafeShutdowns)
	put(160, n.MediaErrors)
	for i, k := range n.SensorKelvin {
		binary.LittleEndian.PutUint16(page[200+2*i:], k)
	}
	return page
}
