package smart

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ssd_exporter/blockdev"
	"ssd_exporter/smart/smarttest"
)

// simulatedEnv tells the copy of the test binary that runs among simulated disks where they are.
const simulatedEnv = "SMART_TEST_SIMULATED_DEV"

// TestNativeSystemCalls reads simulated disks with the system calls of the product, in a copy of this test binary, and
// then looks at what reached each disk. The copy runs the same test, which there is readSimulated.
func TestNativeSystemCalls(t *testing.T) {
	if dev := os.Getenv(simulatedEnv); dev != "" {
		readSimulated(t, dev)
		return
	}
	dev := t.TempDir()
	disks := map[string]smarttest.Disk{}
	for name, disk := range map[string]smarttest.Disk{
		"sda":   hg5d(),
		"sdb":   intel520(),
		"sdc":   samsung(),
		"sdd":   px05(),
		"sde":   func() smarttest.Disk { d := hg5d(); d.Standby = true; return d }(),
		"sdf":   smarttest.Refusing(unix.EPERM),
		"sdg":   smarttest.Hanging(),
		"sdh":   smarttest.Slow(hg5d(), 50*time.Millisecond),
		"sdi":   shortOf(hg5d()),
		"sdj":   attentive(hg5d()),
		"nvme0": micron7300(),
		"nvme1": smarttest.NVMe{Model: "FAILING", Serial: "1", LogStatus: 0x4006},
		"nvme2": smarttest.NVMe{Model: "EMPTY", Serial: "2", Zeros: true},
		"nvme3": smarttest.Refusing(unix.EACCES),
	} {
		path := filepath.Join(dev, name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		disks[path] = disk
	}
	if err := os.WriteFile(filepath.Join(dev, "sdz"), nil, 0o600); err != nil { // not a disk, not simulated
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestNativeSystemCalls$", "-test.count=1")
	cmd.Env = append(os.Environ(), simulatedEnv+"="+dev, "GORACE=atexit_sleep_ms=0")
	out := &strings.Builder{}
	cmd.Stdout, cmd.Stderr = out, out
	log, err := smarttest.Run(cmd, disks)
	if errors.Is(err, smarttest.ErrRefused) {
		t.Skipf("the system calls of native reading are not tested: %v; run this as root on a kernel from 5.5 on, outside of a sandbox", err)
	}
	if err != nil {
		t.Fatalf("reading simulated disks: %v\n%s", err, out)
	}
	if !strings.Contains(out.String(), "PASS") {
		t.Fatalf("the copy did not run the test:\n%s", out)
	}

	sent := func(name string) []string {
		var s []string
		for _, c := range log.Commands(filepath.Join(dev, name)) {
			if c.Timeout != 0 && c.Timeout < time.Minute {
				t.Errorf("%s: command % x with a time limit of %v: the kernel would reset a slow disk", name, c.CDB, c.Timeout)
			}
			s = append(s, describe(c))
		}
		return s
	}
	for name, want := range map[string][]string{
		"sda":   {"e5", "ec", "b0/d0", "b0/d1", "b0/da", "b0/d5", "b0/d5"},
		"sdb":   {"e5", "ec", "b0/d0", "b0/d1", "b0/da", "b0/d5", "2f", "2f"},
		"sde":   {"e5"},
		"sdg":   {"e5"},
		"sdi":   {"e5", "ec"},
		"sdj":   {"e5", "e5", "ec", "b0/d0", "b0/d1", "b0/da", "b0/d5", "b0/d5"},
		"nvme0": {"admin 06", "admin 02"},
		"nvme1": {"admin 06", "admin 02"},
	} {
		if got := sent(name); !slices.Equal(got, want) {
			t.Errorf("%s was sent %q, want %q", name, got, want)
		}
	}
}

// shortOf is a disk whose data loses its last bytes on the way.
func shortOf(d smarttest.Disk) smarttest.Disk {
	return smarttest.Func(func(c smarttest.Command) smarttest.Reply {
		r := d.Answer(c)
		r.Data = r.Data[:max(len(r.Data)-12, 0)]
		return r
	})
}

// attentive is a disk that was reset: it carries the first command out only when it is sent again.
func attentive(d smarttest.Disk) smarttest.Disk {
	var once sync.Once
	return smarttest.Func(func(c smarttest.Command) smarttest.Reply {
		r := d.Answer(c)
		once.Do(func() {
			r = smarttest.Reply{Status: 2, Sense: []byte{0x72, senseUnitAttention, 0x29, 0, 0, 0, 0, 0}}
		})
		return r
	})
}

// describe names a command by its codes.
func describe(c smarttest.Command) string {
	if command, feature, ok := c.ATA(); ok {
		if command == 0xb0 {
			return fmt.Sprintf("%02x/%02x", command, feature)
		}
		return fmt.Sprintf("%02x", command)
	}
	if c.CDB != nil {
		return fmt.Sprintf("scsi %02x", c.CDB[0])
	}
	return fmt.Sprintf("admin %02x", c.NVMe.Opcode)
}

// readSimulated checks what is read from the simulated disks.
func readSimulated(t *testing.T, dev string) {
	roots := blockdev.Roots{Dev: dev, Sysfs: filepath.Join(dev, "no-sysfs")}
	native := NewNative(roots)
	read := func(name, transport string, timeout time.Duration) (*Reading, error) {
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		defer cancel()
		return native.Read(ctx, blockdev.Disk{Device: filepath.Join(dev, name), Identity: blockdev.Identity{Kernel: name, Transport: transport}})
	}
	mustRead := func(t *testing.T, name, transport string) *Reading {
		t.Helper()
		r, err := read(name, transport, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}

	t.Run("HG5d behind real ioctls", func(t *testing.T) {
		checkHG5d(t, mustRead(t, "sda", "sata"))
	})
	t.Run("Intel 520 with statistics in the general purpose log", func(t *testing.T) {
		checkIntel520(t, mustRead(t, "sdb", "sata"))
	})
	t.Run("Samsung", func(t *testing.T) {
		checkSamsung(t, mustRead(t, "sdc", "sata"))
	})
	t.Run("SAS", func(t *testing.T) {
		checkSAS(t, mustRead(t, "sdd", "sas"))
	})
	t.Run("NVMe", func(t *testing.T) {
		checkNVMe(t, mustRead(t, "nvme0", "nvme"))
	})
	t.Run("a sleeping disk says so and nothing else", func(t *testing.T) {
		checkStandby(t, mustRead(t, "sde", "sata"))
	})
	t.Run("a failed NVMe command is an error and not 0 %", func(t *testing.T) {
		_, err := read("nvme1", "nvme", time.Minute)
		wantReadError(t, err, IO, "Get Log Page 02h", "internal error")
	})
	t.Run("an NVMe log of zeros is an error and not 0 %", func(t *testing.T) {
		_, err := read("nvme2", "nvme", time.Minute)
		wantReadError(t, err, Parse, "empty")
	})
	t.Run("a transfer that is cut short is not filled up with zeros", func(t *testing.T) {
		_, err := read("sdi", "sata", time.Minute)
		wantReadError(t, err, Parse, "500 of 512 bytes")
	})
	t.Run("a disk that was reset is asked again", func(t *testing.T) {
		checkHG5d(t, mustRead(t, "sdj", "sata"))
	})
	t.Run("no capability for ATA", func(t *testing.T) {
		_, err := read("sdf", "sata", time.Minute)
		wantReadError(t, err, Permission, "CAP_SYS_RAWIO")
		if !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%v is not fs.ErrPermission", err)
		}
	})
	t.Run("no capability for NVMe", func(t *testing.T) {
		_, err := read("nvme3", "nvme", time.Minute)
		wantReadError(t, err, Permission, "CAP_SYS_ADMIN")
	})
	t.Run("an ordinary file has no S.M.A.R.T.", func(t *testing.T) {
		_, err := read("sdz", "sata", time.Minute)
		wantReadError(t, err, Unsupported)
	})
	t.Run("a missing node", func(t *testing.T) {
		_, err := read("sdy", "sata", time.Minute)
		wantReadError(t, err, IO, "--path.dev")
	})
	t.Run("a disk that hangs costs its own deadline only", func(t *testing.T) {
		var hung, slow error
		var both sync.WaitGroup
		both.Go(func() { _, hung = read("sdg", "sata", 500*time.Millisecond) })
		both.Go(func() { _, slow = read("sdh", "sata", time.Minute) })
		both.Wait()
		wantReadError(t, hung, Timeout)
		if !errors.Is(hung, context.DeadlineExceeded) {
			t.Errorf("%v is not a passed deadline", hung)
		}
		if slow != nil {
			t.Errorf("the slow disk beside it: %v", slow)
		}
		_, again := read("sdg", "sata", time.Minute) // returns at once, though it has a minute
		wantReadError(t, again, Timeout, "still hangs")
	})
}

func wantReadError(t *testing.T, err error, reason Reason, words ...string) {
	t.Helper()
	var e *ReadError
	if !errors.As(err, &e) {
		t.Fatalf("error %v (%T), want a *ReadError with reason %s", err, err, reason)
	}
	if e.Reason != reason {
		t.Errorf("reason %s, want %s: %v", e.Reason, reason, err)
	}
	for _, w := range append(words, e.Disk) {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q does not say %q", err, w)
		}
	}
}

func show(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}
