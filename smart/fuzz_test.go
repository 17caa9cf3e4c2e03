package smart

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func FuzzDecode(f *testing.F) {
	files, err := filepath.Glob("testdata/cases/*.json")
	if err != nil || len(files) == 0 {
		f.Fatal(len(files), err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	for _, s := range []string{
		"", "{", "}", "[", `{"a":`, "{}\n{", "\x1f\x8b", `{"smartctl":{"exit_status":-1}}`, `{"nvme_smart_health_information_log":{"percentage_used":-5,"available_spare":1e300}}`,
		`{"device":{"protocol":"SCSI"},"scsi_percentage_used_endurance_indicator":-3,"scsi_error_counter_log":{"write":{"gigabytes_processed":"1e400"}}}`,
		`{"ata_smart_attributes":{"table":[{"id":300,"value":-1,"raw":{"value":-1}},{"id":233,"value":1e9}]},"rotation_rate":0}`,
		`{"ssd_exporter":{"emmc_life":{"type_a":255,"type_b":11,"pre_eol":200},"at":"x"}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		err := Decode(strings.NewReader(string(b)), "fuzz", func(r *Reading, err error) error {
			if r == nil && err == nil {
				t.Error("neither a reading nor an error")
			}
			if r != nil {
				checkHealth(t, Interpret(r))
			}
			return nil
		})
		if err != nil && !strings.HasPrefix(err.Error(), "fuzz") {
			t.Errorf("error without its source: %v", err)
		}
	})
}

// FuzzInterpret feeds the rules with attributes that no JSON would carry.
func FuzzInterpret(f *testing.F) {
	for i := range families {
		f.Add(exampleModel(&families[i]), "X2", "Silicon Motion based SSDs", families[i].id, 1, uint64(1<<48-1), "", uint64(255), uint64(1<<33), int16(0))
	}
	f.Add("", "", "", uint8(230), -1, uint64(0), "0x", uint64(math.MaxUint64), uint64(math.MaxUint64), int16(-1))
	f.Add("", "", "WD Blue", uint8(230), 300, uint64(math.MaxUint64), "-", uint64(0), uint64(0), int16(7200))
	f.Fuzz(func(t *testing.T, model, firmware, database string, id uint8, value int, raw uint64, text string, pue, sectors uint64, rpm int16) {
		r := ssd(model, firmware, database, -1)
		*r.RotationRate = int(rpm)
		r.Attributes = []Attribute{
			{ID: id, Value: value, Raw: raw, RawString: text},
			{ID: 241, Value: value, Raw: raw},
			{ID: 242, Raw: raw},
			{ID: 167, Raw: raw, Value: value},
			{ID: 168, Raw: 3000},
			{ID: 173, Value: value, Raw: raw},
			{ID: 246, Raw: raw},
			{ID: 247, Raw: raw},
			{ID: 248, Raw: raw >> 1},
		}
		r.Statistics = map[Stat]uint64{StatPercentageUsed: pue, StatSectorsWritten: sectors, StatSectorsRead: sectors, StatPowerOnHours: raw}
		h := Interpret(r)
		checkHealth(t, h)
		if rpm > 0 && h.Wear.Used != nil {
			t.Errorf("wear of a disk with %d rpm", rpm)
		}
		forgetSmartctl(r)
		checkHealth(t, Interpret(r))
	})
}

// checkHealth holds for every Health.
func checkHealth(t *testing.T, h *Health) {
	t.Helper()
	finite := func(what string, v float64) {
		if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
			t.Errorf("%s = %v", what, v)
		}
	}
	if h.Wear.Used != nil {
		finite("wear", *h.Wear.Used)
		if got, ok := h.Wear.Sources[h.Wear.Source]; !ok || got != *h.Wear.Used {
			t.Errorf("chosen source %q is not among %v", h.Wear.Source, h.Wear.Sources)
		}
	} else if h.Wear.Source != "" || h.Wear.LowerBound {
		t.Errorf("no figure, yet %+v", h.Wear)
	}
	for s, v := range h.Wear.Sources {
		finite(s, v)
	}
	for what, v := range map[string]*float64{"write amplification": h.WriteAmplification, "spare": h.SpareAvailable, "spare threshold": h.SpareThreshold} {
		if v != nil {
			finite(what, *v)
		}
	}
	for s, v := range h.Temperatures {
		if !plausible(v) {
			t.Errorf("temperature of %s = %v", s, v)
		}
	}
	if h.HostWritten != nil && *h.HostWritten == 0 || h.MediaWritten != nil && *h.MediaWritten == 0 {
		t.Error("0 bytes are no figure")
	}
	if h.PowerOn != nil && (*h.PowerOn < 0 || *h.PowerOn > maxPowerOnHours*time.Hour) {
		t.Errorf("power on = %v", *h.PowerOn)
	}
	if h.Rotational != nil && *h.Rotational && h.Wear.Used != nil {
		t.Error("wear of a rotating disk")
	}
}
