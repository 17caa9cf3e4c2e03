package smart

import (
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// ssd makes an SSD of a model with some attributes (id, VALUE, RAW) and, from 0 up, a Percentage Used.
func ssd(model, firmware, database string, used int, attrs ...[3]int) *Reading {
	r := &Reading{Protocol: protocolATA, RotationRate: new(0), DBFamily: database}
	r.Identity.Model, r.Identity.Firmware = model, firmware
	for _, a := range attrs {
		r.Attributes = append(r.Attributes, Attribute{ID: uint8(a[0]), Value: a[1], Worst: a[1], Threshold: -1, Raw: uint64(a[2]) & ones48})
	}
	if used >= 0 {
		r.Statistics = map[Stat]uint64{StatPercentageUsed: uint64(used)}
	}
	return r
}

func TestWhichSourceOfWearIsBelieved(t *testing.T) {
	const pue = sourceStatistics
	for name, c := range map[string]struct {
		r      *Reading
		want   float64
		source string
		bound  bool
		note   string
	}{
		"family attribute beside an agreeing PUE":        {ssd("Samsung SSD 860 EVO 1TB", "", "", 19, [3]int{177, 81, 0}), .19, "ata_attribute_177", false, ""},
		"family attribute although PUE disagrees":        {ssd("Samsung SSD 860 EVO 1TB", "", "", 50, [3]int{177, 81, 0}), .19, "ata_attribute_177", false, "disagree"},
		"attribute at its floor: PUE":                    {ssd("INTEL SSDSC2BB240G4", "", "", 183, [3]int{233, 1, 0}), 1.83, pue, false, "floor"},
		"attribute at its floor, PUE saturated":          {ssd("INTEL SSDSC2BB240G4", "", "", 255, [3]int{233, 1, 0}), 2.55, pue, true, "floor"},
		"attribute at its floor without PUE: at least":   {ssd("INTEL SSDSC2BB240G4", "", "", -1, [3]int{233, 1, 0}), .99, "ata_attribute_233", true, "floor"},
		"PUE of 255 is bogus beside a living attribute":  {ssd("INTEL SSDSC2BB240G4", "", "", 255, [3]int{233, 60, 0}), .40, "ata_attribute_233", false, "not credible"},
		"PUE of 255 alone is no figure":                  {ssd("Nobody", "", "", 255), math.NaN(), "", false, "not credible"},
		"unknown family: PUE":                            {ssd("Nobody", "", "", 3), .03, pue, false, ""},
		"unknown family: 0 is a figure":                  {ssd("Nobody", "", "", 0), 0, pue, false, ""},
		"unknown family without PUE: nothing":            {ssd("Nobody", "", "", -1, [3]int{177, 50, 0}, [3]int{231, 50, 50}), math.NaN(), "", false, ""},
		"PUE of a distrusted family is not a fallback":   {ssd("C300-CTFDDAC064MAG", "", "", 3), math.NaN(), "", false, "known to be wrong"},
		"distrusted PUE beside the attribute":            {ssd("INTEL SSDSC2CW120A3", "", "", 40, [3]int{233, 98, 0}), .02, "ata_attribute_233", false, "known to be wrong"},
		"the larger of two that lag (Intel 530)":         {ssd("INTEL SSDSC2BW240A4", "", "", 60, [3]int{233, 60, 0}), .60, pue, false, "disagree"},
		"the larger of two, attribute ahead":             {ssd("INTEL SSDSC2BW240A4", "", "", 10, [3]int{233, 60, 0}), .40, "ata_attribute_233", false, "disagree"},
		"erase count sides with PUE":                     {ssd("x", "", "Silicon Motion based SSDs", 30, [3]int{169, 100, 90}, [3]int{167, 100, 900}, [3]int{168, 100, 3000}), .30, pue, false, "sides"},
		"erase count sides with the attribute":           {ssd("x", "", "Silicon Motion based SSDs", 80, [3]int{169, 100, 70}, [3]int{167, 100, 900}, [3]int{168, 100, 3000}), .30, "ata_attribute_169", false, "sides"},
		"PUE wrapped at 8 bits, attribute negative":      {ssd("x", "", "Silicon Motion based SSDs", 243, [3]int{169, 100, -655}), 7.55, "ata_attribute_169", false, "modulo 256"},
		"PUE wrapped at 8 bits, attribute at its floor":  {ssd("x", "", "Silicon Motion based SSDs", 20, [3]int{169, 0, 0}, [3]int{167, 0, 8280}, [3]int{168, 0, 3000}), 2.76, "ata_attribute_167", false, "modulo 256"},
		"32 bit negative: nine points beyond the rating": {ssd("x", "", "Silicon Motion based SSDs", 109, [3]int{169, 247, 1<<32 - 9}), 1.09, "ata_attribute_169", false, ""},
		"another layout under 169":                       {ssd("x", "", "Silicon Motion based SSDs", -1, [3]int{169, 42, 77}), math.NaN(), "", false, ""},
		"HG5d beyond its rating is not clamped":          {ssd("TOSHIBA THNSNH128GCST", "", "", -1, [3]int{173, 95, 0}), 1.05, "ata_attribute_173", false, ""},
		"HG3 stands at 100 for ever":                     {ssd("TOSHIBA THNSNC128GCSJ", "CJPA0203", "", -1, [3]int{173, 100, 0}), math.NaN(), "", false, ""},
		"CFD sells the HG5d under its own name":          {ssd("CSSD-S6T128NHG5Q", "", "", -1, [3]int{173, 184, 0}), .16, "ata_attribute_173", false, ""},
		"202: 8-bit complement gone round":               {ssd("CT500MX500SSD1", "", "", 126, [3]int{202, 230, 126}), 1.26, "ata_attribute_202", false, ""},
		"202: value stopped, raw goes on (m4)":           {ssd("M4-CT128M4SSD2", "", "", 3, [3]int{202, 1, 355}), 3.55, "ata_attribute_202", false, "wrong"},
		"202: raw that its value does not confirm":       {ssd("CT500MX500SSD1", "", "", -1, [3]int{202, 90, 50}), math.NaN(), "", false, ""},
		"Phison raw 0 is not filled in: PUE":             {ssd("KINGSTON SA400S37240G", "SBFKB1D1", "", 7, [3]int{231, 100, 0}), .07, pue, false, ""},
		"WD: erase word beside two equal host words":     {ssd("WDC WDS500G2B0A", "", "", -1, [3]int{230, 3, 0x0200_0200_0500}), .05, "ata_attribute_230", false, ""},
		"WD: middle word otherwise":                      {ssd("WDC WDS500G2B0A", "", "", -1, [3]int{230, 3, 0x0100_0500_0200}), .05, "ata_attribute_230", false, ""},
		"old SanDisk firmware has one word":              {ssd("SanDisk SD7SB3Q128G", "X2180306", "", 5, [3]int{230, 100, 0x0512}), .05, "ata_attribute_230", false, ""},
		"Dell: 245, while 233 counts host writes":        {ssd("SSDSC2BB480G7R", "N201DL43", "", -1, [3]int{233, 100, 900}, [3]int{245, 93, 0}), .07, "ata_attribute_245", false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := Interpret(c.r).Wear
			switch {
			case math.IsNaN(c.want) && w.Used != nil:
				t.Errorf("wear = %v from %s, want none", *w.Used, w.Source)
			case math.IsNaN(c.want):
			case w.Used == nil || math.Abs(*w.Used-c.want) > 1e-9 || w.Source != c.source:
				t.Errorf("wear = %s from %q, want %v from %q (%+v)", ratioText(w.Used), w.Source, c.want, c.source, w)
			}
			if w.LowerBound != c.bound {
				t.Errorf("lower bound = %v, want %v", w.LowerBound, c.bound)
			}
			if (c.note == "") != (w.Note == "") || !strings.Contains(w.Note, c.note) {
				t.Errorf("note = %q, want %q in it", w.Note, c.note)
			}
		})
	}
}

func TestHardDisksHaveNoWearWhateverTheirAttributesSay(t *testing.T) {
	for i := range families {
		f := &families[i]
		r := ssd("SAMSUNG HD154UI", "", "", 5)
		for id := 1; id < 256; id++ {
			r.Attributes = append(r.Attributes, Attribute{ID: uint8(id), Value: 90, Raw: 10})
		}
		// even a family name of an SSD does not make one of what turns
		r.Identity.Model, r.RotationRate = exampleModel(f), new(7200)
		if h := Interpret(r); h.Wear.Used != nil || len(h.Wear.Sources) != 0 || h.HostWritten != nil || h.Rotational == nil || !*h.Rotational {
			t.Errorf("%s: %+v", f.name, h.Wear)
		}
	}
	unsaid := ssd("SAMSUNG HD154UI", "", "SAMSUNG SpinPoint F2 EG", 5, [3]int{177, 90, 1})
	unsaid.RotationRate = nil
	if h := Interpret(unsaid); h.Wear.Used != nil || h.Rotational != nil {
		t.Errorf("a disk that says nothing about its medium: %+v", h)
	}
	unsaid.DBFamily = "Some brand new SSDs"
	if h := Interpret(unsaid); h.Wear.Used == nil {
		t.Error("smartctl's database calls it an SSD: its Percentage Used counts")
	}
}

// exampleModel is a model that the row matches by name, where there is one.
func exampleModel(f *family) string {
	for _, m := range []string{"TOSHIBA THNSNH128GCST", "Samsung SSD 850 EVO 500GB", "INTEL SSDSC2BB240G4", "CT500MX500SSD1"} {
		for _, p := range f.match {
			if p.model != nil && p.model.MatchString(m) {
				return m
			}
		}
	}
	return "x"
}

func TestUnitsOfWrittenBytes(t *testing.T) {
	with := func(r *Reading, sectors uint64, a ...Attribute) *Reading {
		if sectors > 0 {
			r.Statistics = map[Stat]uint64{StatSectorsWritten: sectors}
		}
		r.Attributes = append(r.Attributes, a...)
		return r
	}
	a241 := func(raw uint64, name string) Attribute { return Attribute{ID: 241, Raw: raw, Name: name} }
	big := ssd("Nobody", "", "", -1)
	big.BlockSize = 4096
	small := ssd("Samsung SSD 850 EVO 120GB", "", "", -1)
	small.Capacity = 120e9
	for name, c := range map[string]struct {
		r      *Reading
		want   uint64
		source string
	}{
		"device statistics alone":                                 {with(ssd("Nobody", "", "", -1), 1000000), 512000000, "device statistics"},
		"in the drive's own sector size":                          {with(big, 1000000), 4096000000, "device statistics"},
		"attribute of an unknown drive: no unit, no figure":       {with(ssd("Nobody", "", "", -1), 0, a241(1000, "Total_LBAs_Written")), 0, ""},
		"attribute of an unknown drive with the unit in its name": {with(ssd("Nobody", "", "", -1), 0, a241(1000, "Host_Writes_32MiB")), 1000 * mib32, "attribute 241 × 32 MiB"},
		"attribute of a family":                                   {with(ssd("TOSHIBA THNSNH128GCST", "", "", -1), 0, a241(1000, "Total_LBAs_Written")), 1000 * mib32, "attribute 241 × 32 MiB"},
		"a count of 0 is not kept":                                {with(ssd("TOSHIBA THNSNH128GCST", "", "", -1), 0, a241(0, "")), 0, ""},
		"the firmware decides (Toshiba HG6)":                      {with(ssd("TOSHIBA THNSFJ256GDNU A", "JYLA1102", "", -1), 0, a241(1000, "")), 1000 * gib, "attribute 241 × 1 GiB"},
		"a model whose unit is not known":                         {with(ssd("SAMSUNG MZNLN256HMHQ-00000", "", "", -1), 0, a241(1000, "Total_LBAs_Written")), 0, ""},
		"proven":                                                  {with(ssd("Nobody", "", "", -1), 65536*1000, a241(1000, "Total_LBAs_Written")), 1000 * mib32, "device statistics = attribute 241 × 32 MiB"},
		"proven against the family's own unit":                    {with(ssd("TOSHIBA THNSNH128GCST", "", "", -1), 2097152*1000, a241(1000, "")), 1000 * gib, "device statistics = attribute 241 × 1 GiB"},
		"wrapped three times at 2^32 sectors":                     {with(ssd("Nobody", "", "", -1), 65536*200000-3<<32, a241(200000, "")), 200000 * mib32, "device statistics + 3 × 2^32 sectors = attribute 241 × 32 MiB"},
		"nothing proves a wrap: as it stands":                     {with(ssd("Nobody", "", "", -1), 1<<32-1), (1<<32 - 1) * 512, "device statistics"},
		"far behind a known unit: stopped or wrapped":             {with(ssd("CT500MX500SSD1", "", "", -1), 77777777, Attribute{ID: 246, Raw: 5 << 32}), 5 << 41, "attribute 246 × 512 B, device statistics hold less"},
		"disagreeing without a wrap: the standard's count":        {with(ssd("CT500MX500SSD1", "", "", -1), 1000000, Attribute{ID: 246, Raw: 1500000}), 512000000, "device statistics, although attribute 246 × 512 B disagrees"},
		"a count of GiB repeated as sectors":                      {with(ssd("SanDisk SSD PLUS 240GB", "", "", -1), 2111, a241(2111, "Total_Writes_GiB")), 2111 * gib, "attribute 241 × 1 GiB, device statistics hold less"},
		"more than any flash can bear":                            {with(small, 0, a241(1<<46, "")), 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			h := Interpret(c.r)
			wantBytes(t, "host written", h.HostWritten, c.want, 0)
			if h.HostWrittenSource != c.source {
				t.Errorf("source = %q, want %q", h.HostWrittenSource, c.source)
			}
		})
	}
}

func TestReadBytesCountInTheUnitThatWritesProve(t *testing.T) {
	r := ssd("Nobody", "", "", -1, [3]int{241, 100, 1000}, [3]int{242, 100, 3000})
	r.Statistics = map[Stat]uint64{StatSectorsWritten: 65536 * 1000}
	h := Interpret(r)
	wantCount(t, "host read", h.HostRead, 3000*mib32)
	r.Statistics = nil
	if h := Interpret(r); h.HostRead != nil {
		t.Errorf("host read = %d without a unit", *h.HostRead)
	}
}

func TestWriteAmplificationNeedsSomethingWrittenAndSense(t *testing.T) {
	amplified := func(host, media int) *Health {
		return Interpret(ssd("INTEL SSDSC2KB240G7", "", "", -1, [3]int{241, 100, host}, [3]int{243, 100, media}))
	}
	if h := amplified(1000, 2500); h.WriteAmplification == nil || *h.WriteAmplification != 2.5 {
		t.Errorf("write amplification = %s, want 2.5", ratioText(h.WriteAmplification))
	}
	if h := amplified(31, 62); h.MediaWritten == nil || h.WriteAmplification != nil { // 31 × 32 MiB is below 1 GiB
		t.Errorf("media %v, write amplification %s: want bytes but no ratio on an idle drive", h.MediaWritten, ratioText(h.WriteAmplification))
	}
	for _, media := range []int{900, 300000} {
		if h := amplified(1000, media); h.MediaWritten != nil || h.WriteAmplification != nil {
			t.Errorf("%d media units for 1000 of the host were believed", media)
		}
	}
}

func TestSentinelsAreDropped(t *testing.T) {
	r := ssd("CT500MX500SSD1", "", "", -1, [3]int{5, 100, 65535}, [3]int{171, 100, 1<<32 - 1}, [3]int{172, 100, 1<<48 - 1},
		[3]int{187, 100, 4}, [3]int{12, 100, 65535}, [3]int{190, 31, 69}, [3]int{194, 69, 0})
	r.PowerOnHours = new(934841.0)
	h := Interpret(r)
	if h.Reallocated != nil || h.ProgramFailures != nil || h.EraseFailures != nil || h.PowerCycles != nil {
		t.Errorf("sentinels came through: %v %v %v %v", h.Reallocated, h.ProgramFailures, h.EraseFailures, h.PowerCycles)
	}
	wantCount(t, "media errors", h.MediaErrors, 4)
	if h.PowerOn != nil {
		t.Errorf("power on = %v: more than a century", *h.PowerOn)
	}
	if h.Temperatures["composite"] != 69 {
		t.Errorf("temperature = %v, want the low byte of 190 when 194 holds nothing", h.Temperatures)
	}
	r.Statistics = map[Stat]uint64{StatPowerOnHours: 9000}
	if h := Interpret(r); h.PowerOn == nil || *h.PowerOn != 9000*time.Hour {
		t.Errorf("power on = %v, want the 9000 h of Device Statistics", h.PowerOn)
	}
	log := &NVMeLog{
		Temperature: new(65535), Sensors: []int{0, 65535, 300}, PercentageUsed: new(1), PowerOnHours: new(uint64(1e6)),
		DataUnitsWritten: new(uint64(math.MaxUint64)), MediaErrors: new(uint64(math.MaxUint64)), SpareThreshold: new(255),
	}
	h = Interpret(&Reading{Protocol: protocolNVMe, NVMe: log})
	if !maps.Equal(h.Temperatures, map[string]float64{"3": 26.85}) || h.PowerOn != nil || h.HostWritten != nil || h.MediaErrors != nil || h.SpareThreshold != nil {
		t.Errorf("sentinels came through: %+v", h)
	}
}

// A counter of another meaning must not turn into errors: attribute 5, 197 and the like count only where a family says so.
func TestErrorCountersOfUnknownDrivesComeFromTheStandardOnly(t *testing.T) {
	r := ssd("Nobody", "", "", 3, [3]int{5, 100, 7}, [3]int{171, 100, 7}, [3]int{187, 100, 7}, [3]int{197, 100, 7})
	h := Interpret(r)
	if h.Reallocated != nil || h.ProgramFailures != nil || h.MediaErrors != nil || h.PendingSectors != nil {
		t.Errorf("guessed: %v %v %v %v", h.Reallocated, h.ProgramFailures, h.MediaErrors, h.PendingSectors)
	}
	r.Statistics[statReallocated], r.Statistics[statUncorrectable] = 2, 1
	h = Interpret(r)
	wantCount(t, "reallocated", h.Reallocated, 2)
	wantCount(t, "media errors", h.MediaErrors, 1)
}

func TestCriticalWarningKeepsToDefinedBits(t *testing.T) {
	for warning, want := range map[uint8]string{0: "", 1: "spare", 2: "temperature", 4: "reliability", 8: "read_only", 16: "volatile_backup", 32: "pmr", 64: "", 128: "", 0x0a: "read_only temperature"} {
		h := Interpret(&Reading{Protocol: protocolNVMe, NVMe: &NVMeLog{CriticalWarning: warning, Temperature: new(300)}})
		var set []string
		for kind, on := range h.Critical {
			if on {
				set = append(set, kind)
			}
		}
		slices.Sort(set)
		if got := strings.Join(set, " "); got != want || len(h.Critical) != 6 || *h.Healthy != (want == "") {
			t.Errorf("%#02x: %q of %d, healthy %v, want %q of 6", warning, got, len(h.Critical), *h.Healthy, want)
		}
	}
}

func TestRatedBytes(t *testing.T) {
	for model, want := range map[string]int64{"INTEL SSDSC2BB240G4": 140e12, "INTEL SSDSC2BP240G4": 91e12, "INTEL SSDSC2BW240A4": 36_500_000_000_000} {
		b, years, source, ok := RatedBytes(model)
		if !ok || b != want || years != 5 || source == "" {
			t.Errorf("%s: %d bytes, %d years, %q, %v", model, b, years, source, ok)
		}
	}
	for _, model := range []string{"", "INTEL SSDSC2BB240G4R", "INTEL SSDSC2BB480G4", "intel ssdsc2bb240g4"} {
		if _, _, _, ok := RatedBytes(model); ok {
			t.Errorf("%q has a rating: models must match exactly", model)
		}
	}
}

// Every row must be reachable and name where it comes from, or the table rots.
func TestFamilyTableIsWellFormed(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range families {
		if f.name == "" || f.source == "" || len(f.match) == 0 || seen[f.name] {
			t.Errorf("%q: no name, no source, no pattern or twice", f.name)
		}
		seen[f.name] = true
		if (f.rule == noRule) != (f.id == 0) {
			t.Errorf("%s: rule %v with attribute %d", f.name, f.rule, f.id)
		}
		for _, p := range f.match {
			if p.model == nil && p.firmware == nil && p.database == nil && len(p.layout) == 0 {
				t.Errorf("%s: a pattern that matches everything", f.name)
			}
		}
		if f.reads != 0 && len(f.host) == 0 {
			t.Errorf("%s: reads in the unit of nothing", f.name)
		}
	}
}

// A host with many disks interprets all of them at every poll, so a reading may cost little. Time is printed by the
// benchmarks; allocations are nearly the same everywhere (about 20; the race detector empties the pools of package regexp).
func TestInterpretAllocatesLittle(t *testing.T) {
	for name, r := range map[string]*Reading{
		"a drive that no row matches": unknownDrive(),
		"a field case":                readOne(t, filepath.Join("testdata", "cases", "O-10_m550_disagrees.json")),
	} {
		if n := testing.AllocsPerRun(100, func() { Interpret(r) }); n > 50 {
			t.Errorf("%s: %v allocations, want at most 50", name, n)
		}
	}
}
