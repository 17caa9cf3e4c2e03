package smart

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The check functions say what reading each test disk must give, over fake and over real system calls.

func equal[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: (-want +got)\n%s", what, diff)
	}
}

func attributeOf(t *testing.T, r *Reading, id uint8) Attribute {
	t.Helper()
	i := slices.IndexFunc(r.Attributes, func(a Attribute) bool { return a.ID == id })
	if i < 0 {
		t.Fatalf("no attribute %d in %v", id, r.Attributes)
	}
	return r.Attributes[i]
}

func checkHG5d(t *testing.T, r *Reading) {
	t.Helper()
	equal(t, "protocol", r.Protocol, "ATA")
	equal(t, "model", r.Identity.Model, "TOSHIBA THNSNH128GMCT")
	equal(t, "serial", r.Identity.Serial, "53PS10G7TQKZ")
	equal(t, "firmware", r.Identity.Firmware, "HTLAN102")
	equal(t, "WWN", r.Identity.WWN, "naa.500080d910000001")
	equal(t, "capacity", r.Capacity, int64(128035676160))
	equal(t, "block size", r.BlockSize, 512)
	equal(t, "rotation", r.RotationRate, new(0))
	equal(t, "attribute 173", attributeOf(t, r, 173), Attribute{ID: 173, Value: 180, Worst: 180, Threshold: 100, Flags: 0x33})
	equal(t, "attribute 241", attributeOf(t, r, 241).Raw, uint64(316955))
	equal(t, "statistics", r.Statistics, map[Stat]uint64{StatPowerOnHours: 21345, StatSectorsWritten: 20771935451, StatPercentageUsed: 20})
	equal(t, "verdict", r.Passed, new(true))
	equal(t, "hours", r.PowerOnHours, new(21345.0))
	equal(t, "cycles", r.PowerCycles, new(uint64(977)))
	equal(t, "temperature", r.TemperatureC, new(35.0)) // the low byte of attribute 194
	equal(t, "messages", r.Messages, []string(nil))
}

func checkIntel520(t *testing.T, r *Reading) {
	t.Helper()
	equal(t, "firmware", r.Identity.Firmware, "400i")
	equal(t, "attribute 233 behind the hole", attributeOf(t, r, 233).Value, 74)
	equal(t, "number of attributes", len(r.Attributes), 3)
	equal(t, "raw of attribute 9", attributeOf(t, r, 9).Raw, uint64(0x000a000e1b2c))
	equal(t, "statistics from the general purpose log", r.Statistics, map[Stat]uint64{StatPercentageUsed: 255})
	equal(t, "temperature", r.TemperatureC, (*float64)(nil))
	equal(t, "cycles", r.PowerCycles, (*uint64)(nil))
}

func checkSamsung(t *testing.T, r *Reading) {
	t.Helper()
	equal(t, "attribute 177", attributeOf(t, r, 177), Attribute{ID: 177, Value: 81, Worst: 81, Threshold: 0, Raw: 1140, Flags: 0x13})
	equal(t, "threshold of attribute 5", attributeOf(t, r, 5).Threshold, 10)
	equal(t, "statistics", len(r.Statistics), 0)
	equal(t, "temperature from SCT", r.TemperatureC, new(31.0))
	equal(t, "messages", r.Messages, []string(nil))
}

func checkNVMe(t *testing.T, r *Reading) {
	t.Helper()
	equal(t, "protocol", r.Protocol, "NVMe")
	equal(t, "model", r.Identity.Model, "Micron_7300_MTFDHBE960TDF")
	equal(t, "serial", r.Identity.Serial, "20152A5E0001")
	equal(t, "firmware", r.Identity.Firmware, "95420260")
	equal(t, "capacity", r.Capacity, int64(960197124096))
	zero := new(uint64(0))
	equal(t, "log", r.NVMe, &NVMeLog{
		Temperature: new(299), AvailableSpare: new(100), SpareThreshold: new(10), PercentageUsed: new(3),
		DataUnitsRead: new(uint64(1000001)), DataUnitsWritten: new(uint64(2000002)), HostReads: zero, HostWrites: zero, BusyMinutes: zero,
		PowerCycles: new(uint64(41)), PowerOnHours: new(uint64(9876)), UnsafeShutdowns: new(uint64(17)), MediaErrors: zero, ErrorLogEntries: zero,
		WarningTempMinutes: zero, CriticalTempMinutes: zero, Sensors: []int{308, 0, 301}, WarningTemp: new(343), CriticalTemp: new(358),
	})
	equal(t, "verdict", r.Passed, new(true))
	equal(t, "temperature", r.TemperatureC, new(26.0))
	equal(t, "hours", r.PowerOnHours, new(9876.0))
}

func checkSAS(t *testing.T, r *Reading) {
	t.Helper()
	equal(t, "protocol", r.Protocol, "SCSI")
	equal(t, "model", r.Identity.Model, "TOSHIBA PX05SVB080Y")
	equal(t, "serial", r.Identity.Serial, "5850A0CNT4BA")
	equal(t, "firmware", r.Identity.Firmware, "A3AF")
	equal(t, "WWN", r.Identity.WWN, "naa.50000397cc880001")
	equal(t, "capacity", r.Capacity, int64(800166076416))
	equal(t, "rotation", r.RotationRate, new(0))
	equal(t, "power state", r.PowerState, "active")
	equal(t, "log", r.SCSI, &SCSILog{
		PercentageUsed: new(7), BytesWritten: new(float64(0x123456789abc)), BytesRead: new(256.0),
		Uncorrected: new(uint64(3)), TripC: new(65),
	})
	equal(t, "temperature", r.TemperatureC, new(34.0))
	equal(t, "hours", r.PowerOnHours, new(60.0))
	equal(t, "verdict", r.Passed, new(true))
}

func checkStandby(t *testing.T, r *Reading) {
	t.Helper()
	equal(t, "power state", r.PowerState, "standby")
	if r.Attributes != nil || r.Statistics != nil || r.Passed != nil || r.TemperatureC != nil || r.PowerOnHours != nil {
		t.Errorf("more than the power state: %s", show(r))
	}
}
