package smart

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"

	drive "github.com/anatol/smart.go"

	"ssd_exporter/blockdev"
)

// NVMe admin commands that are sent (NVMe base specification 2.0, figure 138), and the one log page.
const (
	nvmeGetLogPage    = 0x02
	nvmeIdentify      = 0x06
	nvmeCNSController = 0x01
	nvmeLogSMART      = 0x02
	nvmeAllNamespaces = 0xffffffff // the log of the controller: some disks refuse it for a single namespace

	nvmeIdentifyBytes = 4096
	nvmeSMARTBytes    = 512
)

// readNVMe fills r with two commands, Identify Controller and Get Log Page 02h, however many namespaces there are.
func readNVMe(ctx context.Context, c commander, d blockdev.Disk, r *Reading) error {
	r.Protocol = "NVMe"
	page := make([]byte, nvmeIdentifyBytes)
	if err := c.nvme(ctx, "Identify Controller", nvmeCommand{opcode: nvmeIdentify, cdw10: nvmeCNSController}, page); err != nil {
		return err
	}
	id, err := parseNVMeIdentify(page)
	if err != nil {
		return err
	}
	id.fill(r)
	log := make([]byte, nvmeSMARTBytes)
	// CDW10: 7:0 log page, 31:16 number of dwords less one.
	cmd := nvmeCommand{opcode: nvmeGetLogPage, nsid: nvmeAllNamespaces, cdw10: nvmeLogSMART | (nvmeSMARTBytes/4-1)<<16}
	if err := c.nvme(ctx, "Get Log Page 02h", cmd, log); err != nil {
		return err
	}
	health, err := parseNVMeLog(log)
	if err != nil {
		if id.virtual {
			return fmt.Errorf("%w: a virtual disk (%s), whose host keeps the figures", errUnsupported, id.model)
		}
		return err
	}
	if id.throttles == 0 && health.ThrottleSeconds[0] != nil && *health.ThrottleSeconds[0] == 0 && *health.ThrottleSeconds[1] == 0 {
		health.ThrottleSeconds = [2]*uint64{} // the controller does not count them
	}
	health.WarningTemp, health.CriticalTemp = id.warning, id.critical
	r.NVMe = health
	r.Passed = new(health.CriticalWarning&nvmeDefinedWarnings == 0)
	if health.PowerOnHours != nil {
		r.PowerOnHours = new(float64(*health.PowerOnHours))
	}
	r.PowerCycles = health.PowerCycles
	if health.Temperature != nil {
		r.TemperatureC = new(float64(*health.Temperature) - kelvin)
	}
	return nil
}

// nvmeDefinedWarnings are the bits of critical warning that have a meaning: spare, temperature, reliability, read-only,
// volatile backup, persistent memory.
const nvmeDefinedWarnings = 0x3f

// nvmeIdentity is what Identify Controller says.
type nvmeIdentity struct {
	model, serial, firmware string
	capacity                int64
	warning, critical       *int // Kelvin
	throttles               uint16
	virtual                 bool
}

// parseNVMeIdentify reads the Identify Controller data structure (NVMe base specification 2.0, figure 275).
func parseNVMeIdentify(page []byte) (nvmeIdentity, error) {
	if len(page) < nvmeIdentifyBytes {
		return nvmeIdentity{}, fmt.Errorf("Identify Controller: %w: %d bytes", errParse, len(page))
	}
	var raw drive.NvmeIdentController
	if _, err := binary.Decode(page, binary.LittleEndian, &raw); err != nil {
		return nvmeIdentity{}, fmt.Errorf("Identify Controller: %w: %w", errParse, err)
	}
	id := nvmeIdentity{
		model: clean(raw.ModelNumber()), serial: clean(raw.SerialNumber()), firmware: clean(raw.FirmwareRev()),
		throttles: raw.Hctma & 1, virtual: virtualVendor(raw.VendorID),
	}
	if id.model == "" && id.serial == "" {
		return nvmeIdentity{}, fmt.Errorf("Identify Controller: %w: neither model nor serial number", errParse)
	}
	if total := raw.Tnvmcap; total.Val[1] == 0 && total.Val[0] <= math.MaxInt64 {
		id.capacity = int64(total.Val[0])
	}
	id.warning, id.critical = temperatureLimit(raw.Wctemp), temperatureLimit(raw.Cctemp)
	return id, nil
}

func (id nvmeIdentity) fill(r *Reading) {
	if id.model != "" {
		r.Identity.Model = id.model
	}
	if id.serial != "" {
		r.Identity.Serial = id.serial
	}
	if id.firmware != "" {
		r.Identity.Firmware = id.firmware
	}
	if id.capacity > 0 {
		r.Capacity = id.capacity
	}
}

// virtualVendor knows the PCI vendors whose controllers exist in software only: Red Hat and QEMU, VMware, VirtualBox,
// Microsoft, Amazon, Google, Oxide.
func virtualVendor(id uint16) bool {
	switch id {
	case 0x1b36, 0x1af4, 0x15ad, 0x80ee, 0x1414, 0x1d0f, 0x1ae0, 0x01de:
		return true
	}
	return false
}

// parseNVMeLog reads log page 02h (NVMe base specification 2.0, figure 207). It refuses a log that cannot be true: all
// ones, as read from a controller that dropped off the bus, and one without temperature, spare and age, which is what a
// command that failed unnoticed leaves behind and would read as a disk that is 0 % used.
func parseNVMeLog(log []byte) (*NVMeLog, error) {
	if len(log) < nvmeSMARTBytes {
		return nil, fmt.Errorf("Get Log Page 02h: %w: %d bytes", errParse, len(log))
	}
	if bytes.Count(log[:nvmeSMARTBytes], []byte{0xff}) == nvmeSMARTBytes {
		return nil, fmt.Errorf("Get Log Page 02h: %w: all ones, as if the controller had left the bus", errParse)
	}
	var raw drive.NvmeSMARTLog
	if _, err := binary.Decode(log, binary.LittleEndian, &raw); err != nil {
		return nil, fmt.Errorf("Get Log Page 02h: %w: %w", errParse, err)
	}
	if raw.Temperature == 0 && raw.AvailSpare == 0 && raw.SpareThresh == 0 && raw.PowerOnHours == (drive.Uint128{}) {
		return nil, fmt.Errorf("Get Log Page 02h: %w: no temperature, no spare and no hours: the log is empty", errParse)
	}
	l := &NVMeLog{
		CriticalWarning:    raw.CritWarning,
		AvailableSpare:     new(int(raw.AvailSpare)),
		SpareThreshold:     new(int(raw.SpareThresh)),
		PercentageUsed:     new(int(raw.PercentUsed)),
		DataUnitsRead:      narrow(raw.DataUnitsRead),
		DataUnitsWritten:   narrow(raw.DataUnitsWritten),
		HostReads:          narrow(raw.HostReads),
		HostWrites:         narrow(raw.HostWrites),
		BusyMinutes:        narrow(raw.CtrlBusyTime),
		PowerCycles:        narrow(raw.PowerCycles),
		PowerOnHours:       narrow(raw.PowerOnHours),
		UnsafeShutdowns:    narrow(raw.UnsafeShutdowns),
		MediaErrors:        narrow(raw.MediaErrors),
		ErrorLogEntries:    narrow(raw.NumErrLogEntries),
		WarningTempMinutes: new(uint64(raw.WarningTempTime)), CriticalTempMinutes: new(uint64(raw.CritCompTime)),
		ThrottleSeconds: [2]*uint64{new(uint64(raw.ThermalManagementTime[0])), new(uint64(raw.ThermalManagementTime[1]))},
	}
	if raw.Temperature != 0 {
		l.Temperature = new(int(raw.Temperature))
	}
	for i, t := range raw.TempSensor {
		if t != 0 {
			l.Sensors = append(append(l.Sensors, make([]int, i-len(l.Sensors))...), int(t))
		}
	}
	return l, nil
}

// narrow makes 64 bits of a 128-bit counter, which stops at the end.
func narrow(v drive.Uint128) *uint64 {
	if v.Val[1] != 0 {
		return new(uint64(math.MaxUint64))
	}
	return new(v.Val[0])
}

// temperatureLimit is a limit in Kelvin; 0 and the highest value mean that the disk states none.
func temperatureLimit(k uint16) *int {
	if k == 0 || k == 0xffff {
		return nil
	}
	return new(int(k))
}

// nvmeNotSupported tells whether a status says that the controller lacks the command or the log: invalid opcode, field,
// namespace, log page.
func nvmeNotSupported(status uint16) bool {
	switch status & 0x7ff {
	case 0x001, 0x002, 0x00b, 0x109:
		return true
	}
	return false
}

// nvmeStatusText names the statuses that Identify and Get Log Page end with (NVMe base specification 2.0, figures 93 to
// 97), others by their type.
func nvmeStatusText(status uint16) string {
	switch status & 0x7ff {
	case 0x001:
		return "invalid command opcode"
	case 0x002:
		return "invalid field in command"
	case 0x004:
		return "data transfer error"
	case 0x005:
		return "aborted: power loss"
	case 0x006:
		return "internal error"
	case 0x007:
		return "abort requested"
	case 0x00b:
		return "invalid namespace or format"
	case 0x082:
		return "namespace not ready"
	case 0x109:
		return "invalid log page"
	case 0x371:
		return "aborted by the host: the controller did not answer or was reset"
	}
	switch status >> 8 & 0x7 {
	case 0:
		return "generic error"
	case 1:
		return "command specific error"
	case 2:
		return "media error"
	case 3:
		return "path error"
	case 7:
		return "vendor specific error"
	}
	return "reserved status"
}
