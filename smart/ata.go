package smart

import (
	"context"
	"errors"
	"fmt"

	"ssd_exporter/blockdev"
)

// Commands and SMART features of ATA (ACS-4, 7), and the logs that are read.
const (
	ataIdentifyDevice  = 0xec
	ataCheckPowerMode  = 0xe5
	ataSMART           = 0xb0
	ataReadLogExt      = 0x2f
	smartReadData      = 0xd0
	smartReadThreshold = 0xd1
	smartReadLog       = 0xd5
	smartReturnStatus  = 0xda

	logDirectory        = 0x00
	logDeviceStatistics = 0x04
	logSCTStatus        = 0xe0

	// smartSignature in LBA 23:8 makes a command a SMART command; RETURN STATUS hands it back when all is well, and
	// smartFailing when a threshold was passed.
	smartSignature = 0xc24f
	smartFailing   = 0x2cf4
)

// ataCommand is one ATA command to be sent through a SCSI to ATA translation layer.
type ataCommand struct {
	name    string
	command uint8
	feature uint8
	count   uint8
	lba     uint64 // 48 bits
	ext     bool   // a 48-bit command
	sectors int    // of 512 bytes that come back; 0: a non-data command whose registers are wanted
}

// cdb is ATA PASS-THROUGH (16) (SAT-4, 12.2.2.2). The length is in the count field, which is why count must be set even
// where ATA ignores it.
func (c ataCommand) cdb() []byte {
	b := make([]byte, 16)
	b[0] = 0x85
	if c.sectors > 0 {
		b[1], b[2] = 4<<1, 0x0e // PIO data-in; T_DIR from the device, BYT_BLOK in blocks, T_LENGTH in count
	} else {
		b[1], b[2] = 3<<1, 0x20 // non-data; CK_COND: hand the registers back
	}
	if c.ext {
		b[1] |= 1
	}
	b[4], b[6] = c.feature, c.count
	b[8], b[10], b[12] = byte(c.lba), byte(c.lba>>8), byte(c.lba>>16)
	b[7], b[9], b[11] = byte(c.lba>>24), byte(c.lba>>32), byte(c.lba>>40)
	b[14] = c.command
	return b
}

// ataDisk reads a disk that speaks ATA behind the SCSI layer: SATA, and most USB enclosures.
type ataDisk struct{ c commander }

// read fills r. A disk that sleeps is asked nothing beyond its power state.
func (a ataDisk) read(ctx context.Context, d blockdev.Disk, r *Reading) error {
	r.Protocol = "ATA"
	state, err := a.powerState(ctx)
	if err != nil {
		return err
	}
	r.PowerState = state
	if sleeping(state) {
		return nil
	}
	id, err := a.identify(ctx, r)
	if err != nil {
		return err
	}
	if state == "" && !(r.RotationRate != nil && *r.RotationRate == 0) && (d.Rotational == nil || *d.Rotational) {
		r.Messages = append(r.Messages, "power state unknown (the bridge does not tell), and not known to be an SSD: not read further, since that might wake it")
		return nil
	}
	return a.health(ctx, id, r)
}

// health reads what needs S.M.A.R.T. A part that fails becomes a message; nothing at all is an error.
func (a ataDisk) health(ctx context.Context, id ataIdentity, r *Reading) error {
	note := func(what string, err error) {
		if err != nil {
			r.Messages = append(r.Messages, what+": "+err.Error())
		}
	}
	attrErr := id.smartUsable()
	if attrErr == nil {
		attrErr = a.attributes(ctx, r)
	}
	note("attributes", attrErr)
	if attrErr == nil {
		passed, err := a.returnStatus(ctx)
		note("verdict", err)
		r.Passed = passed
	}
	stats, statErr := a.statistics(ctx, id)
	note("device statistics", statErr)
	if len(stats) > 0 {
		r.Statistics = stats
	}
	if len(r.Attributes) == 0 && len(r.Statistics) == 0 {
		return errors.Join(attrErr, statErr)
	}
	a.temperature(ctx, id, r)
	return nil
}

// powerState asks CHECK POWER MODE (ACS-4, 7.4), which wakes nothing. "" is not told: some bridges lose the registers.
func (a ataDisk) powerState(ctx context.Context) (string, error) {
	regs, err := a.nonData(ctx, ataCommand{name: "CHECK POWER MODE", command: ataCheckPowerMode})
	switch {
	case aborted(err):
		return "", nil // optional in old standards, and not for every bridge
	case err != nil && refused(err):
		return "", fmt.Errorf("%w: %w", errUnsupported, err)
	case err != nil:
		return "", err
	case regs == nil:
		return "", nil
	}
	return powerStateOf(regs.count), nil
}

func (a ataDisk) identify(ctx context.Context, r *Reading) (ataIdentity, error) {
	page, err := a.dataIn(ctx, ataCommand{name: "IDENTIFY DEVICE", command: ataIdentifyDevice, count: 1, sectors: 1})
	if err != nil {
		if refused(err) {
			err = fmt.Errorf("%w: %w", errUnsupported, err)
		}
		return ataIdentity{}, err
	}
	id, err := parseIdentify(page)
	if err != nil {
		return ataIdentity{}, err
	}
	id.fill(r)
	return id, nil
}

func (a ataDisk) attributes(ctx context.Context, r *Reading) error {
	page, err := a.dataIn(ctx, ataCommand{
		name: "SMART READ DATA", command: ataSMART, feature: smartReadData, count: 1,
		lba: smartSignature << 8, sectors: 1,
	})
	if err != nil {
		return err
	}
	attrs, err := parseAttributes(page)
	if err != nil {
		return err
	}
	page, err = a.dataIn(ctx, ataCommand{
		name: "SMART READ THRESHOLDS", command: ataSMART, feature: smartReadThreshold, count: 1,
		lba: smartSignature<<8 | 1, sectors: 1,
	})
	if err == nil {
		err = addThresholds(attrs, page)
	}
	if err != nil { // obsolete since ATA-4: the attributes stand without
		r.Messages = append(r.Messages, "thresholds: "+err.Error())
	}
	r.Attributes = attrs
	r.PowerOnHours, r.PowerCycles = hoursAndCycles(attrs)
	return nil
}

// returnStatus is the drive's own verdict; nil when it gives neither of the two defined answers.
func (a ataDisk) returnStatus(ctx context.Context) (*bool, error) {
	regs, err := a.nonData(ctx, ataCommand{name: "SMART RETURN STATUS", command: ataSMART, feature: smartReturnStatus, lba: smartSignature << 8})
	if err != nil || regs == nil {
		return nil, err
	}
	switch uint16(regs.lbaHigh)<<8 | uint16(regs.lbaMid) {
	case smartSignature:
		return new(true), nil
	case smartFailing:
		return new(false), nil
	}
	return nil, nil
}

// statistics reads the Device Statistics log 04h from where the disk keeps it: among the SMART logs, or among the
// general purpose logs. A disk without the log has nil and no error.
func (a ataDisk) statistics(ctx context.Context, id ataIdentity) (map[Stat]uint64, error) {
	stats, err := a.smartStatistics(ctx)
	if len(stats) > 0 || !id.gpl || err != nil && !refused(err) {
		return stats, ignoreRefused(err)
	}
	dir, err := a.logExt(ctx, "READ LOG EXT directory", logDirectory, 1)
	if err != nil {
		return nil, ignoreRefused(err)
	}
	n := min(int(dir[2*logDeviceStatistics])|int(dir[2*logDeviceStatistics+1])<<8, statisticsPages)
	if n == 0 {
		return nil, nil
	}
	page, err := a.logExt(ctx, "READ LOG EXT 04h", logDeviceStatistics, n)
	if err != nil {
		return nil, err
	}
	return parseStatistics(page), nil
}

func (a ataDisk) smartStatistics(ctx context.Context) (map[Stat]uint64, error) {
	dir, err := a.smartLog(ctx, "SMART READ LOG directory", logDirectory, 1)
	if err != nil {
		return nil, err
	}
	n := min(int(dir[2*logDeviceStatistics]), statisticsPages)
	if n == 0 {
		return nil, nil
	}
	page, err := a.smartLog(ctx, "SMART READ LOG 04h", logDeviceStatistics, n)
	if err != nil {
		return nil, err
	}
	return parseStatistics(page), nil
}

// temperature takes the first of the sources that are defined by a standard, then those that are merely common.
func (a ataDisk) temperature(ctx context.Context, id ataIdentity, r *Reading) {
	if v, ok := r.Statistics[statCurrentTemperature]; ok && int64(v) < 127 {
		r.TemperatureC = new(float64(v))
		return
	}
	if id.sct {
		if page, err := a.smartLog(ctx, "SMART READ LOG E0h", logSCTStatus, 1); err == nil {
			r.TemperatureC = sctTemperature(page)
		}
	}
	if r.TemperatureC == nil {
		r.TemperatureC = attributeTemperature(r.Attributes)
	}
}

func (a ataDisk) smartLog(ctx context.Context, name string, log uint8, sectors int) ([]byte, error) {
	return a.dataIn(ctx, ataCommand{
		name: name, command: ataSMART, feature: smartReadLog, count: uint8(sectors),
		lba: smartSignature<<8 | uint64(log), sectors: sectors,
	})
}

func (a ataDisk) logExt(ctx context.Context, name string, log uint8, sectors int) ([]byte, error) {
	return a.dataIn(ctx, ataCommand{name: name, command: ataReadLogExt, count: uint8(sectors), lba: uint64(log), ext: true, sectors: sectors})
}

// dataIn sends a command and returns exactly its sectors.
func (a ataDisk) dataIn(ctx context.Context, c ataCommand) ([]byte, error) {
	res, err := a.c.scsi(ctx, c.name, c.cdb(), 512*c.sectors)
	if err != nil {
		return nil, err
	}
	if len(res.data) < 512*c.sectors {
		return nil, fmt.Errorf("%s: %w: %d of %d bytes came back", c.name, errParse, len(res.data), 512*c.sectors)
	}
	return res.data, nil
}

// nonData sends a command without data and returns the registers, nil when the translation layer lost them.
func (a ataDisk) nonData(ctx context.Context, c ataCommand) (*ataRegisters, error) {
	res, err := a.c.scsi(ctx, c.name, c.cdb(), 0)
	return res.sense.ata, err
}

// aborted tells whether the disk or the bridge gave up this one command, which says nothing of others.
func aborted(err error) bool {
	var c *CommandError
	return errors.As(err, &c) && c.sense.valid && c.sense.key == senseAborted
}

func ignoreRefused(err error) error {
	if refused(err) {
		return nil
	}
	return err
}

// sleeping tells whether reading would wake the disk.
func sleeping(state string) bool { return state == "standby" || state == "sleep" }

// powerStateOf names the count register of CHECK POWER MODE (ACS-4, table 41).
func powerStateOf(count uint8) string {
	switch count {
	case 0x00, 0x01, 0x40: // standby_z, standby_y, spindle stopped with the NV cache active
		return "standby"
	case 0x80, 0x81, 0x82, 0x83:
		return "idle"
	case 0xff, 0x41:
		return "active"
	}
	return ""
}
