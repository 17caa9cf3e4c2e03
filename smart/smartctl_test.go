package smart

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ssd_exporter/blockdev"
	"ssd_exporter/smart/smarttest"
)

// TestNativeAgreesWithSmartctl lets smartctl, unmodified, read the same simulated disks, and compares what it says with
// what Native says. It proves both the simulation and the reading, since smartctl shares no code with either.
func TestNativeAgreesWithSmartctl(t *testing.T) {
	smartctl := findSmartctl()
	if smartctl == "" {
		t.Skip("native reading is not compared with smartctl, which is not installed: apt-get install smartmontools")
	}
	tests := []struct {
		name string
		disk blockdev.Disk
		kind string
		sim  smarttest.Disk
	}{
		{"HG5d", diskAt("sda", "sata"), "sat", hg5d()},
		{"Intel 520", diskAt("sda", "sata"), "sat", intel520()},
		{"Samsung", diskAt("sda", "sata"), "sat", samsung()},
		{"SAS", diskAt("sda", "sas"), "scsi", px05()},
		{"NVMe", diskAt("nvme0", "nvme"), "nvme,0xffffffff", micron7300()},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			native, _, err := readFake(t, tt.disk, tt.sim)
			if err != nil {
				t.Fatal(err)
			}
			compareReadings(t, native, smartctlReading(t, smartctl, tt.kind, tt.disk.Kernel, tt.sim))
		})
	}
}

// findSmartctl also looks where an ordinary user's PATH does not lead. SMARTCTL overrides it.
func findSmartctl() string {
	if path := os.Getenv("SMARTCTL"); path != "" {
		return path
	}
	for _, name := range []string{"smartctl", "/usr/sbin/smartctl", "/sbin/smartctl"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

func smartctlReading(t *testing.T, smartctl, kind, kernel string, sim smarttest.Disk) *Reading {
	t.Helper()
	node := filepath.Join(t.TempDir(), kernel)
	if err := os.WriteFile(node, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	out, complaints := &strings.Builder{}, &strings.Builder{}
	cmd := exec.Command(smartctl, "-x", "-j", "-d", kind, node)
	cmd.Stdout, cmd.Stderr = out, complaints
	_, err := smarttest.Run(cmd, map[string]smarttest.Disk{node: sim})
	if errors.Is(err, smarttest.ErrRefused) {
		t.Skipf("native reading is not compared with smartctl: %v; run this as root on a kernel from 5.5 on, outside of a sandbox", err)
	}
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode()&3 != 0) { // the other bits are findings
		t.Fatalf("smartctl: %v\n%s%s", err, out, complaints)
	}
	var reading *Reading
	if err := Decode(strings.NewReader(out.String()), "smartctl", func(r *Reading, err error) error {
		reading = r
		return err
	}); err != nil {
		t.Fatalf("smartctl's answer: %v\n%s", err, out)
	}
	return reading
}

// compareReadings compares all that smartctl prints of what Native reads.
func compareReadings(t *testing.T, native, ctl *Reading) {
	t.Helper()
	equal(t, "protocol", native.Protocol, ctl.Protocol)
	equal(t, "model", native.Identity.Model, ctl.Identity.Model)
	equal(t, "serial", native.Identity.Serial, ctl.Identity.Serial)
	equal(t, "firmware", native.Identity.Firmware, ctl.Identity.Firmware)
	equal(t, "id", native.Identity.ID(), ctl.Identity.ID())
	if native.Identity.WWN != "" && ctl.Identity.WWN != "" && !native.Identity.Same(ctl.Identity) {
		t.Errorf("WWN %q, smartctl %q", native.Identity.WWN, ctl.Identity.WWN)
	}
	equal(t, "capacity", native.Capacity, ctl.Capacity)
	equal(t, "rotation", native.RotationRate, ctl.RotationRate)
	if ctl.Passed != nil { // of a SCSI disk smartctl 7.3 wants a mode page first
		equal(t, "verdict", native.Passed, ctl.Passed)
	}
	equal(t, "hours", native.PowerOnHours, ctl.PowerOnHours)
	equal(t, "cycles", native.PowerCycles, ctl.PowerCycles)
	equal(t, "temperature", native.TemperatureC, ctl.TemperatureC)
	plain := slices.Clone(ctl.Attributes)
	for i := range plain {
		plain[i].Name, plain[i].RawString = "", "" // smartctl's own knowledge
	}
	equal(t, "attributes", native.Attributes, plain)
	equal(t, "statistics", fmt.Sprint(native.Statistics), fmt.Sprint(ctl.Statistics))
	if native.NVMe != nil && ctl.NVMe != nil && ctl.NVMe.WarningTemp == nil {
		l := *native.NVMe
		l.WarningTemp, l.CriticalTemp = nil, nil // smartctl prints the limits from 7.4 on
		native.NVMe = &l
	}
	equal(t, "NVMe log", native.NVMe, ctl.NVMe)
	if native.SCSI != nil && ctl.SCSI != nil {
		equal(t, "endurance", native.SCSI.PercentageUsed, ctl.SCSI.PercentageUsed)
		equal(t, "trip temperature", native.SCSI.TripC, ctl.SCSI.TripC)
		equal(t, "uncorrected", native.SCSI.Uncorrected, ctl.SCSI.Uncorrected)
	}
}
