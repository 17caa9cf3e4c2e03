package smart

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"ssd_exporter/blockdev"
)

// Native reads with ioctls of this process, by the disk's transport. It opens device nodes for reading only, sends no
// command that changes anything, and asks a disk that sleeps for nothing but its power state.
//
// A disk may hang inside a system call, which nothing can end. A Native made by NewNative then returns at the deadline and
// leaves at most one such call per disk behind. One made as a literal leaves nothing behind: its Read comes back when the
// call does, and whoever calls it must be able to wait elsewhere.
type Native struct {
	Roots blockdev.Roots
	busy  *busyDisks                           // nil: Read waits for its system calls
	open  func(path string) (commander, error) // nil is openNode
}

// NewNative returns a Native that keeps deadlines and at most one read per disk in flight, however often it is copied.
func NewNative(r blockdev.Roots) Native {
	return Native{Roots: r, busy: &busyDisks{devices: map[string]time.Time{}}}
}

// Read asks one disk, as Find or blockdev.Disks describes it. It sends no further command once ctx has ended, and with
// NewNative it returns then, even while the disk hangs: until the hanging call comes back, another Read of that disk fails
// at once with Timeout. Other disks are not affected. Give ctx a deadline: the kernel waits up to 60 s for each command.
//
// A sleeping disk is no error: its Reading has a PowerState of "standby", the identity that the kernel knows, and nothing
// else, so that a caller keeps what it read before, with its age. Every error is a *ReadError.
func (n Native) Read(ctx context.Context, d blockdev.Disk) (*Reading, error) {
	if err := ctx.Err(); err != nil {
		return nil, readError(d, err)
	}
	if n.busy == nil {
		return n.read(ctx, d)
	}
	if since, ok := n.busy.enter(d.Device); !ok {
		return nil, readError(d, fmt.Errorf("%w: the read of %s still hangs", os.ErrDeadlineExceeded, since.Format(time.RFC3339)))
	}
	type answer struct {
		r   *Reading
		err error
	}
	done := make(chan answer, 1) // buffered: nobody may be waiting any more
	go func() {
		r, err := n.read(ctx, d)
		n.busy.leave(d.Device)
		done <- answer{r, err}
	}()
	select {
	case a := <-done:
		return a.r, a.err
	case <-ctx.Done():
		return nil, readError(d, fmt.Errorf("the disk did not answer in time: %w", ctx.Err()))
	}
}

// read does the work of Read and may hang.
func (n Native) read(ctx context.Context, d blockdev.Disk) (r *Reading, err error) {
	defer func() {
		if p := recover(); p != nil { // a disk's answer must never end the process
			r, err = nil, readError(d, fmt.Errorf("internal error, please report it: %v", p))
		}
	}()
	r = &Reading{At: time.Now(), Source: "native", Identity: d.Identity, Capacity: d.Capacity, BlockSize: d.Logical}
	how := wayOf(d)
	switch {
	case how == wayMMC:
		err = readMMC(d, r)
	case how == noWay:
		err = fmt.Errorf("%w: not a disk that can be asked", errUnsupported)
	case how == waySD && n.suspended(d):
		r.PowerState = "standby"
	case d.Device == "":
		err = fmt.Errorf("%w: it has no controller now", errIO)
	default:
		err = n.ask(ctx, d, how, r)
	}
	if err == nil {
		err = ctx.Err() // parts that the deadline cut off are only messages: half of a disk is no success
	}
	if err != nil {
		return nil, readError(d, err)
	}
	return r, nil
}

// ask opens the node and sends the commands.
func (n Native) ask(ctx context.Context, d blockdev.Disk, how way, r *Reading) error {
	open := n.open
	if open == nil {
		open = openNode
	}
	c, err := open(d.Device)
	if err != nil {
		return err
	}
	defer c.close()
	if how == wayNVMe {
		return readNVMe(ctx, c, d, r)
	}
	return readSD(ctx, c, d, r)
}

// suspended tells whether the kernel itself has put the disk to sleep (runtime power management): any command, CHECK
// POWER MODE included, would first wake it.
func (n Native) suspended(d blockdev.Disk) bool {
	path := filepath.Join(n.Roots.WithDefaults().Sysfs, "class", "block", d.Kernel, "device", "power", "runtime_status")
	status, err := os.ReadFile(path)
	if err != nil {
		return false
	}
	return strings.HasPrefix(string(status), "suspend") // "suspended", "suspending"
}

// busyDisks knows which disks are being read.
type busyDisks struct {
	mu      sync.Mutex
	devices map[string]time.Time // since when, by device node
}

// enter is false, with the start of the earlier read, while a read of the device is under way.
func (b *busyDisks) enter(device string) (since time.Time, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if since, busy := b.devices[device]; busy {
		return since, false
	}
	b.devices[device] = time.Now()
	return time.Time{}, true
}

func (b *busyDisks) leave(device string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.devices, device)
}

// readError makes the error of a failed read: why, and what to do.
func readError(d blockdev.Disk, err error) *ReadError {
	e := &ReadError{Disk: d.Device, Reason: reasonOf(err), Err: err}
	if e.Disk == "" {
		e.Disk = d.Kernel
	}
	var path *os.PathError
	opening := errors.As(err, &path)
	switch {
	case e.Reason == Permission && opening:
		e.Fix = permissionToOpen(d, err)
	case e.Reason == Permission:
		e.Fix = "this needs " + capabilityFor(d) + ": run as root, or give the service or container that capability"
	case errors.Is(err, os.ErrNotExist):
		e.Fix = "the node is missing: in a container, pass the host's /dev in and point --path.dev at it"
	case e.Reason == Unsupported && d.Transport == "usb":
		e.Fix = "if `smartctl -x` can read it, let a timer write `smartctl -x -j` to a file listed in smart.files"
	case e.Reason == Unsupported && wayOf(d) == waySD:
		e.Fix = "behind a RAID controller, let a timer write `smartctl -x -j -d …` for each disk to a file listed in smart.files"
	case e.Reason == Timeout:
		e.Fix = "the disk or its controller hangs: see the kernel log"
	}
	return e
}
