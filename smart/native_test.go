package smart

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"ssd_exporter/blockdev"
	"ssd_exporter/smart/smarttest"
)

// fakeNode is a device node without system calls.
type fakeNode struct {
	disk smarttest.Disk
	sent *[]string
}

func (f fakeNode) scsi(ctx context.Context, name string, cdb []byte, in int) (scsiResult, error) {
	if err := ctx.Err(); err != nil {
		return scsiResult{}, err
	}
	c := smarttest.Command{CDB: cdb, Length: in}
	*f.sent = append(*f.sent, describe(c))
	r := f.disk.Answer(c)
	if r.Hang {
		<-ctx.Done()
		time.Sleep(time.Hour) // as a system call would, it does not heed ctx
	}
	if r.Errno != 0 {
		return scsiResult{}, fmt.Errorf("%s: %w", name, r.Errno)
	}
	return judge(name, r.Data[:min(len(r.Data), in)], r.Sense, r.Status, r.HostStatus, 0)
}

func (f fakeNode) nvme(_ context.Context, name string, cmd nvmeCommand, buf []byte) error {
	c := smarttest.Command{NVMe: smarttest.NVMeCommand{Opcode: cmd.opcode, NSID: cmd.nsid, CDW10: cmd.cdw10}, Length: len(buf)}
	*f.sent = append(*f.sent, describe(c))
	r := f.disk.Answer(c)
	switch {
	case r.Errno != 0:
		return fmt.Errorf("%s: %w", name, r.Errno)
	case r.NVMeStatus != 0:
		return &CommandError{Command: name, NVMe: r.NVMeStatus}
	}
	copy(buf, r.Data)
	return nil
}

func (f fakeNode) close() {}

// readFake reads a disk and tells which commands that took.
func readFake(t *testing.T, d blockdev.Disk, disk smarttest.Disk) (r *Reading, sent []string, err error) {
	t.Helper()
	n := NewNative(blockdev.Roots{Sysfs: t.TempDir()})
	n.open = func(string) (commander, error) { return fakeNode{disk, &sent}, nil }
	d.Device = "/dev/" + d.Kernel
	r, err = n.Read(t.Context(), d)
	return r, sent, err
}

func diskAt(kernel, transport string) blockdev.Disk {
	return blockdev.Disk{Identity: blockdev.Identity{Kernel: kernel, Transport: transport}}
}

func TestNativeReads(t *testing.T) {
	tests := []struct {
		name  string
		disk  blockdev.Disk
		reply smarttest.Disk
		check func(*testing.T, *Reading)
	}{
		{"HG5d", diskAt("sda", "sata"), hg5d(), checkHG5d},
		{"HG5d behind a SAS adapter, known by its vendor", diskAt("sda", "sas"), hg5d(), checkHG5d},
		{"HG5d in a USB enclosure", diskAt("sda", "usb"), hg5d(), checkHG5d},
		{"Intel 520", diskAt("sda", "sata"), intel520(), checkIntel520},
		{"Samsung", diskAt("sda", "sata"), samsung(), checkSamsung},
		{"NVMe", diskAt("nvme0n1", "nvme"), micron7300(), checkNVMe},
		{"SAS", diskAt("sda", "sas"), px05(), checkSAS},
		{
			"eMMC",
			blockdev.Disk{Identity: blockdev.Identity{Kernel: "mmcblk0"}, LifeTime: []string{"0x02", "0x0b"}, PreEOL: "0x01"},
			nil,
			func(t *testing.T, r *Reading) {
				if r.MMC == nil || *r.MMC != (MMCLife{TypeA: 2, TypeB: 11, PreEOL: 1}) || r.Protocol != "MMC" {
					t.Errorf("got %s", show(r.MMC))
				}
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, _, err := readFake(t, tt.disk, tt.reply)
			if err != nil {
				t.Fatal(err)
			}
			if r.Source != "native" || r.At.IsZero() || r.Identity.Kernel != tt.disk.Kernel {
				t.Errorf("source %q, time %v, kernel name %q", r.Source, r.At, r.Identity.Kernel)
			}
			tt.check(t, r)
		})
	}
}

func TestNativeFailures(t *testing.T) {
	tests := []struct {
		name   string
		disk   blockdev.Disk
		reply  smarttest.Disk
		reason Reason
		words  []string
	}{
		{"a virtual disk that has no way to be asked", diskAt("vda", "virtio"), nil, Unsupported, nil},
		{"an SD card", diskAt("mmcblk1", "mmc"), nil, Unsupported, nil},
		{"an eMMC with a life time that is no number", blockdev.Disk{Identity: blockdev.Identity{Kernel: "mmcblk0"}, LifeTime: []string{"0x02", "what"}}, nil, Parse, nil},
		{"a virtual SCSI disk", diskAt("sda", "scsi"), smarttest.SCSI{Vendor: "QEMU", Product: "QEMU HARDDISK"}, Unsupported, []string{"smart.files"}},
		{"a SCSI disk without health pages", diskAt("sda", "scsi"), smarttest.SCSI{Vendor: "LIO-ORG", Pages: map[uint8][]smarttest.Parameter{0x3e: nil}}, Unsupported, nil},
		{"an enclosure", diskAt("sda", "sas"), smarttest.SCSI{Vendor: "X", Type: 0x0d}, Unsupported, []string{"not a disk"}},
		{"a USB stick", diskAt("sda", "usb"), smarttest.SCSI{Vendor: "Generic", Product: "Flash Disk", Removable: true}, Unsupported, []string{"card reader"}},
		{"a USB bridge that lets no ATA through", diskAt("sda", "usb"), smarttest.SCSI{Vendor: "JMicron"}, Unsupported, []string{"smart.files", "CHECK POWER MODE"}},
		{"S.M.A.R.T. switched off", diskAt("sda", "sata"), func() smarttest.Disk {
			d := samsung()
			d.SMARTOff = true
			return d
		}(), Unsupported, []string{"smartctl -s on"}},
		{"a wrong checksum", diskAt("sda", "sata"), func() smarttest.Disk {
			d := samsung()
			d.DataChecksumOff = 1
			return d
		}(), Parse, []string{"checksum"}},
		{"an NVMe controller that fails Identify", diskAt("nvme0n1", "nvme"), smarttest.NVMe{IdentifyStatus: 0x4006}, IO, []string{"Identify Controller"}},
		{"an NVMe controller that fails the log", diskAt("nvme0n1", "nvme"), smarttest.NVMe{Model: "M", LogStatus: 0x371}, IO, []string{"Get Log Page"}},
		{"an NVMe controller that has no such log", diskAt("nvme0n1", "nvme"), smarttest.NVMe{Model: "M", LogStatus: 0x4109}, Unsupported, nil},
		{"an NVMe log of zeros", diskAt("nvme0n1", "nvme"), smarttest.NVMe{Model: "M", Zeros: true}, Parse, nil},
		{"a cloud's NVMe disk without a log", diskAt("nvme0n1", "nvme"), smarttest.NVMe{Model: "Amazon Elastic Block Store", VendorID: 0x1d0f, Zeros: true}, Unsupported, []string{"virtual"}},
		{"no capability for ATA", diskAt("sda", "sata"), smarttest.Refusing(unix.EPERM), Permission, []string{"CAP_SYS_RAWIO"}},
		{"no capability for NVMe", diskAt("nvme0n1", "nvme"), smarttest.Refusing(unix.EACCES), Permission, []string{"CAP_SYS_ADMIN"}},
		{"not a disk", diskAt("sda", "sata"), smarttest.Refusing(unix.ENOTTY), Unsupported, nil},
		{"unplugged", diskAt("sda", "sata"), smarttest.Refusing(unix.ENODEV), IO, nil},
		{"the kernel gave a command up", diskAt("sda", "sata"), smarttest.Func(func(smarttest.Command) smarttest.Reply {
			return smarttest.Reply{HostStatus: 3}
		}), Timeout, nil},
		{"a medium error", diskAt("sda", "sata"), smarttest.Func(func(smarttest.Command) smarttest.Reply {
			return smarttest.Reply{Status: 2, Sense: []byte{0x72, 3, 0x11, 0, 0, 0, 0, 0}}
		}), IO, []string{"medium error, sense 3/11/00"}},
		{"a parser that fails on the disk's answer ends in an error, not the process", diskAt("sda", "sata"), smarttest.Func(func(smarttest.Command) smarttest.Reply {
			panic("what the disk said")
		}), Other, []string{"what the disk said"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, _, err := readFake(t, tt.disk, tt.reply)
			if r != nil {
				t.Errorf("a Reading beside the error: %s", show(r))
			}
			wantReadError(t, err, tt.reason, tt.words...)
		})
	}
}

func TestNothingWakesADisk(t *testing.T) {
	asleep := hg5d()
	asleep.Standby = true
	mute, muteHDD := hg5d(), hg5d()
	mute.LosesRegisters = true
	muteHDD.LosesRegisters, muteHDD.Rotation = true, 7200
	sleepingSAS := px05()
	sleepingSAS.Standby = true
	tests := []struct {
		name  string
		disk  blockdev.Disk
		reply smarttest.Disk
		sent  []string
		state string
	}{
		{"SATA", diskAt("sda", "sata"), asleep, []string{"e5"}, "standby"},
		{"SATA behind a SAS adapter", diskAt("sda", "sas"), asleep, []string{"scsi 12", "e5"}, "standby"},
		{"SAS", diskAt("sda", "sas"), sleepingSAS, []string{"scsi 12", "scsi 03"}, "standby"},
		{"a hard disk whose bridge does not tell", diskAt("sda", "usb"), muteHDD, []string{"scsi 12", "e5", "ec"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, sent, err := readFake(t, tt.disk, tt.reply)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(sent, tt.sent) || r.PowerState != tt.state {
				t.Errorf("sent %q, power state %q; want %q, %q", sent, r.PowerState, tt.sent, tt.state)
			}
			if r.Attributes != nil || r.SCSI != nil || r.Statistics != nil || r.TemperatureC != nil {
				t.Errorf("read from a sleeping disk: %s", show(r))
			}
		})
	}
	t.Run("an SSD whose bridge fails CHECK POWER MODE is read", func(t *testing.T) {
		d := hg5d()
		fails := smarttest.Func(func(c smarttest.Command) smarttest.Reply {
			if command, _, ok := c.ATA(); ok && command == ataCheckPowerMode {
				return smarttest.Reply{Status: 2, Sense: []byte{0x70, 0, 0x0b, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}}
			}
			return d.Answer(c)
		})
		r, _, err := readFake(t, diskAt("sda", "usb"), fails)
		if err != nil || len(r.Attributes) == 0 {
			t.Errorf("%s, %v", show(r), err)
		}
	})
	t.Run("an SSD whose bridge does not tell is read", func(t *testing.T) {
		r, _, err := readFake(t, diskAt("sda", "usb"), mute)
		if err != nil || len(r.Attributes) == 0 {
			t.Errorf("%s, %v", show(r), err)
		}
	})
	t.Run("a disk that the kernel suspended is not even opened", func(t *testing.T) {
		sys := t.TempDir()
		dir := filepath.Join(sys, "class", "block", "sda", "device", "power")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "runtime_status"), []byte("suspended\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		n := NewNative(blockdev.Roots{Sysfs: sys})
		n.open = func(string) (commander, error) { t.Error("opened"); return nil, unix.EIO }
		r, err := n.Read(t.Context(), diskAt("sda", "sata"))
		if err != nil || r.PowerState != "standby" {
			t.Errorf("%s, %v", show(r), err)
		}
	})
}

func TestAFailedPartBecomesAMessage(t *testing.T) {
	d := hg5d()
	d.DataChecksumOff = 1
	r, _, err := readFake(t, diskAt("sda", "sata"), d)
	if err != nil {
		t.Fatal(err)
	}
	if r.Attributes != nil || len(r.Statistics) != 3 || len(r.Messages) != 1 || !strings.Contains(r.Messages[0], "checksum") {
		t.Errorf("attributes %v, statistics %v, messages %q", r.Attributes, r.Statistics, r.Messages)
	}
	if r.Passed != nil {
		t.Error("a verdict without attributes")
	}
}

func TestAFailingDriveSaysSo(t *testing.T) {
	d := hg5d()
	d.Failing = true
	r, _, err := readFake(t, diskAt("sda", "sata"), d)
	if err != nil || r.Passed == nil || *r.Passed {
		t.Errorf("passed %v, %v", r.Passed, err)
	}
}

func TestAHangingDiskIsHeldByOneReadOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var opened []string
		n := NewNative(blockdev.Roots{Sysfs: "/nowhere"})
		n.open = func(path string) (commander, error) {
			mu.Lock()
			defer mu.Unlock()
			opened = append(opened, path)
			if path == "/dev/sdb" {
				return fakeNode{hg5d(), new([]string)}, nil
			}
			d := hg5d()
			d.Stuck = []uint8{0xd0}
			return fakeNode{d, new([]string)}, nil
		}
		stuck := diskAt("sda", "sata")
		stuck.Device = "/dev/sda"
		well := diskAt("sdb", "sata")
		well.Device = "/dev/sdb"

		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		_, err := n.Read(ctx, stuck)
		wantReadError(t, err, Timeout)
		if took := time.Since(start); took != 20*time.Second {
			t.Errorf("returned after %v, the deadline was 20 s", took)
		}
		for range 3 {
			_, err = n.Read(t.Context(), stuck)
			wantReadError(t, err, Timeout, "still hangs")
		}
		if _, err := n.Read(t.Context(), well); err != nil {
			t.Errorf("another disk: %v", err)
		}
		mu.Lock()
		if want := []string{"/dev/sda", "/dev/sdb"}; !slices.Equal(opened, want) {
			t.Errorf("opened %q, want %q", opened, want)
		}
		mu.Unlock()
		time.Sleep(2 * time.Hour) // the system call comes back
		synctest.Wait()
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := n.Read(ctx, stuck); strings.Contains(err.Error(), "still hangs") {
			t.Errorf("the disk stays blocked: %v", err)
		}
		time.Sleep(2 * time.Hour)
	})
}

func TestALiteralLeavesNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := hg5d()
		d.Stuck = []uint8{smartReadData}
		n := Native{Roots: blockdev.Roots{Sysfs: "/nowhere"}, open: func(string) (commander, error) { return fakeNode{d, new([]string)}, nil }}
		sda := diskAt("sda", "sata")
		sda.Device = "/dev/sda"
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		start := time.Now()
		_, err := n.Read(ctx, sda) // no goroutine is left, or the bubble would not end
		wantReadError(t, err, Timeout)
		if took := time.Since(start); took < time.Hour {
			t.Errorf("returned after %v, before the system call did", took)
		}
	})
}

func TestHalfOfADiskIsNoSuccess(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	d := hg5d()
	ends := smarttest.Func(func(c smarttest.Command) smarttest.Reply {
		if _, feature, ok := c.ATA(); ok && feature == smartReadThreshold {
			cancel() // when the attributes are there already
		}
		return d.Answer(c)
	})
	n := NewNative(blockdev.Roots{Sysfs: t.TempDir()})
	n.open = func(string) (commander, error) { return fakeNode{ends, new([]string)}, nil }
	sda := diskAt("sda", "sata")
	sda.Device = "/dev/sda"
	r, err := n.read(ctx, sda)
	if r != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("%s, %v", show(r), err)
	}
}

func TestOpeningNeverWaits(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "sda") // opening a pipe for reading waits for a writer, as opening a drive may for a medium
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	d := diskAt("sda", "sata")
	d.Device = pipe
	_, err := NewNative(blockdev.Roots{}).Read(ctx, d)
	wantReadError(t, err, Unsupported)
}

func TestAnEndedContextTouchesNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	n := NewNative(blockdev.Roots{})
	n.open = func(string) (commander, error) { t.Error("opened"); return nil, unix.EIO }
	_, err := n.Read(ctx, diskAt("sda", "sata"))
	wantReadError(t, err, Other)
}
