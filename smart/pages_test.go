package smart

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"ssd_exporter/blockdev"
)

// sealedPage is 512 bytes with the given bytes at offsets and a last byte that makes the sum zero.
func sealedPage(at map[int][]byte) []byte {
	page := make([]byte, 512)
	var sum byte
	for offset, b := range at {
		copy(page[offset:], b)
	}
	for _, b := range page[:511] {
		sum += b
	}
	page[511] = -sum
	return page
}

func TestParseAttributes(t *testing.T) {
	// Bytes as HG5d disks send them: id, flags (2), value, worst, six raw bytes, reserved.
	hg5d := []byte{0xad, 0x33, 0x00, 180, 180, 0, 0, 0, 0, 0, 0, 0}
	packed := []byte{0xad, 0x33, 0x00, 188, 188, 0xde, 0x4a, 0xe0, 0x01, 0x0c, 0x07, 0} // 19166, 480, 1804
	tests := []struct {
		name string
		page []byte
		want []Attribute
		fail string
	}{
		{"value 180 of 200, raw 0", sealedPage(map[int][]byte{0: {0x10}, 2: hg5d}), []Attribute{{ID: 173, Value: 180, Worst: 180, Threshold: -1, Flags: 0x33}}, ""},
		{"raw is little endian", sealedPage(map[int][]byte{2: packed}), []Attribute{{ID: 173, Value: 188, Worst: 188, Threshold: -1, Flags: 0x33, Raw: 7748152478430}}, ""},
		{
			"a hole at the start and one in the middle", sealedPage(map[int][]byte{14: hg5d, 38: {1, 0x0b, 0, 100, 99, 7}}),
			[]Attribute{{ID: 173, Value: 180, Worst: 180, Threshold: -1, Flags: 0x33}, {ID: 1, Value: 100, Worst: 99, Threshold: -1, Flags: 0x0b, Raw: 7}},
			"",
		},
		{
			"the 30th attribute is read, what lies behind it is not", sealedPage(map[int][]byte{350: {241, 0, 0, 100, 100, 1}, 362: {0x82, 1, 2, 3, 4}}),
			[]Attribute{{ID: 241, Value: 100, Worst: 100, Threshold: -1, Raw: 1}},
			"",
		},
		{"all zeros have a correct checksum", make([]byte, 512), nil, "not one attribute"},
		{"one bit flipped on the way", func() []byte { p := sealedPage(map[int][]byte{2: hg5d}); p[5] ^= 1; return p }(), nil, "checksum"},
		{"a short transfer", make([]byte, 511), nil, "511 bytes"},
		{"nothing", nil, nil, "0 bytes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := parseAttributes(tt.page)
			if tt.fail == "" && err != nil || tt.fail != "" && (!errors.Is(err, errParse) || !strings.Contains(err.Error(), tt.fail)) {
				t.Fatalf("error %v, want %q", err, tt.fail)
			}
			equal(t, "attributes", got, tt.want)
		})
	}
}

func TestAddThresholds(t *testing.T) {
	attrs := func() []Attribute {
		return []Attribute{{ID: 173, Threshold: -1}, {ID: 9, Threshold: -1}, {ID: 173, Threshold: -1}}
	}
	page := sealedPage(map[int][]byte{2: {173, 100}, 14: {0, 77}, 26: {173, 50}, 38: {200, 1}})
	got := attrs()
	if err := addThresholds(got, page); err != nil {
		t.Fatal(err)
	}
	equal(t, "thresholds; an attribute without one stays unknown", got, []Attribute{{ID: 173, Threshold: 100}, {ID: 9, Threshold: -1}, {ID: 173, Threshold: 50}})
	page[100]++
	got = attrs()
	if err := addThresholds(got, page); !errors.Is(err, errParse) {
		t.Errorf("wrong checksum: %v", err)
	}
	equal(t, "after a wrong checksum", got, attrs())
}

func TestParseStatistics(t *testing.T) {
	log := make([]byte, 8*512)
	put := func(page, offset int, field uint64) {
		log[512*page], log[512*page+2] = 1, byte(page)
		binary.LittleEndian.PutUint64(log[512*page+offset:], field)
	}
	const supported, valid = 0x80 << 56, 0x40 << 56
	put(1, 0x18, supported|valid|20771935451)
	put(1, 0x10, supported|valid|0xaabbcc_0000_5361) // three reserved bytes that are not zero
	put(1, 0x28, supported|12345)                    // not valid now
	put(1, 0x30, valid|12345)                        // not supported
	put(1, 0x1f8, supported|valid|7)                 // no defined entry
	put(5, 0x08, supported|valid|0x23)
	put(5, 0x20, supported|valid|0xfb)     // -5 C
	put(5, 0x50, supported|valid|0x1_0000) // minutes
	put(7, 0x08, supported|valid|0xff14)   // one byte wide
	put(6, 0x08, supported|valid|3)
	log[512*6+2] = 2 // page 6 names itself 2
	put(2, 0x08, supported|valid|3)
	log[512*2] = 0 // page 2 has no revision
	equal(t, "statistics", parseStatistics(log), map[Stat]uint64{
		StatSectorsWritten: 20771935451, StatPowerOnHours: 0x5361, {1, 0x1f8}: 7, {5, 0x08}: 35, {5, 0x50}: 65536, StatPercentageUsed: 20,
	})
	equal(t, "a log that is cut in the middle of page 1", parseStatistics(log[:700]), map[Stat]uint64{})
	equal(t, "a log of two pages", len(parseStatistics(log[:1024])), 3)
	equal(t, "no log", parseStatistics(nil), map[Stat]uint64{})
}

func TestParseIdentify(t *testing.T) {
	page := intel520().Answer(ataCommandOf(ataIdentifyDevice)).Data
	t.Run("NULs instead of blanks behind the firmware", func(t *testing.T) {
		p := slices.Clone(page)
		copy(p[46:], []byte{'.', '2', '.', '9', '9', '0', 0, 0}) // "2.9.09" with the bytes of each word swapped
		p[510] = 0                                               // without a checksum
		id, err := parseIdentify(p)
		equal(t, "firmware", id.firmware, "2.9.09")
		equal(t, "error", err, nil)
	})
	t.Run("a wrong checksum", func(t *testing.T) {
		p := slices.Clone(page)
		p[60]++
		_, err := parseIdentify(p)
		if !errors.Is(err, errParse) {
			t.Error(err)
		}
	})
	t.Run("zeros", func(t *testing.T) {
		_, err := parseIdentify(make([]byte, 512))
		if !errors.Is(err, errParse) {
			t.Error(err)
		}
	})
	t.Run("rotation", func(t *testing.T) {
		for word, want := range map[uint16]*int{0: nil, 1: new(0), 2: nil, 0x400: nil, 7200: new(7200), 0xffff: nil} {
			p := slices.Clone(page)
			binary.LittleEndian.PutUint16(p[2*217:], word)
			p[510] = 0
			id, err := parseIdentify(p)
			if err != nil {
				t.Fatal(err)
			}
			equal(t, "rotation rate", id.rotation, want)
		}
	})
}

func TestTemperatureOfAttributes(t *testing.T) {
	for _, tt := range []struct {
		name  string
		attrs []Attribute
		want  *float64
	}{
		{"minimum and maximum above the current one", []Attribute{{ID: 194, Raw: 0x0032_0011_0023}}, new(35.0)},
		{"194 before 190", []Attribute{{ID: 190, Raw: 30}, {ID: 194, Raw: 31}}, new(31.0)},
		{"190 alone", []Attribute{{ID: 190, Raw: 30}}, new(30.0)},
		{"0 is not told", []Attribute{{ID: 194, Value: 40}}, nil},
		{"below zero is not believed", []Attribute{{ID: 194, Raw: 0xf0}}, nil},
		{"none", nil, nil},
	} {
		equal(t, tt.name, attributeTemperature(tt.attrs), tt.want)
	}
	sct := make([]byte, 512)
	sct[0], sct[200] = 2, 0x80
	equal(t, "SCT without a sensor", sctTemperature(sct), nil)
	sct[200] = 0xf6
	equal(t, "SCT below zero", sctTemperature(sct), new(-10.0))
}

func TestParseNVMeLog(t *testing.T) {
	page := make([]byte, 512)
	page[0], page[1], page[2], page[3], page[4], page[5] = 0x04, 0x2b, 0x01, 7, 10, 255 // 299 K
	page[32], page[33], page[39] = 0x41, 0x42, 0x01
	page[56] = 1 // the 65th bit of data units written
	page[128], page[129] = 0x94, 0x26
	page[192], page[196] = 3, 4
	page[200], page[201], page[206], page[207] = 0x2c, 0x01, 0x2d, 0x01 // sensors 1 and 4
	page[224], page[228] = 5, 6                                         // seconds of throttling
	l, err := parseNVMeLog(page)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "critical warning", l.CriticalWarning, uint8(4))
	equal(t, "temperature", l.Temperature, new(299))
	equal(t, "spare", l.AvailableSpare, new(7))
	equal(t, "used", l.PercentageUsed, new(255))
	equal(t, "read", l.DataUnitsRead, new(uint64(0x0100000000004241)))
	equal(t, "a counter above 64 bits stops at the end", l.DataUnitsWritten, new(uint64(math.MaxUint64)))
	equal(t, "hours", l.PowerOnHours, new(uint64(9876)))
	equal(t, "minutes too warm", []uint64{*l.WarningTempMinutes, *l.CriticalTempMinutes}, []uint64{3, 4})
	equal(t, "sensors", l.Sensors, []int{300, 0, 0, 301})
	equal(t, "throttling", []uint64{*l.ThrottleSeconds[0], *l.ThrottleSeconds[1]}, []uint64{5, 6})

	page[1], page[2] = 0, 0
	l, err = parseNVMeLog(page)
	if err != nil || l.Temperature != nil {
		t.Errorf("0 K is not told: %v, %v", l.Temperature, err)
	}
	for name, bad := range map[string][]byte{
		"zeros":                       make([]byte, 512),
		"zeros but for a used figure": append([]byte{0, 0, 0, 0, 0, 3}, make([]byte, 506)...),
		"ones":                        slices.Repeat([]byte{0xff}, 512),
		"short":                       make([]byte, 511),
	} {
		if l, err := parseNVMeLog(bad); !errors.Is(err, errParse) {
			t.Errorf("%s: %s, %v", name, show(l), err)
		}
	}
}

func TestParseSense(t *testing.T) {
	registers := []byte{9, 12, 0, 1, 0, 0xff, 0, 2, 0, 3, 0, 4, 0, 0x50}
	tests := []struct {
		name  string
		bytes []byte
		want  sense
	}{
		{"fixed", []byte{0x70, 0, 5, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0x20, 1}, sense{valid: true, key: 5, asc: 0x20, ascq: 1}},
		{
			"fixed with ATA registers",
			[]byte{0x70, 0, 1, 4, 0x51, 0, 0x80, 10, 0, 7, 0x4f, 0xc2, 0, 0x1d},
			sense{valid: true, key: 1, ascq: 0x1d, ata: &ataRegisters{err: 4, status: 0x51, count: 0x80, lbaLow: 7, lbaMid: 0x4f, lbaHigh: 0xc2}},
		},
		{
			"descriptor with ATA registers", append([]byte{0x72, 1, 0, 0x1d, 0, 0, 0, 14}, registers...),
			sense{valid: true, key: 1, ascq: 0x1d, ata: &ataRegisters{err: 1, status: 0x50, count: 0xff, lbaLow: 2, lbaMid: 3, lbaHigh: 4}},
		},
		{
			"registers behind another descriptor", append([]byte{0x72, 0xb, 0, 0, 0, 0, 0, 26, 0, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, registers...),
			sense{valid: true, key: 0xb, ata: &ataRegisters{err: 1, status: 0x50, count: 0xff, lbaLow: 2, lbaMid: 3, lbaHigh: 4}},
		},
		{"a descriptor that is cut off", append([]byte{0x72, 1, 0, 0x1d, 0, 0, 0, 14}, registers[:13]...), sense{valid: true, key: 1, ascq: 0x1d}},
		{"fixed and short", []byte{0x70, 0, 2, 0}, sense{valid: true, key: 2}},
		{"none", make([]byte, 32), sense{}},
		{"nothing", nil, sense{}},
	}
	for _, tt := range tests {
		got := parseSense(tt.bytes)
		if show(got.ata) != show(tt.want.ata) || (got.ata == nil) != (tt.want.ata == nil) {
			t.Errorf("%s: registers %+v, want %+v", tt.name, got.ata, tt.want.ata)
		} else if got.ata != nil && *got.ata != *tt.want.ata {
			t.Errorf("%s: registers %+v, want %+v", tt.name, *got.ata, *tt.want.ata)
		}
		got.ata, tt.want.ata = nil, nil
		if got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

func TestSCSIPages(t *testing.T) {
	t.Run("a RAID volume's temperature of 0 with trip 0 is none", func(t *testing.T) {
		c, trip := scsiTemperature(map[uint16][]byte{0: {0, 0}, 1: {0, 0}})
		if c != nil || trip != nil {
			t.Errorf("%v, %v", *c, trip)
		}
	})
	t.Run("FFh is no temperature", func(t *testing.T) {
		c, trip := scsiTemperature(map[uint16][]byte{0: {0, 0xff}, 1: {0, 0xff}})
		if c != nil || trip != nil {
			t.Errorf("%v, %v", c, trip)
		}
	})
	t.Run("counters of any length, all ones is none", func(t *testing.T) {
		for _, c := range []struct {
			bytes []byte
			want  *uint64
		}{
			{nil, nil},
			{[]byte{7}, new(uint64(7))},
			{[]byte{1, 0, 0}, new(uint64(65536))},
			{slices.Repeat([]byte{0xff}, 8), nil},
			{[]byte{0xff, 0xff}, nil},
			{append(make([]byte, 8), 1, 2), new(uint64(258))},
			{append([]byte{1}, make([]byte, 8)...), new(uint64(math.MaxUint64))},
		} {
			equal(t, "counter", scsiCounter(c.bytes), c.want)
		}
	})
	t.Run("parameters up to one that is cut off", func(t *testing.T) {
		equal(t, "parameters", parseParameters([]byte{0, 1, 3, 2, 8, 9, 0x80, 0, 3, 0, 0, 5, 3, 4, 1, 2}), map[uint16][]byte{1: {8, 9}, 0x8000: {}})
	})
	t.Run("a predicted failure is a verdict, a warning is not", func(t *testing.T) {
		r := &Reading{}
		parseExceptions(map[uint16][]byte{0: {0x5d, 0x10, 40}}, r)
		equal(t, "verdict", r.Passed, new(false))
		equal(t, "temperature", r.TemperatureC, new(40.0))
		r = &Reading{}
		parseExceptions(map[uint16][]byte{0: {0x0b, 0x01}}, r)
		equal(t, "verdict", r.Passed, nil)
		equal(t, "messages", r.Messages, []string{"informational exception 0b/01"})
	})
	t.Run("capacity beyond 2 TiB", func(t *testing.T) {
		b := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(nil, 15002931887), 512)
		bytes, block := parseCapacity16(b)
		equal(t, "capacity", []int64{bytes, int64(block)}, []int64{15002931888 * 512, 512})
		bytes, _ = parseCapacity10([]byte{0xff, 0xff, 0xff, 0xff, 0, 0, 2, 0})
		equal(t, "what READ CAPACITY (10) cannot tell", bytes, int64(0))
		bytes, _ = capacityOf(math.MaxUint64, 512)
		equal(t, "an absurd one", bytes, int64(0))
	})
	t.Run("the name of the disk, not that of its port", func(t *testing.T) {
		port := []byte{0x61, 0x93, 0, 8, 0x50, 0, 3, 0x97, 0xcc, 0x88, 0, 2}
		unit := []byte{1, 3, 0, 8, 0x50, 0, 3, 0x97, 0xcc, 0x88, 0, 1}
		equal(t, "WWN", parseWWN(append(port, unit...)), "naa.50000397cc880001")
		equal(t, "none", parseWWN(port), "")
	})
	t.Run("another page than the one that was asked for", func(t *testing.T) {
		if _, err := logBody("LOG SENSE 11h", []byte{0x0d, 0, 0, 0}, 0x11); !errors.Is(err, errParse) {
			t.Error(err)
		}
		if _, err := vpdBody("VPD 80h", []byte{0, 0, 0, 0}, 0x80); !errors.Is(err, errParse) {
			t.Error(err)
		}
	})
}

func TestPowerStates(t *testing.T) {
	for count, want := range map[uint8]string{0: "standby", 1: "standby", 0x40: "standby", 0x80: "idle", 0x82: "idle", 0xff: "active", 0x41: "active", 0x55: ""} {
		if got := powerStateOf(count); got != want {
			t.Errorf("CHECK POWER MODE %02xh: %q, want %q", count, got, want)
		}
	}
	for code, want := range map[uint16]string{0x5e02: "standby", 0x5e0a: "standby", 0x0402: "standby", 0x5e05: "idle", 0: "active", 0x2900: ""} {
		if got := scsiPowerState(sense{valid: true, asc: uint8(code >> 8), ascq: uint8(code)}); got != want {
			t.Errorf("REQUEST SENSE %04xh: %q, want %q", code, got, want)
		}
	}
}

func TestWayOf(t *testing.T) {
	for _, tt := range []struct {
		name string
		disk blockdev.Disk
		want way
	}{
		{"SATA", diskAt("sda", "sata"), waySD},
		{"a passed-through disk on virtio-scsi", diskAt("sdb", "virtio"), waySD},
		{"NVMe", diskAt("nvme0n1", "nvme"), wayNVMe},
		{"an NVMe controller that lost its namespaces", diskAt("nvme1", "nvme"), wayNVMe},
		{"virtio-blk", diskAt("vda", "virtio"), noWay},
		{"Xen", diskAt("xvda", "xen"), noWay},
		{"an SD card", diskAt("mmcblk0", "mmc"), noWay},
		{"an eMMC", blockdev.Disk{Identity: blockdev.Identity{Kernel: "mmcblk0"}, LifeTime: []string{"0x01", "0x01"}}, wayMMC},
	} {
		if got := wayOf(tt.disk); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
}
