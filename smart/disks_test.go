package smart

import "ssd_exporter/smart/smarttest"

// The disks that the tests read, with figures such as real ones report.

// hg5d is a Toshiba HG5d: wear is the normalised value of attribute 173, from 200 down, its raw value stays 0.
func hg5d() smarttest.ATA {
	return smarttest.ATA{
		Model: "TOSHIBA THNSNH128GMCT", Serial: "53PS10G7TQKZ", Firmware: "HTLAN102", WWN: 0x500080d910000001, Rotation: 1,
		Sectors: 250069680,
		Attributes: []smarttest.Attribute{
			{ID: 9, Value: 100, Worst: 100, Flags: 0x32, Raw: 21345},
			{ID: 12, Value: 100, Worst: 100, Flags: 0x32, Raw: 977},
			{ID: 173, Value: 180, Worst: 180, Threshold: 100, Flags: 0x33, Raw: 0},
			{ID: 194, Value: 65, Worst: 50, Flags: 0x22, Raw: 0x0032_0011_0023},
			{ID: 241, Value: 100, Worst: 100, Flags: 0x32, Raw: 316955},
		},
		Statistics: map[[2]int]uint64{{1, 0x10}: 21345, {1, 0x18}: 20771935451, {7, 0x08}: 20},
	}
}

// intel520 has the value of attribute 233 and a Percentage Used of 255 that means nothing, in the general purpose log only.
func intel520() smarttest.ATA {
	return smarttest.ATA{
		Model: "INTEL SSDSC2CW240A3", Serial: "CVCV203400AB240FGN", Firmware: "400i", WWN: 0x5001517bb2a00001, Rotation: 1,
		Sectors: 468862128,
		Attributes: []smarttest.Attribute{
			{ID: 9, Value: 0, Worst: 0, Flags: 0x32, Raw: 0x000A_000E_1B2C},
			{ID: 225, Value: 100, Worst: 100, Flags: 0x32, Raw: 402113},
			{}, // a hole, not the end
			{ID: 233, Value: 74, Worst: 74, Flags: 0x32, Raw: 0},
		},
		Statistics: map[[2]int]uint64{{7, 0x08}: 255}, StatisticsIn: smarttest.InGPLOnly,
	}
}

// samsung has attribute 177 and no Device Statistics, so that the temperature comes from SCT.
func samsung() smarttest.ATA {
	return smarttest.ATA{
		Model: "Samsung SSD 850 PRO 256GB", Serial: "S1SUNSAG312345", Firmware: "EXM02B6Q", WWN: 0x5002538870000001, Rotation: 1,
		Sectors: 500118192,
		Attributes: []smarttest.Attribute{
			{ID: 5, Value: 100, Worst: 100, Threshold: 10, Flags: 0x33},
			{ID: 177, Value: 81, Worst: 81, Flags: 0x13, Raw: 1140},
			{ID: 190, Value: 68, Worst: 46, Flags: 0x32, Raw: 32},
			{ID: 241, Value: 99, Worst: 99, Flags: 0x32, Raw: 123456789012},
		},
		StatisticsIn: smarttest.Nowhere, SCTCelsius: 31,
	}
}

func micron7300() smarttest.NVMe {
	return smarttest.NVMe{
		Model: "Micron_7300_MTFDHBE960TDF", Serial: "20152A5E0001", Firmware: "95420260", VendorID: 0x1344,
		Capacity: 960197124096, Namespaces: 128, WarningKelvin: 343, CriticalKelvin: 358,
		Kelvin: 299, Spare: 100, SpareThreshold: 10, Used: 3, UnitsRead: 1000001, UnitsWritten: 2000002,
		PowerCycles: 41, PowerOnHours: 9876, UnsafeShutdowns: 17, SensorKelvin: [8]uint16{308, 0, 301},
	}
}

func px05() smarttest.SCSI {
	return smarttest.SCSI{
		Vendor: "TOSHIBA", Product: "PX05SVB080Y", Revision: "A3AF", Serial: "5850A0CNT4BA", WWN: 0x50000397cc880001,
		Rotation: 1, LastBlock: 1562824367, BlockSize: 512,
		Pages: map[uint8][]smarttest.Parameter{
			0x02: {{Code: 5, Value: []byte{0, 0, 0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc}}, {Code: 6, Value: []byte{0, 0, 0, 1}}},
			0x03: {{Code: 5, Value: []byte{0x01, 0x00}}, {Code: 6, Value: []byte{2}}},
			0x0d: {{Code: 0, Value: []byte{0, 34}}, {Code: 1, Value: []byte{0, 65}}},
			0x11: {{Code: 1, Value: []byte{0, 0, 0, 7}}},
			0x15: {{Code: 0, Value: []byte{0, 0, 0x0e, 0x10, 0, 8, 0, 3, 0, 0, 0, 3}}},
			0x2f: {{Code: 0, Value: []byte{0, 0, 34, 65}}},
		},
	}
}
