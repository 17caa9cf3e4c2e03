package smart

import (
	"fmt"
	"strings"
	"time"
)

// Families of drives that have no row in the family table.
const (
	familyUnknown  = "unknown"
	familyHardDisk = "hard disk"
	familyNVMe     = "NVMe"
	familySAS      = "SAS"
	familyMMC      = "eMMC"
	familyVirtual  = "virtual disk"
)

// virtualModels are disks that exist in software. What they say of their health is made up or zero.
var virtualModels = re(`^(QEMU|VBOX|ORCL-VBOX|VMware|Virtual|VIRTUAL-DISK|VirtIO|Msft Virtual|Amazon Elastic Block Store|PROPOLIS|nvme_card-pd)`)

// Interpret says what a Reading means. It does no I/O and never fails: what is unknown is nil, and what could not be
// understood is in Health.Errors. The Health shares the Reading's Attributes; neither may be changed afterwards.
func Interpret(r *Reading) *Health {
	h := &Health{
		At:         r.At,
		Source:     r.Source,
		Protocol:   r.Protocol,
		Identity:   r.Identity,
		Family:     familyUnknown,
		Capacity:   r.Capacity,
		PowerState: r.PowerState,
		Attributes: r.Attributes,
		Healthy:    r.Passed,
	}
	for _, m := range r.Messages {
		if strings.HasPrefix(m, oddField) {
			h.Errors = append(h.Errors, m)
		}
	}
	switch {
	case virtualModels.MatchString(r.Identity.Model):
		h.Family, h.Healthy = familyVirtual, nil
	case r.NVMe != nil:
		h.fromNVMe(r)
	case r.MMC != nil:
		h.fromMMC(r)
	case r.SCSI != nil || r.Protocol == protocolSCSI && len(r.Attributes) == 0:
		h.fromSCSI(r)
	default:
		h.fromATA(r)
	}
	h.amplify()
	return h
}

// rotational is the medium as far as the drive says; nil when it does not.
func rotational(r *Reading) *bool {
	if r.RotationRate == nil {
		return nil
	}
	spins := *r.RotationRate > 0
	return &spins
}

// leastHostBytes is what a write amplification needs to mean anything: an idle drive's own housekeeping is 928 times what
// its host wrote on one drive in twenty.
const leastHostBytes = 1 << 30

func (h *Health) amplify() {
	if h.MediaWritten == nil || h.HostWritten == nil || *h.HostWritten < leastHostBytes {
		return
	}
	ratio := float64(*h.MediaWritten) / float64(*h.HostWritten)
	h.WriteAmplification = &ratio
}

// fromNVMe interprets log page 02h.
func (h *Health) fromNVMe(r *Reading) {
	l := r.NVMe
	h.Family = familyNVMe
	h.Rotational = new(false)
	if why := impossible(l); why != "" {
		h.Errors = append(h.Errors, "NVMe SMART log rejected: "+why)
		h.Healthy = nil
		return
	}
	h.Wear = nvmeWear(l)
	h.HostWritten = dataUnits(l.DataUnitsWritten)
	h.HostRead = dataUnits(l.DataUnitsRead)
	if h.HostWritten != nil {
		h.HostWrittenSource = "NVMe data units × 512,000 B"
	}
	h.critical(l)
	h.SpareAvailable, h.SpareThreshold = percent(l.AvailableSpare), percent(l.SpareThreshold)
	h.MediaErrors = counted(l.MediaErrors)
	h.PowerCycles = counted(l.PowerCycles)
	h.UnsafeShutdowns = counted(l.UnsafeShutdowns)
	if l.PowerOnHours != nil {
		h.PowerOn = powerOn(float64(*l.PowerOnHours))
	}
	if h.PowerOn == nil && r.PowerOnHours != nil {
		h.PowerOn = powerOn(*r.PowerOnHours)
	}
	h.nvmeTemperatures(r)
}

// impossible says why a log cannot be true. A failing controller returns meaningless bytes, a failed command and a virtual
// disk zeros; all of them would otherwise read as "0 % used".
func impossible(l *NVMeLog) string {
	zero := func(v *uint64) bool { return v != nil && *v == 0 }
	switch {
	case l.AvailableSpare != nil && *l.AvailableSpare > 100:
		return fmt.Sprintf("available spare of %d %%", *l.AvailableSpare)
	case l.PercentageUsed != nil && *l.PercentageUsed > saturated:
		return fmt.Sprintf("percentage used of %d %%, above what its byte can hold", *l.PercentageUsed)
	case l.Temperature == nil && zero(l.PowerOnHours) && zero(l.DataUnitsWritten) && (l.PercentageUsed == nil || *l.PercentageUsed == 0):
		return "temperature, hours and data units are all 0, as in a failed command or a virtual disk"
	}
	return ""
}

// criticalKinds names the bits of the critical warning byte that are defined (NVMe base specification, log page 02h, byte 0).
func criticalKinds() [6]string {
	return [...]string{"spare", "temperature", "reliability", "read_only", "volatile_backup", "pmr"}
}

// reliabilityBit is set by many drives for no other reason than that their rated endurance is used up.
const reliabilityBit = 1 << 2

func (h *Health) critical(l *NVMeLog) {
	kinds := criticalKinds()
	h.Critical = make(map[string]bool, len(kinds))
	for bit, kind := range kinds {
		h.Critical[kind] = l.CriticalWarning&(1<<bit) != 0
	}
	defined := l.CriticalWarning & (1<<len(kinds) - 1)
	if h.Healthy == nil {
		h.Healthy = new(defined == 0)
	}
	if defined == reliabilityBit && l.PercentageUsed != nil && *l.PercentageUsed >= 100 {
		h.Wear.note("the reliability warning means that the rated endurance is used up, not that the drive fails")
	}
}

// fromMMC interprets the life time estimates of an eMMC.
func (h *Health) fromMMC(r *Reading) {
	h.Family = familyMMC
	h.Rotational = new(false)
	h.Wear = mmcWear(r.MMC)
	if p := r.MMC.PreEOL; p >= 1 && p <= 3 { // 1 normal, 2 warning: 80 % of the reserved blocks are used, 3 urgent
		h.Critical = map[string]bool{"spare": p >= 2}
		if h.Healthy == nil {
			h.Healthy = new(p < 3)
		}
	}
	h.common(r)
}

// fromSCSI interprets log pages.
func (h *Health) fromSCSI(r *Reading) {
	h.Rotational = rotational(r)
	spins := h.Rotational != nil && *h.Rotational
	if spins {
		h.Family = familyHardDisk
	}
	if l := r.SCSI; l != nil {
		if l.PercentageUsed != nil && !spins {
			h.Family = familySAS
			h.Rotational = new(false) // only solid state media have the page
			h.Wear = scsiWear(l)
		}
		h.HostWritten, h.HostRead = wholeBytes(l.BytesWritten), wholeBytes(l.BytesRead)
		if h.HostWritten != nil {
			h.HostWrittenSource = "SCSI error counter log"
		}
		h.MediaErrors, h.Reallocated = counted(l.Uncorrected), counted(l.Defects)
		if t := l.TripC; t != nil && plausible(float64(*t)) && *t > 0 {
			h.TemperatureLimits = map[string]float64{"critical": float64(*t)}
		}
	}
	h.common(r)
}

// common takes what a reader found outside of the logs.
func (h *Health) common(r *Reading) {
	h.PowerCycles = counted(r.PowerCycles)
	if r.PowerOnHours != nil {
		h.PowerOn = powerOn(*r.PowerOnHours)
	}
	if t := r.TemperatureC; t != nil && plausible(*t) && *t != 0 { // 0 is what a volume without a sensor says
		h.Temperatures = map[string]float64{"composite": *t}
	}
}

// databaseSSD matches the family names of smartctl's drive database that say so.
var databaseSSD = re(`\bSSDs?\b`)

// fromATA interprets attributes and Device Statistics.
func (h *Health) fromATA(r *Reading) {
	h.Rotational = rotational(r)
	if h.Rotational != nil && *h.Rotational {
		h.Family = familyHardDisk
		h.ataCounts(counts{reallocated: 5, media: 187, pending: 197}, r) // all hard disks agree on these
		h.ataVitals(r)
		return
	}
	f := familyOf(r)
	// A family is proof of an SSD: its patterns match nothing else. Without one the drive or smartctl must have said so.
	if f == nil && h.Rotational == nil && !databaseSSD.MatchString(r.DBFamily) {
		h.ataVitals(r)
		return
	}
	h.Rotational = new(false)
	var c counts
	if f != nil {
		h.Family = f.name
		c = f.counts
		h.ataSpare(f.spare, r)
	}
	h.Wear = ataWear(f, r)
	h.ataBytes(f, r)
	h.ataCounts(c, r)
	h.ataVitals(r)
}

func (h *Health) ataBytes(f *family, r *Reading) {
	written := hostWritten(f, r)
	if written != nil {
		h.HostWritten, h.HostWrittenSource = &written.bytes, written.source
		h.MediaWritten = mediaWritten(f, r, written.bytes)
	}
	if read := hostRead(f, r, written); read != nil {
		h.HostRead = &read.bytes
	}
}

// maxPowerOnHours is thirty years, longer than there have been SSDs. Intel 520 and 330 drives say 900,000 hours.
const maxPowerOnHours = 262_800

func powerOn(hours float64) *time.Duration {
	if hours < 0 || hours > maxPowerOnHours {
		return nil
	}
	d := time.Duration(hours * float64(time.Hour)).Round(time.Second)
	return &d
}
