package smart

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Encode writes a Reading as the JSON of smartctl -x -j, in one line. Decode gives an equal Reading back (but for Source,
// which says where a Reading was loaded from). What smartctl has no field for goes into an object "ssd_exporter".
func Encode(w io.Writer, r *Reading) error {
	b, err := json.Marshal(reportOf(r))
	if err != nil {
		return fmt.Errorf("encoding the reading of %s: %w", r.Identity.Model, err)
	}
	if _, err := w.Write(append(b, '\n')); err != nil {
		return fmt.Errorf("writing the reading of %s: %w", r.Identity.Model, err)
	}
	return nil
}

// reportOf is the inverse of report.reading.
func reportOf(r *Reading) *report {
	rep := &report{
		Format:       []int{1, 0},
		Smartctl:     &smartctlRun{ExitStatus: "0"},
		ModelFamily:  r.DBFamily,
		ModelName:    r.Identity.Model,
		Serial:       r.Identity.Serial,
		Firmware:     r.Identity.Firmware,
		RotationRate: numberOf(r.RotationRate),
		PowerCycles:  numberOf(r.PowerCycles),
		Attributes:   attributesOf(r.Attributes),
		Statistics:   statisticsOf(r.Statistics),
	}
	for _, m := range r.Messages {
		rep.Smartctl.Messages = append(rep.Smartctl.Messages, message{String: m, Severity: "warning"})
	}
	if r.Protocol != "" || r.Identity.Kernel != "" {
		rep.Device = deviceOf(r)
	}
	if r.Capacity > 0 {
		rep.UserCapacity = &bytesOf{Bytes: intNumber(r.Capacity)}
	}
	if r.BlockSize > 0 {
		rep.LogicalBlock = intNumber(r.BlockSize)
	}
	if r.Passed != nil {
		rep.Status = &smartStatus{Passed: r.Passed}
	}
	rep.putWWN(r.Identity.WWN)
	rep.PowerMode = powerModeOf(r.PowerState)
	if r.TemperatureC != nil {
		rep.Temperature = &temperature{Current: floatNumber(*r.TemperatureC)}
	}
	if r.PowerOnHours != nil {
		h := math.Floor(*r.PowerOnHours)
		rep.PowerOnTime = &powerOnTime{Hours: floatNumber(h), Minutes: floatNumber(math.Round((*r.PowerOnHours - h) * 60))}
	}
	if r.NVMe != nil {
		rep.putNVMe(r.NVMe)
	}
	if r.SCSI != nil {
		rep.putSCSI(r.SCSI)
	}
	rep.putRest(r)
	return rep
}

// deviceOf names the device node; the type of a RAID member is the part of its kernel name after ';'.
func deviceOf(r *Reading) *reportDevice {
	d := &reportDevice{Protocol: r.Protocol}
	switch r.Protocol {
	case protocolATA:
		d.Type = "sat"
	case protocolNVMe, protocolSCSI, protocolMMC:
		d.Type = strings.ToLower(r.Protocol)
	}
	if name, typ, ok := strings.Cut(r.Identity.Kernel, ";"); name != "" {
		d.Name = "/dev/" + name
		if ok {
			d.Type = typ
		}
	}
	return d
}

// putWWN writes a name in one of the two forms that smartctl prints; others end up in the extension.
func (rep *report) putWWN(name string) {
	kind, hex, _ := strings.Cut(name, ".")
	n, err := strconv.ParseUint(hex, 16, 64)
	if err != nil || len(hex) != 16 {
		return
	}
	switch kind {
	case "naa":
		rep.WWN = &wwn{NAA: intNumber(n >> 60), OUI: intNumber(n >> 36 & (1<<24 - 1)), ID: intNumber(n & (1<<36 - 1))}
	case "eui":
		rep.Namespaces = []nvmeNamespace{{ID: "1", EUI64: &eui64{OUI: intNumber(n >> 40), ID: intNumber(n & (1<<40 - 1))}}}
	}
}

// powerModeOf uses the values of the ATA command CHECK POWER MODE, and smartctl's words.
func powerModeOf(state string) *powerMode {
	switch state {
	case "active":
		return &powerMode{ATA: "255", Name: "ACTIVE or IDLE"}
	case "idle":
		return &powerMode{ATA: "128", Name: "IDLE"}
	case "standby":
		return &powerMode{ATA: "0", Name: "STANDBY"}
	case "sleep":
		return &powerMode{Name: "SLEEP"}
	}
	return nil
}

func attributesOf(list []Attribute) *attributes {
	if len(list) == 0 {
		return nil
	}
	a := &attributes{Table: make([]attribute, 0, len(list))}
	for _, x := range list {
		row := attribute{
			ID: intNumber(int(x.ID)), Name: x.Name, Value: known(x.Value), Worst: known(x.Worst), Thresh: known(x.Threshold),
			Raw: &attributeRaw{Value: intNumber(x.Raw), String: x.RawString},
		}
		if x.Flags != 0 {
			row.Flags = &attributeFlags{Value: intNumber(int(x.Flags))}
		}
		a.Table = append(a.Table, row)
	}
	return a
}

// known leaves out a normalised value that is unknown.
func known(v int) number {
	if v < 0 {
		return ""
	}
	return intNumber(v)
}

func statisticsOf(m map[Stat]uint64) *statistics {
	if len(m) == 0 {
		return nil
	}
	keys := make([]Stat, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b Stat) int {
		return cmp.Or(cmp.Compare(a.Page, b.Page), cmp.Compare(a.Offset, b.Offset))
	})
	s := &statistics{}
	for _, k := range keys {
		if n := len(s.Pages); n == 0 || s.Pages[n-1].Number != intNumber(int(k.Page)) {
			s.Pages = append(s.Pages, statisticsPage{Number: intNumber(int(k.Page))})
		}
		p := &s.Pages[len(s.Pages)-1]
		v := intNumber(m[k])
		if m[k] > math.MaxInt64 { // a negative value: temperatures are signed
			v = intNumber(int64(m[k]))
		}
		p.Table = append(p.Table, statistic{Offset: intNumber(int(k.Offset)), Name: statName(k), Value: v, Flags: statisticFlags{Valid: true}})
	}
	return s
}

// statName is the name that ACS-4 gives to the entries that matter here.
func statName(s Stat) string {
	switch s {
	case StatPowerOnHours:
		return "Power-on Hours"
	case StatSectorsWritten:
		return "Logical Sectors Written"
	case StatSectorsRead:
		return "Logical Sectors Read"
	case StatPercentageUsed:
		return "Percentage Used Endurance Indicator"
	}
	return ""
}

func (rep *report) putNVMe(l *NVMeLog) {
	rep.NVMe = &nvmeHealth{
		CriticalWarning: intNumber(int(l.CriticalWarning)),
		Temperature:     celsius(l.Temperature),
		Spare:           numberOf(l.AvailableSpare),
		SpareThreshold:  numberOf(l.SpareThreshold),
		PercentageUsed:  numberOf(l.PercentageUsed),
		UnitsRead:       numberOf(l.DataUnitsRead),
		UnitsWritten:    numberOf(l.DataUnitsWritten),
		HostReads:       numberOf(l.HostReads),
		HostWrites:      numberOf(l.HostWrites),
		BusyMinutes:     numberOf(l.BusyMinutes),
		PowerCycles:     numberOf(l.PowerCycles),
		PowerOnHours:    numberOf(l.PowerOnHours),
		UnsafeShutdowns: numberOf(l.UnsafeShutdowns),
		MediaErrors:     numberOf(l.MediaErrors),
		ErrorEntries:    numberOf(l.ErrorLogEntries),
		WarningMinutes:  numberOf(l.WarningTempMinutes),
		CriticalMinutes: numberOf(l.CriticalTempMinutes),
		Throttle1:       numberOf(l.ThrottleSeconds[0]),
		Throttle2:       numberOf(l.ThrottleSeconds[1]),
	}
	for _, k := range l.Sensors {
		s := number("") // null: no sensor
		if k != 0 {
			s = celsius(&k)
		}
		rep.NVMe.Sensors = append(rep.NVMe.Sensors, s)
	}
	if l.WarningTemp != nil || l.CriticalTemp != nil {
		rep.NVMeLimits = &nvmeLimits{Warning: celsius(l.WarningTemp), Critical: celsius(l.CriticalTemp)}
	}
}

// celsius is smartctl's conversion.
func celsius(k *int) number {
	if k == nil {
		return ""
	}
	return intNumber(*k - kelvin)
}

// putSCSI writes the uncorrected errors of both directions as those of reads: a Reading holds only their sum.
func (rep *report) putSCSI(l *SCSILog) {
	rep.SCSIUsed, rep.SCSIDefects = numberOf(l.PercentageUsed), numberOf(l.Defects)
	if l.TripC != nil {
		if rep.Temperature == nil {
			rep.Temperature = &temperature{}
		}
		rep.Temperature.DriveTrip = intNumber(*l.TripC)
	}
	if l.BytesRead == nil && l.BytesWritten == nil && l.Uncorrected == nil {
		return
	}
	rep.SCSIErrors = &scsiErrors{
		Read:  &scsiCounters{Gigabytes: gigabytesOf(l.BytesRead), Uncorrected: numberOf(l.Uncorrected)},
		Write: &scsiCounters{Gigabytes: gigabytesOf(l.BytesWritten)},
	}
}

// gigabytesOf moves the decimal point by nine digits in the shortest text that gives the same float64, so that nothing is
// rounded.
func gigabytesOf(bytes *float64) string {
	if bytes == nil || *bytes < 0 {
		return ""
	}
	whole, fraction, _ := strings.Cut(strconv.FormatFloat(*bytes, 'f', -1, 64), ".")
	if len(whole) < 10 {
		whole = strings.Repeat("0", 10-len(whole)) + whole
	}
	point := len(whole) - 9
	return whole[:point] + "." + whole[point:] + fraction
}

// putRest fills the extension with whatever the report would not give back as it is.
func (rep *report) putRest(r *Reading) {
	var e extension
	if !r.At.IsZero() {
		rep.LocalTime = &localTime{Unix: intNumber(r.At.Unix())}
		if !rep.time().Equal(r.At) {
			e.At = r.At.UTC().Format(time.RFC3339Nano)
		}
	}
	if r.PowerOnHours != nil {
		if back := rep.powerOnHours(); back == nil || *back != *r.PowerOnHours {
			e.PowerOnHours = floatNumber(*r.PowerOnHours)
		}
	}
	if back := rep.identity(r.Protocol); back != r.Identity {
		if back.WWN != r.Identity.WWN {
			e.WWN = r.Identity.WWN
		}
		if back.Transport != r.Identity.Transport {
			e.Transport = r.Identity.Transport
		}
		if back.Kernel != r.Identity.Kernel {
			e.Kernel = r.Identity.Kernel
		}
	}
	if m := r.MMC; m != nil {
		e.MMC = &mmcLife{TypeA: m.TypeA, TypeB: m.TypeB, PreEOL: m.PreEOL}
	}
	if e != (extension{}) {
		rep.Extension = &e
	}
}
