package smart

import (
	"context"
	"time"

	"ssd_exporter/blockdev"
)

// Reading is what one disk said at one moment, uninterpreted. Nil and missing mean: not read.
type Reading struct {
	At        time.Time // when the disk was read; zero unknown
	Source    string    // "native", "smartctl", "file:/path"
	Protocol  string    // "ATA", "NVMe", "SCSI", "MMC"; "" unknown
	Identity  blockdev.Identity
	DBFamily  string // smartctl's model_family, when it printed one
	Capacity  int64  // bytes; 0 unknown
	BlockSize int    // logical, bytes; 0 unknown

	RotationRate *int   // rpm; 0 is an SSD; nil not said
	Passed       *bool  // the drive's own verdict (SMART RETURN STATUS, critical warning)
	PowerState   string // "active", "idle", "standby", "sleep"; "" unknown
	PowerOnHours *float64
	PowerCycles  *uint64
	TemperatureC *float64 // the current one, as the reader found it

	Attributes []Attribute     // ATA, in the drive's order
	Statistics map[Stat]uint64 // ATA Device Statistics: only supported and valid entries
	NVMe       *NVMeLog        // log 0x02
	SCSI       *SCSILog
	MMC        *MMCLife
	Messages   []string // what the reader had to say: smartctl messages, failed pages
}

// Attribute is one ATA S.M.A.R.T. attribute.
type Attribute struct {
	ID                      uint8
	Name                    string // smartctl's name, or ""
	Value, Worst, Threshold int    // normalised, 0..255; -1 unknown
	Raw                     uint64 // the six raw bytes, little endian
	RawString               string // as smartctl printed it; "" when read natively
	Flags                   uint16
}

// Stat addresses one entry of the ATA Device Statistics log: page and byte offset.
type Stat struct{ Page, Offset uint16 }

// Entries of the ATA Device Statistics log (ACS-4, 9.5).
var (
	StatSectorsWritten = Stat{1, 0x18} // Logical Sectors Written
	StatSectorsRead    = Stat{1, 0x28} // Logical Sectors Read
	StatPowerOnHours   = Stat{1, 0x10}
	StatPercentageUsed = Stat{7, 0x08} // Percentage Used Endurance Indicator
)

// NVMeLog is the SMART / Health Information log page 0x02 (NVMe base specification), with its units kept. Counters are
// saturated to 64 bits.
type NVMeLog struct {
	CriticalWarning           uint8
	Temperature               *int    // Kelvin; nil when 0 or not said
	AvailableSpare            *int    // percent
	SpareThreshold            *int    // percent
	PercentageUsed            *int    // 0..255, 255 means 255 or more
	DataUnitsRead             *uint64 // 1,000 × 512 bytes; 0 is "not reported"
	DataUnitsWritten          *uint64
	HostReads, HostWrites     *uint64
	BusyMinutes               *uint64
	PowerCycles               *uint64
	PowerOnHours              *uint64
	UnsafeShutdowns           *uint64
	MediaErrors               *uint64
	ErrorLogEntries           *uint64
	WarningTempMinutes        *uint64
	CriticalTempMinutes       *uint64
	Sensors                   []int      // Kelvin; 0 is none
	ThrottleSeconds           [2]*uint64 // thermal management temperature 1 and 2
	WarningTemp, CriticalTemp *int       // Kelvin, from Identify Controller (WCTEMP, CCTEMP)
}

// SCSILog is what the SCSI log pages said.
type SCSILog struct {
	PercentageUsed *int     // page 0x11
	BytesWritten   *float64 // page 0x02, bytes
	BytesRead      *float64 // page 0x03
	Uncorrected    *uint64  // read and write
	TripC          *int     // page 0x0d reference temperature
	Defects        *uint64  // grown defect list
}

// MMCLife is the health of an eMMC from sysfs (JEDEC eMMC 5.0, EXT_CSD 267..269).
type MMCLife struct {
	TypeA, TypeB uint8 // 0x01 is 0..10 % used … 0x0A 90..100 %, 0x0B exceeded, 0 undefined
	PreEOL       uint8 // 1 normal, 2 warning, 3 urgent, 0 undefined
}

// Wear is the consumption of rated endurance: 0 new, 1 rated life used up, beyond is real.
type Wear struct {
	Used       *float64           // the chosen figure
	Source     string             // where the chosen figure comes from: a key of Sources
	LowerBound bool               // the true figure is at least this: an attribute at its floor, a saturated byte
	Sources    map[string]float64 // every source that says something, believed or not
	Note       string             // why, when it is not obvious
}

// Health is what a Reading means. Nil is unknown. Times are durations, temperatures degrees Celsius, bytes bytes.
type Health struct {
	At       time.Time
	Source   string
	Protocol string
	Identity blockdev.Identity
	Family   string // wear family, or "unknown", "NVMe", "hard disk", …
	Capacity int64  // bytes; 0 unknown

	Wear               Wear
	HostWritten        *uint64 // bytes
	HostRead           *uint64
	MediaWritten       *uint64
	HostWrittenSource  string   // for people: "attribute 241 × 32 MiB, proven by device statistics"
	WriteAmplification *float64 // media / host over the drive's life; only from 1 GiB host bytes on

	Rotational      *bool
	Healthy         *bool
	Critical        map[string]bool // by kind: "spare", "temperature", "reliability", "read_only", "volatile_backup", "pmr"
	SpareAvailable  *float64        // ratio
	SpareThreshold  *float64
	MediaErrors     *uint64
	Reallocated     *uint64 // blocks or sectors, as the drive counts
	ProgramFailures *uint64
	EraseFailures   *uint64
	PendingSectors  *uint64

	Temperatures      map[string]float64 // by sensor: "composite", "1", "2"
	TemperatureLimits map[string]float64 // by limit: "warning", "critical"
	ThrottleSeconds   map[string]uint64  // by level: "1", "2", "warning", "critical"
	PowerOn           *time.Duration
	PowerCycles       *uint64
	UnsafeShutdowns   *uint64
	PowerState        string

	Attributes []Attribute // for the opt-in metrics
	Errors     []string    // what could not be understood
}

// Reason is why a disk could not be read; a closed set, the values of the label of ssd_smart_read_failures_total.
type Reason string

// Reasons.
const (
	Permission  Reason = "permission"
	Timeout     Reason = "timeout"
	Unsupported Reason = "unsupported" // no S.M.A.R.T.: virtual disks, card readers
	IO          Reason = "io"
	Parse       Reason = "parse"
	Stale       Reason = "stale" // the file is too old
	Other       Reason = "other"
)

// Reasons lists the closed set in a fixed order.
func Reasons() []Reason {
	return []Reason{Permission, Timeout, Unsupported, IO, Parse, Stale, Other}
}

// ReadError says which disk could not be read, why, and what to do.
type ReadError struct {
	Disk   string // device path or file
	Reason Reason
	Fix    string // may be empty
	Err    error
}

// Reader reads one disk. It returns a *ReadError when it cannot.
type Reader interface {
	Read(ctx context.Context, d blockdev.Disk) (*Reading, error)
}
