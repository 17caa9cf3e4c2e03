//go:build amd64 || arm64

package smarttest

import (
	"encoding/binary"
	"errors"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// target is the memory of the thread that waits for an answer.
type target struct {
	pid int
	arg uintptr // of the ioctl's argument
}

// sgIO reads the command out of a struct sg_io_hdr (64-bit).
func (t target) sgIO() (Command, header, error) {
	h := make(header, 88)
	if err := t.read(t.arg, h); err != nil {
		return Command{}, nil, err
	}
	cdb := make([]byte, h[8])
	if len(cdb) == 0 {
		return Command{}, nil, unix.EINVAL
	}
	if err := t.read(uintptr(h.u64(24)), cdb); err != nil {
		return Command{}, nil, err
	}
	return Command{CDB: cdb, Length: int(h.u32(12)), Timeout: time.Duration(h.u32(40)) * time.Millisecond}, h, nil
}

func (t target) sgReply(c Command, r Reply, h header) (int64, error) {
	data := r.Data[:min(len(r.Data), c.Length)]
	sense := r.Sense[:min(len(r.Sense), int(h[9]))]
	if err := errors.Join(t.write(uintptr(h.u64(16)), data), t.write(uintptr(h.u64(32)), sense)); err != nil {
		return 0, err
	}
	h[64], h[67] = r.Status, byte(len(sense))
	binary.LittleEndian.PutUint16(h[68:], r.HostStatus)
	if r.Status != 0 {
		h[70] = 8 // DRIVER_SENSE
	}
	binary.LittleEndian.PutUint32(h[72:], uint32(c.Length-len(data)))
	if r.Status != 0 || r.HostStatus != 0 {
		h[80] = 1 // SG_INFO_CHECK
	}
	return 0, t.write(t.arg, h)
}

// nvme reads the command out of a struct nvme_passthru_cmd.
func (t target) nvme() (Command, header, error) {
	h := make(header, 72)
	if err := t.read(t.arg, h); err != nil {
		return Command{}, nil, err
	}
	return Command{
		NVMe:   NVMeCommand{Opcode: h[0], NSID: h.u32(4), CDW10: h.u32(40), CDW11: h.u32(44)},
		Length: int(h.u32(36)), Timeout: time.Duration(h.u32(64)) * time.Millisecond,
	}, h, nil
}

func (t target) nvmeReply(c Command, r Reply, h header) (int64, error) {
	if r.NVMeStatus != 0 {
		return int64(r.NVMeStatus), nil
	}
	return 0, t.write(uintptr(h.u64(24)), r.Data[:min(len(r.Data), c.Length)])
}

// header is the argument of an ioctl, little endian.
type header []byte

func (h header) u32(offset int) uint32 { return binary.LittleEndian.Uint32(h[offset:]) }
func (h header) u64(offset int) uint64 { return binary.LittleEndian.Uint64(h[offset:]) }

func (t target) read(address uintptr, b []byte) error {
	n, err := unix.ProcessVMReadv(t.pid, local(b), []unix.RemoteIovec{{Base: address, Len: len(b)}}, 0)
	return complete(n, len(b), err)
}

func (t target) write(address uintptr, b []byte) error {
	if len(b) == 0 {
		return nil
	}
	n, err := unix.ProcessVMWritev(t.pid, local(b), []unix.RemoteIovec{{Base: address, Len: len(b)}}, 0)
	return complete(n, len(b), err)
}

func local(b []byte) []unix.Iovec {
	v := []unix.Iovec{{Base: &b[0]}}
	v[0].SetLen(len(b))
	return v
}

func complete(n, want int, err error) error {
	if err == nil && n != want {
		return syscall.EIO
	}
	return err
}
