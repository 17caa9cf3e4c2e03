package smart

import (
	"slices"
	"testing"

	"ssd_exporter/smart/smarttest"
)

// ataCommandOf is a command with one sector of data, for pages out of the simulated disks.
func ataCommandOf(command uint8) smarttest.Command {
	c := ataCommand{command: command, count: 1, sectors: 1}
	if command == ataSMART {
		c.feature, c.lba = smartReadData, smartSignature<<8
	}
	return smarttest.Command{CDB: c.cdb(), Length: 512}
}

// FuzzATAPages feeds any bytes to the parsers of ATA pages: they answer or refuse, and invent nothing.
func FuzzATAPages(f *testing.F) {
	for _, d := range []smarttest.ATA{hg5d(), intel520(), samsung()} {
		f.Add(d.Answer(ataCommandOf(ataIdentifyDevice)).Data)
		f.Add(d.Answer(ataCommandOf(ataSMART)).Data)
	}
	stats := ataCommand{command: ataReadLogExt, count: 8, lba: logDeviceStatistics, ext: true, sectors: 8}
	f.Add(intel520().Answer(smarttest.Command{CDB: stats.cdb(), Length: 4096}).Data)
	f.Fuzz(func(t *testing.T, page []byte) {
		if id, err := parseIdentify(page); err == nil {
			if id.model == "" || id.capacity < 0 {
				t.Errorf("identity %+v", id)
			}
		}
		if attrs, err := parseAttributes(page); err == nil {
			_ = addThresholds(attrs, page)
			hoursAndCycles(attrs)
			attributeTemperature(attrs)
			for _, a := range attrs {
				if a.ID == 0 || a.Raw >= 1<<48 || a.Value > 255 || a.Threshold < -1 || a.Threshold > 255 {
					t.Errorf("attribute %+v", a)
				}
			}
		}
		for key, v := range parseStatistics(page) {
			if key.Page == 0 || key.Page >= statisticsPages || key.Offset < 8 || key.Offset > 504 || v >= 1<<56 {
				t.Errorf("statistic %+v = %d", key, v)
			}
		}
		sctTemperature(page)
	})
}

// FuzzNVMePages does the same for NVMe.
func FuzzNVMePages(f *testing.F) {
	d := micron7300()
	f.Add(d.Answer(smarttest.Command{NVMe: smarttest.NVMeCommand{Opcode: 6, CDW10: 1}, Length: 4096}).Data)
	f.Add(d.Answer(smarttest.Command{NVMe: smarttest.NVMeCommand{Opcode: 2, NSID: nvmeAllNamespaces, CDW10: 127<<16 | 2}, Length: 512}).Data)
	f.Add(slices.Repeat([]byte{0xff}, 512))
	f.Fuzz(func(t *testing.T, page []byte) {
		if id, err := parseNVMeIdentify(page); err == nil && (id.model == "" && id.serial == "" || id.capacity < 0) {
			t.Errorf("identity %+v", id)
		}
		l, err := parseNVMeLog(page)
		if err != nil {
			return
		}
		if len(l.Sensors) > 8 || l.Temperature != nil && *l.Temperature == 0 {
			t.Errorf("log %s", show(l))
		}
		if l.Temperature == nil && *l.AvailableSpare == 0 && *l.SpareThreshold == 0 && *l.PowerOnHours == 0 {
			t.Errorf("an empty log was believed: %s", show(l))
		}
	})
}

// FuzzSCSIPages does the same for sense data and for SCSI pages.
func FuzzSCSIPages(f *testing.F) {
	d := px05()
	for _, cdb := range [][]byte{
		{0x12, 0, 0, 0, 36, 0},
		{0x12, 1, 0x83, 0, 252, 0},
		{0x12, 1, 0xb1, 0, 252, 0},
		{0x03, 0, 0, 0, 252, 0},
		{0x4d, 0, 0x40, 0, 0, 0, 0, 16, 0, 0},
		{0x4d, 0, 0x42, 0, 0, 0, 0, 16, 0, 0},
		{0x4d, 0, 0x4d, 0, 0, 0, 0, 16, 0, 0},
		{0x9e, 0x10, 0, 0, 0, 0},
	} {
		f.Add(d.Answer(smarttest.Command{CDB: cdb, Length: 4096}).Data)
	}
	f.Add(abortedSense)
	f.Fuzz(func(t *testing.T, page []byte) {
		s := parseSense(page)
		_ = s.String()
		scsiPowerState(s)
		_, _ = parseInquiry(page)
		parseWWN(page)
		parseRotation(page)
		for _, parse := range []func([]byte) (int64, int){parseCapacity16, parseCapacity10} {
			if bytes, block := parse(page); bytes < 0 || block < 0 || (bytes == 0) != (block == 0) {
				t.Errorf("capacity %d, block size %d", bytes, block)
			}
		}
		for code := range uint8(0x40) {
			body, err := logBody("LOG SENSE", page, code)
			if err != nil {
				continue
			}
			p := parseParameters(body)
			l, r := &SCSILog{}, &Reading{}
			processed(p)
			l.addUncorrected(p)
			l.addUncorrected(p)
			scsiTemperature(p)
			if used := scsiPercentageUsed(p); used != nil && (*used < 0 || *used > 255) {
				t.Errorf("used %d", *used)
			}
			scsiPowerOn(p)
			parseExceptions(p, r)
		}
		_, _ = vpdBody("VPD", page, 0x83)
	})
}

// abortedSense is the sense data of a command that a disk refused.
var abortedSense = []byte{0x72, 0x0b, 0, 0, 0, 0, 0, 14, 9, 12, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x51}

// FuzzMMCLife does the same for what sysfs says of an eMMC.
func FuzzMMCLife(f *testing.F) {
	f.Add("0x02", "0x0b", "0x01")
	f.Add("", "1", "0x100")
	f.Fuzz(func(t *testing.T, a, b, eol string) {
		l, err := parseMMCLife([]string{a, b}, eol)
		if (l == nil) != (err != nil) {
			t.Errorf("%v, %v", l, err)
		}
	})
}
