package smart

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// commander sends one command to one disk. *node is the real one.
type commander interface {
	// scsi sends a CDB that moves at most in bytes from the disk, none with 0. The result's data may be shorter. A
	// command that ended with a check condition of "no sense" or "recovered error" succeeded.
	scsi(ctx context.Context, name string, cdb []byte, in int) (scsiResult, error)
	// nvme sends an admin command that fills buf.
	nvme(ctx context.Context, name string, cmd nvmeCommand, buf []byte) error
	close()
}

// scsiResult is what a SCSI command brought back.
type scsiResult struct {
	data  []byte
	sense sense
}

// node is an open device node. It is opened for reading only, and no command that it is given writes.
type node struct{ fd int }

// openNode opens a device node so that it neither waits for a medium nor can ever write. The open itself may hang with
// the disk.
func openNode(path string) (commander, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return &node{fd: fd}, nil
}

// commandTimeout is given to the kernel with each SCSI command. It is the kernel's own default and deliberately not the
// caller's deadline: a command that times out makes the kernel abort it and reset the disk, then the bus, so that a
// short limit would punish a slow disk, and its neighbours, with resets. The deadline ends the waiting instead: see
// Native.Read. NVMe commands leave the time to the kernel too, since a timeout there resets the controller.
const commandTimeout = 60_000 // milliseconds

// sgHeader is struct sg_io_hdr of <scsi/sg.h>. Its pointers are Go pointers, so that what they point to stays alive.
type sgHeader struct {
	interfaceID     int32
	direction       int32
	cmdLen, mxSbLen uint8
	iovecCount      uint16
	dxferLen        uint32
	dxferp          unsafe.Pointer
	cmdp            unsafe.Pointer
	sbp             unsafe.Pointer
	timeout         uint32
	flags           uint32
	packID          int32
	usrPtr          unsafe.Pointer
	status          uint8
	maskedStatus    uint8
	msgStatus       uint8
	sbLenWr         uint8
	hostStatus      uint16
	driverStatus    uint16
	resid           int32
	duration        uint32
	info            uint32
}

const (
	sgIO            = 0x2285 // SG_IO
	sgNone          = -1     // SG_DXFER_NONE
	sgFromDev       = -3     // SG_DXFER_FROM_DEV
	statusCheck     = 0x02   // CHECK CONDITION
	hostTimeOut     = 0x03   // DID_TIME_OUT
	driverErrorMask = 0x0f
	driverTimeout   = 0x06 // DRIVER_TIMEOUT
	driverSense     = 0x08 // DRIVER_SENSE: sense data is there, no error by itself
)

func (n *node) scsi(ctx context.Context, name string, cdb []byte, in int) (scsiResult, error) {
	if err := ctx.Err(); err != nil {
		return scsiResult{}, fmt.Errorf("before %s: %w", name, err)
	}
	res, err := n.sgIO(name, cdb, in)
	if err != nil && res.sense.valid && res.sense.key == senseUnitAttention {
		// The disk had to say once that it was reset or replaced; the command was not carried out.
		res, err = n.sgIO(name, cdb, in)
	}
	return res, err
}

func (n *node) sgIO(name string, cdb []byte, in int) (scsiResult, error) {
	data, senseBytes := make([]byte, in), make([]byte, 64)
	hdr := sgHeader{
		interfaceID: 'S', direction: sgNone, cmdLen: uint8(len(cdb)), mxSbLen: uint8(len(senseBytes)),
		cmdp: unsafe.Pointer(&cdb[0]), sbp: unsafe.Pointer(&senseBytes[0]), timeout: commandTimeout,
	}
	// The kernel writes to these while this thread waits in the call; pinned, they stay where they are.
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(&cdb[0])
	pin.Pin(&senseBytes[0])
	if in > 0 {
		pin.Pin(&data[0])
		hdr.direction, hdr.dxferLen, hdr.dxferp = sgFromDev, uint32(in), unsafe.Pointer(&data[0])
	}
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(n.fd), sgIO, uintptr(unsafe.Pointer(&hdr)))
	if errno != 0 {
		return scsiResult{}, fmt.Errorf("%s: %w", name, errno)
	}
	// What was not transferred is not an answer: leave it out rather than pass zeros on.
	data = data[:min(max(in-int(hdr.resid), 0), in)]
	return judge(name, data, senseBytes[:min(int(hdr.sbLenWr), len(senseBytes))], hdr.status, hdr.hostStatus, hdr.driverStatus)
}

// judge tells success from failure. A check condition is success when its sense key is "no sense" or "recovered error",
// which is how registers come back.
func judge(name string, data, senseBytes []byte, status uint8, host, driver uint16) (scsiResult, error) {
	res := scsiResult{data: data, sense: parseSense(senseBytes)}
	failed := host != 0 || status != 0 || driver&driverErrorMask&^driverSense != 0
	benign := host == 0 && status == statusCheck && res.sense.valid && res.sense.key <= senseRecovered
	if failed && !benign {
		return res, &CommandError{Command: name, Status: status, Host: host, Driver: driver, sense: res.sense}
	}
	return res, nil
}

// nvmeCommand is struct nvme_passthru_cmd of <linux/nvme_ioctl.h>.
type nvmeCommand struct {
	opcode, flags uint8
	_             uint16
	nsid          uint32
	cdw2, cdw3    uint32
	metadata      uint64
	addr          uint64
	metadataLen   uint32
	dataLen       uint32
	cdw10, cdw11  uint32
	cdw12, cdw13  uint32
	cdw14, cdw15  uint32
	timeoutMs     uint32 // 0 is the kernel's default of 60 s
	result        uint32
}

const nvmeIoctlAdmin = 0xc0484e41 // NVME_IOCTL_ADMIN_CMD: _IOWR('N', 0x41, 72 bytes)

func (n *node) nvme(ctx context.Context, name string, cmd nvmeCommand, buf []byte) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("before %s: %w", name, err)
	}
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(&buf[0])
	cmd.addr, cmd.dataLen = uint64(uintptr(unsafe.Pointer(&buf[0]))), uint32(len(buf))
	status, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(n.fd), nvmeIoctlAdmin, uintptr(unsafe.Pointer(&cmd)))
	runtime.KeepAlive(buf)
	if errno != 0 {
		return fmt.Errorf("%s: %w", name, errno)
	}
	// A command that the controller failed is no errno: the call returns the completion's status, and buf holds nothing.
	if status != 0 {
		return &CommandError{Command: name, NVMe: uint16(status)}
	}
	return nil
}

func (n *node) close() { _ = unix.Close(n.fd) }

// CommandError is a command that reached the disk, or its controller, and failed.
type CommandError struct {
	Command string // in the words of its standard: "SMART READ DATA", "Get Log Page 02h"
	Status  uint8  // SCSI status
	Host    uint16 // SG_IO host_status (DID_…)
	Driver  uint16 // SG_IO driver_status
	NVMe    uint16 // NVMe completion status without the phase bit: 7:0 code, 10:8 type; 0 for SCSI
	sense   sense
}

// Error gives the command and its status in the words of the standards.
func (e *CommandError) Error() string {
	switch {
	case e.NVMe != 0:
		return fmt.Sprintf("%s: NVMe status %#x (%s)", e.Command, e.NVMe, nvmeStatusText(e.NVMe))
	case e.timedOut():
		return e.Command + ": the disk did not answer in time, and the kernel gave the command up"
	case e.sense.valid:
		return e.Command + ": " + e.sense.String()
	}
	return fmt.Sprintf("%s: SCSI status %#02x, host status %#02x, driver status %#02x", e.Command, e.Status, e.Host, e.Driver)
}

func (e *CommandError) timedOut() bool {
	return e.NVMe == 0 && (e.Host == hostTimeOut || e.Driver&driverErrorMask == driverTimeout)
}

func (e *CommandError) reason() Reason {
	switch {
	case e.timedOut():
		return Timeout
	case e.NVMe != 0 && nvmeNotSupported(e.NVMe), e.NVMe == 0 && e.sense.valid && e.sense.key == senseIllegalRequest:
		return Unsupported
	}
	return IO
}

// refused tells whether the disk answered that it does not know the command, log or page.
func refused(err error) bool {
	var c *CommandError
	return errors.As(err, &c) && (c.reason() == Unsupported || c.sense.ata != nil && c.sense.ata.err&ataErrorAbort != 0)
}
