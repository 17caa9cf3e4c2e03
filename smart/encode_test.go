package smart

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ssd_exporter/blockdev"
)

// readings covers every field of a Reading at least once, with the values that are hard to carry.
func readings() map[string]*Reading {
	at := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	return map[string]*Reading{
		"ATA as smartctl prints it": {
			At: at, Protocol: "ATA", DBFamily: "Some SSDs", Capacity: 240057409536, BlockSize: 512,
			Identity:     blockdev.Identity{Model: "M", Serial: "S", Firmware: "F", WWN: "naa.50014ee123456789", Transport: "sata", Kernel: "sda"},
			RotationRate: new(0), Passed: new(false), PowerState: "active", PowerOnHours: new(24755 + 57.0/60), PowerCycles: new(uint64(18)), TemperatureC: new(36.0),
			Attributes: []Attribute{{ID: 231, Name: "SSD_Life_Left", Value: 97, Worst: 96, Threshold: 10, Raw: 4294967297, RawString: "4294967297", Flags: 0x33}},
			Statistics: map[Stat]uint64{StatSectorsWritten: 27756931033, StatPercentageUsed: 12, statTemperature: math.MaxUint64 - 4}, // -5 C
			Messages:   []string{"a warning"},
		},
		"ATA as read natively": {
			At: at.Add(123456789), Protocol: "ATA", Identity: blockdev.Identity{Model: "M", Serial: "S", WWN: "0x50014ee123456789", Transport: "usb", Kernel: "sda"},
			PowerState: "idle", PowerOnHours: new(12.3456789), TemperatureC: new(-5.5),
			Attributes: []Attribute{{ID: 5, Value: 100, Worst: -1, Threshold: -1, Raw: 1<<48 - 1}, {ID: 255, Value: 0, Worst: 0, Threshold: 0}},
		},
		"NVMe": {
			At: at, Protocol: "NVMe", Identity: blockdev.Identity{Model: "M", WWN: "eui.00a07512345678ab", Transport: "nvme", Kernel: "nvme0n1"}, Capacity: math.MaxInt64 / 4,
			TemperatureC: new(36.85), PowerOnHours: new(57288.0), NVMe: &NVMeLog{
				CriticalWarning: 0x3f, Temperature: new(310), AvailableSpare: new(99), SpareThreshold: new(10),
				PercentageUsed: new(255), DataUnitsRead: new(uint64(math.MaxUint64)), DataUnitsWritten: new(uint64(1<<53 + 1)), HostReads: new(uint64(1)), HostWrites: new(uint64(2)),
				BusyMinutes: new(uint64(3)), PowerCycles: new(uint64(4)), PowerOnHours: new(uint64(57288)), UnsafeShutdowns: new(uint64(5)), MediaErrors: new(uint64(0)),
				ErrorLogEntries: new(uint64(6)), WarningTempMinutes: new(uint64(7)), CriticalTempMinutes: new(uint64(8)), Sensors: []int{308, 0, 301, 0},
				ThrottleSeconds: [2]*uint64{new(uint64(9)), nil}, WarningTemp: new(343), CriticalTemp: new(358),
			},
		},
		"NVMe that said nothing": {Protocol: "NVMe", NVMe: &NVMeLog{}, Identity: blockdev.Identity{Transport: "nvme"}},
		"SAS": {
			At: at, Protocol: "SCSI", Identity: blockdev.Identity{Model: "V P", Firmware: "R", Transport: "sas", Kernel: "sdc"}, TemperatureC: new(36.0),
			SCSI: &SCSILog{PercentageUsed: new(20), BytesWritten: new(132824923000000.0), BytesRead: new(64403000000.125), Uncorrected: new(uint64(3)), TripC: new(70), Defects: new(uint64(2))},
		},
		"SCSI with a trip temperature alone": {Protocol: "SCSI", SCSI: &SCSILog{TripC: new(0)}},
		"eMMC":                               {At: at, Protocol: "MMC", Identity: blockdev.Identity{Model: "BJTD4R", Serial: "0x1", Transport: "mmc", Kernel: "mmcblk0"}, MMC: &MMCLife{TypeA: 2, TypeB: 11, PreEOL: 1}},
		"a disk behind a RAID controller":    {Protocol: "ATA", Identity: blockdev.Identity{Transport: "sata", Kernel: "bus/0;sat+megaraid,3"}, Passed: new(true)},
		"asleep":                             {Protocol: "ATA", Identity: blockdev.Identity{Model: "M", Transport: "sata"}, PowerState: "standby"},
		"an unknown bus and a CCISS name":    {Identity: blockdev.Identity{Model: "M", Kernel: "cciss!c0d0", Transport: "raid"}, TemperatureC: new(1e-7)},
	}
}

func TestEncodeRoundTrip(t *testing.T) {
	for name, want := range readings() {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := Encode(&b, want); err != nil {
				t.Fatal(err)
			}
			if s := b.String(); strings.Count(s, "\n") != 1 || !strings.HasSuffix(s, "\n") {
				t.Errorf("not one line: %q", s)
			}
			got, err := single(t, b.String())
			if err != nil {
				t.Fatalf("%v: %s", err, b.String())
			}
			got.Source = ""
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("(-want +got)\n%s\n%s", d, b.String())
			}
		})
	}
}

func TestEncodeRoundTripOfFieldCases(t *testing.T) {
	files, err := filepath.Glob("testdata/cases/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal(len(files), err)
	}
	for _, file := range files {
		want := readOne(t, file)
		var b bytes.Buffer
		if err := Encode(&b, want); err != nil {
			t.Fatal(err)
		}
		got, err := single(t, b.String())
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		got.Source = want.Source
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got)\n%s", file, d)
		}
	}
}

// What Encode writes is meant for other readers of smartctl's JSON too, so the ordinary parts must be where smartctl has
// them, and our own object only where smartctl has no place.
func TestEncodeLooksLikeSmartctl(t *testing.T) {
	var b bytes.Buffer
	if err := Encode(&b, readings()["ATA as smartctl prints it"]); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/encoded-ata.json")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), b.String()); d != "" {
		t.Errorf("(-testdata/encoded-ata.json +got)\n%s", d)
	}
}

func TestEncodeReportsAFailingWriter(t *testing.T) {
	boom := errors.New("disk full")
	err := Encode(failingWriter{boom}, readings()["eMMC"])
	if !errors.Is(err, boom) || !strings.Contains(err.Error(), "BJTD4R") {
		t.Errorf("error = %v, want the writer's and the model", err)
	}
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }

func TestGigabytesMoveTheDecimalPointWithoutRounding(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for i := range 2000 {
		want := math.Floor(rnd.Float64() * math.Pow(10, float64(i%20)))
		if i%3 == 0 {
			want = rnd.Float64() * 1e12
		}
		s := gigabytesOf(&want)
		if got := gigabytes(s); got == nil || *got != want {
			t.Fatalf("%v became %q became %v", want, s, got)
		}
	}
	for in, want := range map[string]float64{"64.403": 64403000000, "132824.923": 132824923000000, "0.000": 0, "1": 1e9} {
		if got := gigabytes(in); got == nil || *got != want {
			t.Errorf("gigabytes(%q) = %v, want %v", in, got, want)
		}
	}
	for _, in := range []string{"", "-1", "1e5", "0x10", "inf", "NaN", "1_000", "1,5"} {
		if got := gigabytes(in); got != nil {
			t.Errorf("gigabytes(%q) = %v, want none", in, *got)
		}
	}
}
