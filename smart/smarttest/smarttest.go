package smarttest

import (
	"errors"
	"slices"
	"sync"
	"syscall"
	"time"
)

// Disk answers the commands that reach one device node. It is asked concurrently.
type Disk interface{ Answer(Command) Reply }

// Func makes a Disk of a function.
type Func func(Command) Reply

// Answer calls the function.
func (f Func) Answer(c Command) Reply { return f(c) }

// Command is one command as the program sent it.
type Command struct {
	CDB    []byte // of SG_IO; nil for an NVMe command
	NVMe   NVMeCommand
	Length int // bytes that the program has room for
	// Timeout is what the program asked of the kernel; 0 is the kernel's default.
	Timeout time.Duration
}

// NVMeCommand is the part of an NVMe admin command that decides.
type NVMeCommand struct {
	Opcode       uint8
	NSID         uint32
	CDW10, CDW11 uint32
}

// Reply is what comes back. The zero value is success without data.
type Reply struct {
	Data       []byte // cut to Command.Length; what is missing is reported as not transferred
	Status     uint8  // SCSI status: 2 is CHECK CONDITION
	Sense      []byte
	HostStatus uint16 // DID_…: 3 is a time-out
	NVMeStatus uint16 // completion status, which the ioctl returns
	Errno      syscall.Errno
	Delay      time.Duration // before the answer
	Hang       bool          // no answer at all
}

// ErrRefused is wrapped by Start where this machine cannot simulate.
var ErrRefused = errors.New("this kernel or sandbox refuses seccomp user notification")

// Slow lets a disk take its time for every command.
func Slow(d Disk, delay time.Duration) Disk {
	return Func(func(c Command) Reply {
		r := d.Answer(c)
		r.Delay = delay
		return r
	})
}

// Hanging is a disk that never answers.
func Hanging() Disk { return Func(func(Command) Reply { return Reply{Hang: true} }) }

// Refusing is a kernel that answers every command with an errno: EPERM where a capability is missing.
func Refusing(errno syscall.Errno) Disk {
	return Func(func(Command) Reply { return Reply{Errno: errno} })
}

// Log records what was sent. It is safe for concurrent use.
type Log struct {
	mu   sync.Mutex
	sent map[string][]Command
}

// Commands lists what was sent to a device node, in the order of arrival.
func (l *Log) Commands(path string) []Command {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.sent[path])
}

func (l *Log) add(path string, c Command) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.sent == nil {
		l.sent = map[string][]Command{}
	}
	l.sent[path] = append(l.sent[path], c)
}

// ATA tells the ATA command inside ATA PASS-THROUGH (16), and its feature; ok is false for any other command.
func (c Command) ATA() (command, feature uint8, ok bool) {
	if len(c.CDB) != 16 || c.CDB[0] != 0x85 {
		return 0, 0, false
	}
	return c.CDB[14], c.CDB[4], true
}
