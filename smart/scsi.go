package smart

import (
	"context"
	"fmt"

	"ssd_exporter/blockdev"
)

// SCSI commands that are sent (SPC-4, SBC-3). None needs a privilege beyond a readable node, none touches the medium.
const (
	scsiRequestSense   = 0x03
	scsiInquiry        = 0x12
	scsiReadCapacity10 = 0x25
	scsiReadCapacity16 = 0x9e
	scsiLogSense       = 0x4d

	vpdSerial          = 0x80
	vpdIdentification  = 0x83
	vpdCharacteristics = 0xb1

	pageSupported   = 0x00
	pageWriteErrors = 0x02
	pageReadErrors  = 0x03
	pageTemperature = 0x0d
	pageSolidState  = 0x11
	pageBackground  = 0x15
	pageExceptions  = 0x2f
)

// readSD reads a disk of the SCSI layer, which is what SATA, SAS and USB disks all are to Linux: as ATA where the
// kernel, the disk or the enclosure lets ATA through, else by SCSI log pages.
func readSD(ctx context.Context, c commander, d blockdev.Disk, r *Reading) error {
	if d.Transport == "sata" || d.Transport == "ata" {
		return ataDisk{c}.read(ctx, d, r)
	}
	s := scsiDisk{c}
	inq, err := s.inquiry(ctx)
	if err != nil {
		return err
	}
	switch {
	case inq.deviceType != 0 && inq.deviceType != 0x0e && inq.deviceType != 0x14: // disk, reduced disk, zoned disk
		return fmt.Errorf("%w: not a disk (SCSI device type %#02x)", errUnsupported, inq.deviceType)
	case inq.vendor == "ATA":
		return ataDisk{c}.read(ctx, d, r)
	case d.Transport == "usb" && (inq.removable || d.Removable):
		return fmt.Errorf("%w: a card reader or USB stick", errUnsupported) // and some fail on a command they do not know
	case d.Transport == "usb":
		return ataDisk{c}.read(ctx, d, r)
	}
	return s.read(ctx, d, inq, r)
}

// scsiDisk reads a disk by SCSI log pages: SAS, Fibre Channel.
type scsiDisk struct{ c commander }

func (s scsiDisk) read(ctx context.Context, d blockdev.Disk, inq scsiIdentity, r *Reading) error {
	r.Protocol = "SCSI"
	inq.fill(r)
	state, err := s.powerState(ctx)
	if err != nil {
		return err
	}
	if r.PowerState = state; sleeping(state) {
		return nil
	}
	if page, err := s.vpd(ctx, vpdSerial); err == nil {
		if serial := clean(string(page)); serial != "" {
			r.Identity.Serial = serial
		}
	}
	if r.Identity.WWN == "" {
		if page, err := s.vpd(ctx, vpdIdentification); err == nil {
			r.Identity.WWN = parseWWN(page)
		}
	}
	if page, err := s.vpd(ctx, vpdCharacteristics); err == nil {
		r.RotationRate = parseRotation(page)
	}
	if r.Capacity == 0 || r.BlockSize == 0 {
		s.capacity(ctx, r)
	}
	return s.logs(ctx, r)
}

// logs reads the health pages that the disk says it has. A page that fails becomes a message; no list at all is an error.
func (s scsiDisk) logs(ctx context.Context, r *Reading) error {
	list, err := s.logSense(ctx, pageSupported)
	if err != nil {
		if refused(err) {
			err = fmt.Errorf("%w: %w", errUnsupported, err)
		}
		return err
	}
	has := map[uint8]bool{}
	for _, p := range list {
		has[p&0x3f] = true
	}
	log, read := &SCSILog{}, 0
	for _, page := range []struct {
		code  uint8
		parse func(map[uint16][]byte)
	}{
		{pageWriteErrors, func(p map[uint16][]byte) { log.BytesWritten = processed(p); log.addUncorrected(p) }},
		{pageReadErrors, func(p map[uint16][]byte) { log.BytesRead = processed(p); log.addUncorrected(p) }},
		{pageTemperature, func(p map[uint16][]byte) { r.TemperatureC, log.TripC = scsiTemperature(p) }},
		{pageSolidState, func(p map[uint16][]byte) { log.PercentageUsed = scsiPercentageUsed(p) }},
		{pageBackground, func(p map[uint16][]byte) { r.PowerOnHours = scsiPowerOn(p) }},
		{pageExceptions, func(p map[uint16][]byte) { parseExceptions(p, r) }},
	} {
		if !has[page.code] {
			continue
		}
		body, err := s.logSense(ctx, page.code)
		if err != nil {
			r.Messages = append(r.Messages, err.Error())
			continue
		}
		page.parse(parseParameters(body))
		read++
	}
	if read == 0 {
		return fmt.Errorf("%w: none of the health log pages is there or can be read", errUnsupported)
	}
	r.SCSI = log
	return nil
}

// inquiry asks who is there. Every SCSI device answers it, asleep or not.
func (s scsiDisk) inquiry(ctx context.Context) (scsiIdentity, error) {
	const length = 36 // more confuses old USB devices
	res, err := s.c.scsi(ctx, "INQUIRY", []byte{scsiInquiry, 0, 0, 0, length, 0}, length)
	if err != nil {
		return scsiIdentity{}, err
	}
	return parseInquiry(res.data)
}

// powerState asks REQUEST SENSE, which tells low power conditions without changing them (SPC-4, 5.12.8).
func (s scsiDisk) powerState(ctx context.Context) (string, error) {
	res, err := s.c.scsi(ctx, "REQUEST SENSE", []byte{scsiRequestSense, 0, 0, 0, 252, 0}, 252)
	if err != nil {
		if refused(err) {
			return "", nil
		}
		return "", err
	}
	return scsiPowerState(parseSense(res.data)), nil
}

// vpd reads a page of vital product data without its header.
func (s scsiDisk) vpd(ctx context.Context, page uint8) ([]byte, error) {
	name := fmt.Sprintf("INQUIRY VPD %02Xh", page)
	res, err := s.c.scsi(ctx, name, []byte{scsiInquiry, 1, page, 0, 252, 0}, 252)
	if err != nil {
		return nil, err
	}
	return vpdBody(name, res.data, page)
}

// logSense reads the cumulative values of a log page without its header.
func (s scsiDisk) logSense(ctx context.Context, page uint8) ([]byte, error) {
	const length = 4096
	name := fmt.Sprintf("LOG SENSE %02Xh", page)
	res, err := s.c.scsi(ctx, name, []byte{scsiLogSense, 0, 1<<6 | page, 0, 0, 0, 0, length >> 8, length & 0xff, 0}, length)
	if err != nil {
		return nil, err
	}
	return logBody(name, res.data, page)
}

// capacity asks the disk where the kernel did not say. A failure leaves it unknown.
func (s scsiDisk) capacity(ctx context.Context, r *Reading) {
	cdb := []byte{scsiReadCapacity16, 0x10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 32, 0, 0}
	res, err := s.c.scsi(ctx, "READ CAPACITY (16)", cdb, 32)
	if err == nil {
		r.Capacity, r.BlockSize = parseCapacity16(res.data)
		return
	}
	if res, err = s.c.scsi(ctx, "READ CAPACITY (10)", []byte{scsiReadCapacity10, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 8); err == nil {
		r.Capacity, r.BlockSize = parseCapacity10(res.data)
	}
}
