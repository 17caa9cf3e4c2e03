package smart

import (
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"
)

// Values of Reading.Protocol.
const (
	protocolATA  = "ATA"
	protocolNVMe = "NVMe"
	protocolSCSI = "SCSI"
	protocolMMC  = "MMC"
)

// kelvin is what smartctl adds to the Celsius that it prints to get the Kelvin that an NVMe drive says. It is not 273.15.
const kelvin = 273

// hasData says whether anything was read beyond the identity.
func (r *Reading) hasData() bool {
	return len(r.Attributes) > 0 || len(r.Statistics) > 0 || r.NVMe != nil || r.SCSI != nil || r.MMC != nil ||
		r.Passed != nil || r.TemperatureC != nil || r.PowerOnHours != nil
}

// reading moves a report into a Reading, without interpreting it.
func (rep *report) reading() *Reading {
	r := &Reading{
		Protocol:    rep.protocol(),
		DBFamily:    rep.ModelFamily,
		PowerCycles: rep.PowerCycles.uint(),
	}
	r.At = rep.time()
	r.Identity = rep.identity(r.Protocol)
	for _, n := range []number{rep.TotalCapacity, rep.UserCapacity.bytes()} {
		if c := n.uint(); c != nil && *c > 0 && *c < 1<<62 {
			r.Capacity = int64(*c)
			break
		}
	}
	if r.Capacity == 0 && len(rep.Namespaces) == 1 {
		if c := rep.Namespaces[0].Size.bytes().uint(); c != nil && *c < 1<<62 {
			r.Capacity = int64(*c)
		}
	}
	if b := rep.LogicalBlock.int(); b != nil && *b > 0 {
		r.BlockSize = *b
	}
	if rpm := rep.RotationRate.int(); rpm != nil && *rpm >= 0 {
		r.RotationRate = rpm
	}
	if rep.Status != nil {
		r.Passed = rep.Status.Passed
	}
	r.PowerState = rep.PowerMode.state()
	if rep.Temperature != nil {
		r.TemperatureC = rep.Temperature.Current.float()
	}
	r.PowerOnHours = rep.powerOnHours()
	r.Attributes = rep.Attributes.list()
	r.Statistics = rep.Statistics.entries()
	r.NVMe = rep.nvme()
	if r.Protocol == protocolSCSI {
		r.SCSI = rep.scsi()
	}
	if e := rep.Extension; e != nil && e.MMC != nil {
		r.MMC = &MMCLife{TypeA: e.MMC.TypeA, TypeB: e.MMC.TypeB, PreEOL: e.MMC.PreEOL}
	}
	r.Messages = rep.messages()
	return r
}

func (rep *report) protocol() string {
	switch {
	case rep.Device != nil && rep.Device.Protocol != "":
		return rep.Device.Protocol
	case rep.NVMe != nil:
		return protocolNVMe
	case rep.Attributes != nil || rep.Statistics != nil:
		return protocolATA
	case rep.SCSIUsed != "" || rep.SCSIErrors != nil || rep.SCSIDefects != "":
		return protocolSCSI
	}
	return ""
}

func (rep *report) time() time.Time {
	if e := rep.Extension; e != nil && e.At != "" {
		if t, err := time.Parse(time.RFC3339Nano, e.At); err == nil {
			return t.UTC()
		}
	}
	if rep.LocalTime != nil {
		if s := rep.LocalTime.Unix.uint(); s != nil && *s > 0 && *s < 1<<40 {
			return time.Unix(int64(*s), 0).UTC()
		}
	}
	return time.Time{}
}

// transport names the bus as far as the report tells.
func (rep *report) transport(protocol string) string {
	switch protocol {
	case protocolATA:
		return "sata"
	case protocolNVMe:
		return "nvme"
	case protocolMMC:
		return "mmc"
	case protocolSCSI:
		if rep.Transport != nil && strings.HasPrefix(rep.Transport.Name, "SAS") {
			return "sas"
		}
	}
	return ""
}

// kernelName is the name of the disk in the kernel. Several disks behind one RAID controller share a device node, so the
// type that tells them apart ("megaraid,3") stays with it.
func kernelName(device, typ string) string {
	if device == "" {
		return ""
	}
	name := strings.TrimPrefix(device, "/dev/")
	if strings.HasPrefix(device, "/") && name == device {
		name = path.Base(device)
	}
	if _, n, ok := strings.Cut(typ, ","); ok && n != "" {
		return name + ";" + typ
	}
	return name
}

// wwn is the worldwide name as the kernel spells it: naa. and eui. with 16 hexadecimal digits.
func (rep *report) wwn() string {
	if w := rep.WWN; w != nil {
		if n := w.NAA.bits()<<60 | w.OUI.bits()<<36 | w.ID.bits(); n != 0 {
			return fmt.Sprintf("naa.%016x", n)
		}
	}
	if len(rep.Namespaces) > 0 && rep.Namespaces[0].EUI64 != nil {
		e := rep.Namespaces[0].EUI64
		if n := e.OUI.bits()<<40 | e.ID.bits(); n != 0 {
			return fmt.Sprintf("eui.%016x", n)
		}
	}
	if hex, ok := strings.CutPrefix(strings.ToLower(rep.LogicalUnit), "0x"); ok && len(hex) == 16 {
		if n, err := strconv.ParseUint(hex, 16, 64); err == nil && n != 0 {
			return "naa." + hex
		}
	}
	return ""
}

func (b *bytesOf) bytes() number {
	if b == nil {
		return ""
	}
	return b.Bytes
}

func (p *powerMode) state() string {
	if p == nil {
		return ""
	}
	name := strings.ToUpper(p.Name)
	switch {
	case strings.Contains(name, "STANDBY"):
		return "standby"
	case strings.Contains(name, "SLEEP"):
		return "sleep"
	case strings.Contains(name, "ACTIVE"):
		return "active"
	case strings.Contains(name, "IDLE"):
		return "idle"
	}
	return ""
}

func (rep *report) powerOnHours() *float64 {
	if e := rep.Extension; e != nil && e.PowerOnHours != "" {
		return e.PowerOnHours.float()
	}
	if rep.PowerOnTime == nil {
		return nil
	}
	h := rep.PowerOnTime.Hours.float()
	if h == nil || *h < 0 {
		return nil
	}
	if m := rep.PowerOnTime.Minutes.float(); m != nil {
		*h += *m / 60
	}
	return h
}

func (a *attributes) list() []Attribute {
	if a == nil {
		return nil
	}
	var list []Attribute
	for _, row := range a.Table {
		id := row.ID.int()
		if id == nil || *id < 1 || *id > 255 {
			continue
		}
		x := Attribute{ID: uint8(*id), Name: row.Name, Value: normalised(row.Value), Worst: normalised(row.Worst), Threshold: normalised(row.Thresh)}
		if row.Flags != nil {
			x.Flags = uint16(row.Flags.Value.bits())
		}
		if row.Raw != nil {
			x.Raw, x.RawString = row.Raw.Value.bits()&(1<<48-1), row.Raw.String
		}
		list = append(list, x)
	}
	return list
}

// normalised is -1 when unknown.
func normalised(n number) int {
	if v := n.int(); v != nil && *v >= 0 && *v <= 255 {
		return *v
	}
	return -1
}

func (s *statistics) entries() map[Stat]uint64 {
	if s == nil {
		return nil
	}
	m := map[Stat]uint64{}
	for _, p := range s.Pages {
		page := p.Number.int()
		if page == nil || *page < 0 || *page > 255 {
			continue
		}
		for _, e := range p.Table {
			off := e.Offset.int()
			if e.Flags.Valid && e.Value != "" && off != nil && *off >= 0 && *off < 512 {
				m[Stat{uint16(*page), uint16(*off)}] = e.Value.bits()
			}
		}
	}
	if len(m) == 0 {
		return nil
	}
	return m
}

func (rep *report) nvme() *NVMeLog {
	if rep.NVMe == nil {
		return nil
	}
	l := rep.NVMe.log()
	l.Temperature = fromCelsius(rep.NVMe.Temperature)
	for _, s := range rep.NVMe.Sensors {
		k := 0
		if p := fromCelsius(s); p != nil {
			k = *p
		}
		l.Sensors = append(l.Sensors, k)
	}
	if t := rep.NVMeLimits; t != nil {
		l.WarningTemp, l.CriticalTemp = fromCelsius(t.Warning), fromCelsius(t.Critical)
	}
	return l
}

// log moves everything but the temperatures, whose unit is not the same everywhere.
func (n nvmeHealth) log() *NVMeLog {
	return &NVMeLog{
		CriticalWarning:     uint8(n.CriticalWarning.bits()),
		AvailableSpare:      n.Spare.int(),
		SpareThreshold:      n.SpareThreshold.int(),
		PercentageUsed:      n.PercentageUsed.int(),
		DataUnitsRead:       n.UnitsRead.uint(),
		DataUnitsWritten:    n.UnitsWritten.uint(),
		HostReads:           n.HostReads.uint(),
		HostWrites:          n.HostWrites.uint(),
		BusyMinutes:         n.BusyMinutes.uint(),
		PowerCycles:         n.PowerCycles.uint(),
		PowerOnHours:        n.PowerOnHours.uint(),
		UnsafeShutdowns:     n.UnsafeShutdowns.uint(),
		MediaErrors:         n.MediaErrors.uint(),
		ErrorLogEntries:     n.ErrorEntries.uint(),
		WarningTempMinutes:  n.WarningMinutes.uint(),
		CriticalTempMinutes: n.CriticalMinutes.uint(),
		ThrottleSeconds:     [2]*uint64{n.Throttle1.uint(), n.Throttle2.uint()},
	}
}

// fromCelsius undoes smartctl's conversion; nil for 0 K, which means "no sensor".
func fromCelsius(n number) *int {
	c := n.int()
	if c == nil || *c <= -kelvin {
		return nil
	}
	k := *c + kelvin
	return &k
}

func (rep *report) scsi() *SCSILog {
	l := &SCSILog{PercentageUsed: rep.SCSIUsed.int(), Defects: rep.SCSIDefects.uint()}
	if rep.Temperature != nil {
		l.TripC = rep.Temperature.DriveTrip.int()
	}
	if e := rep.SCSIErrors; e != nil {
		if e.Write != nil {
			l.BytesWritten = gigabytes(e.Write.Gigabytes)
			l.Uncorrected = e.Write.Uncorrected.uint()
		}
		if e.Read != nil {
			l.BytesRead = gigabytes(e.Read.Gigabytes)
			if u := e.Read.Uncorrected.uint(); u != nil {
				if l.Uncorrected != nil {
					*u += *l.Uncorrected
				}
				l.Uncorrected = u
			}
		}
	}
	if *l == (SCSILog{}) {
		return nil
	}
	return l
}

// gigabytes reads "132824.923", units of 10^9 bytes, without rounding twice.
func gigabytes(s string) *float64 {
	s = strings.TrimSpace(s)
	if s == "" || strings.ContainsAny(s, "eExXpPnN_") {
		return nil
	}
	f, err := strconv.ParseFloat(s+"e9", 64)
	if err != nil || f < 0 {
		return nil
	}
	return &f
}

// messages are smartctl's own, and the findings of its exit status.
func (rep *report) messages() []string {
	if rep.Smartctl == nil {
		return nil
	}
	var list []string
	for _, m := range rep.Smartctl.Messages {
		if s := strings.TrimSpace(m.String); s != "" {
			list = append(list, s)
		}
	}
	if status := rep.Smartctl.ExitStatus.uint(); status != nil {
		for bit, text := range exitFindings() {
			if text != "" && *status&(1<<bit) != 0 {
				list = append(list, fmt.Sprintf("smartctl exit status bit %d: %s", bit, text))
			}
		}
	}
	return list
}
