package smarttest

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
)

// ATA is a SATA disk behind the kernel's SCSI to ATA translation.
type ATA struct {
	Model, Serial, Firmware string
	WWN                     uint64
	Sectors                 uint64 // of 512 bytes; 0 is 128 GB
	Rotation                uint16 // word 217: 1 is an SSD, 0 not reported, else rpm
	Attributes              []Attribute
	Statistics              map[[2]int]uint64 // by page and offset: valid entries
	StatisticsIn            StatisticsLog
	Failing                 bool // its own verdict
	Standby                 bool
	SMARTOff                bool
	LosesRegisters          bool    // a bridge that returns no ATA registers
	SCTCelsius              int8    // of the SCT Status log; 0: the disk has none
	DataChecksumOff         uint8   // added to the checksum of SMART READ DATA
	Stuck                   []uint8 // SMART features at which it stops answering
}

// Attribute is one entry of the SMART data and of the thresholds.
type Attribute struct {
	ID, Value, Worst, Threshold uint8
	Flags                       uint16
	Raw                         uint64 // 48 bits
}

// StatisticsLog says where a disk keeps Device Statistics.
type StatisticsLog int

// Where Device Statistics are.
const (
	InSMARTLog StatisticsLog = iota
	InGPLOnly
	Nowhere
)

// Answer does what the translation layer and the disk do.
func (a ATA) Answer(c Command) Reply {
	if len(c.CDB) > 0 && c.CDB[0] == 0x12 { // INQUIRY
		page := make([]byte, 36)
		page[2], page[3], page[4] = 5, 2, 31
		copy(page[8:], fmt.Sprintf("%-8s%-16.16s%-4.4s", "ATA", a.Model, a.Firmware))
		return Reply{Data: page}
	}
	command, feature, ok := c.ATA()
	if !ok {
		return checkCondition(5, 0x20, 0)
	}
	log, registers := c.CDB[8], c.CDB[2]&0x20 != 0
	switch {
	case command == 0xe5 && registers:
		mode := uint8(0xff)
		if a.Standby {
			mode = 0
		}
		return a.registers(mode, 0, 0, 0)
	case command == 0xec:
		return Reply{Data: a.identify()}
	case command == 0x2f && a.StatisticsIn != Nowhere && log == 0:
		return Reply{Data: a.directory()}
	case command == 0x2f && a.StatisticsIn != Nowhere && log == 4 && c.CDB[10] < 8: // from this page of the log on
		return Reply{Data: a.statistics()[512*int(c.CDB[10]):]}
	case command == 0xb0 && c.CDB[10] == 0x4f && c.CDB[12] == 0xc2 && !a.SMARTOff:
		return a.smart(feature, log)
	}
	return aborted()
}

func (a ATA) smart(feature, log uint8) Reply {
	if slices.Contains(a.Stuck, feature) {
		return Reply{Hang: true}
	}
	switch {
	case feature == 0xd0:
		return Reply{Data: a.data()}
	case feature == 0xd1:
		return Reply{Data: a.thresholds()}
	case feature == 0xda && a.Failing:
		return a.registers(0, 0, 0xf4, 0x2c)
	case feature == 0xda:
		return a.registers(0, 0, 0x4f, 0xc2)
	case feature == 0xd5 && log == 0 && a.StatisticsIn == InSMARTLog:
		return Reply{Data: a.directory()}
	case feature == 0xd5 && log == 4 && a.StatisticsIn == InSMARTLog:
		return Reply{Data: a.statistics()}
	case feature == 0xd5 && log == 0xe0 && a.SCTCelsius != 0:
		page := make([]byte, 512)
		page[0], page[200] = 3, uint8(a.SCTCelsius)
		return Reply{Data: page}
	}
	return aborted()
}

// identify builds IDENTIFY DEVICE data word by word (ACS-4, 7.13.6).
func (a ATA) identify() []byte {
	page := make([]byte, 512)
	word := func(i int, v uint16) { binary.LittleEndian.PutUint16(page[2*i:], v) }
	text := func(i, length int, s string) {
		s = fmt.Sprintf("%-*.*s", length, length, s)
		for k := 0; k < length; k += 2 {
			page[2*i+k], page[2*i+k+1] = s[k+1], s[k]
		}
	}
	sectors := a.Sectors
	if sectors == 0 {
		sectors = 250069680
	}
	text(10, 20, fmt.Sprintf("%20s", a.Serial))
	text(23, 8, a.Firmware)
	text(27, 40, a.Model)
	word(0, 0x0040)
	word(49, 0x2f00)
	word(60, uint16(min(sectors, 0x0fffffff)))
	word(61, uint16(min(sectors, 0x0fffffff)>>16))
	word(82, 0x7469|1)
	word(83, 0x7d01)
	word(84, 0x4163)
	word(85, 0x7469|1)
	if a.SMARTOff {
		word(85, 0x7468)
	}
	word(86, 0xbc01)
	word(87, 0x4163)
	for i := range 4 {
		word(100+i, uint16(sectors>>(16*i)))
		word(108+i, uint16(a.WWN>>(48-16*i)))
	}
	word(106, 0x4000)
	if a.SCTCelsius != 0 {
		word(206, 0x003d)
	}
	word(217, a.Rotation)
	page[510] = 0xa5
	return sealed(page)
}

// data builds SMART READ DATA: a revision, 30 entries of 12 bytes, a checksum at the end.
func (a ATA) data() []byte {
	page := make([]byte, 512)
	page[0] = 0x10
	for i, at := range a.Attributes {
		e := page[2+12*i:]
		e[0], e[3], e[4] = at.ID, at.Value, at.Worst
		binary.LittleEndian.PutUint16(e[1:], at.Flags)
		for k := range 6 {
			e[5+k] = byte(at.Raw >> (8 * k))
		}
	}
	page = sealed(page)
	page[511] += a.DataChecksumOff
	return page
}

func (a ATA) thresholds() []byte {
	page := make([]byte, 512)
	page[0] = 0x10
	for i, at := range a.Attributes {
		page[2+12*i], page[3+12*i] = at.ID, at.Threshold
	}
	return sealed(page)
}

// directory says that log 04h has eight pages.
func (a ATA) directory() []byte {
	page := make([]byte, 512)
	page[0] = 1
	page[2*4] = 8
	return page
}

// statistics builds eight pages of the Device Statistics log. Page 0 lists the pages that are there; only these name
// themselves.
func (a ATA) statistics() []byte {
	log := make([]byte, 8*512)
	log[0], log[8], log[9] = 1, 1, 0
	for _, key := range slices.SortedFunc(maps.Keys(a.Statistics), func(a, b [2]int) int { return cmp.Compare(a[0], b[0]) }) {
		page, value := log[512*key[0]:512*(key[0]+1)], a.Statistics[key]
		if page[0] == 0 {
			page[0], page[2] = 1, byte(key[0])
			log[8]++
			log[8+log[8]] = byte(key[0])
		}
		binary.LittleEndian.PutUint64(page[key[1]:], value|0xc0<<56)
	}
	return log
}

// registers is the check condition that carries the registers of a command with CK_COND (SAT-4, 12.2.2.6).
func (a ATA) registers(count, low, mid, high uint8) Reply {
	if a.LosesRegisters {
		return Reply{}
	}
	s := make([]byte, 22)
	s[0], s[1], s[2], s[3], s[7] = 0x72, 1, 0, 0x1d, 14
	s[8], s[9], s[13], s[15], s[17], s[19], s[21] = 9, 12, count, low, mid, high, 0x50
	return Reply{Status: 2, Sense: s}
}

// aborted is a command that the disk does not carry out: ABRT in the error register.
func aborted() Reply {
	s := make([]byte, 22)
	s[0], s[1], s[7] = 0x72, 0x0b, 14
	s[8], s[9], s[11], s[21] = 9, 12, 4, 0x51
	return Reply{Status: 2, Sense: s}
}

func checkCondition(key, asc, ascq uint8) Reply {
	s := make([]byte, 18)
	s[0], s[2], s[7], s[12], s[13] = 0x70, key, 10, asc, ascq
	return Reply{Status: 2, Sense: s}
}

// sealed sets the last byte so that all bytes sum to zero.
func sealed(page []byte) []byte {
	var sum byte
	for _, b := range page[:511] {
		sum += b
	}
	page[511] = -sum
	return page
}
