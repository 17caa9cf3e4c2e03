package smart

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// caseWant is what a field case must come to. Fields left out must be unknown, except those in the second group, which are
// compared only where given.
type caseWant struct {
	wear   float64 // unknown: must be absent
	source string
	bound  bool
	host   uint64  // bytes
	media  uint64  // bytes
	waf    float64 // to three digits

	family    string
	composite float64 // degrees Celsius; unknown: must be absent
	hours     float64
	healthy   *bool
	check     func(*testing.T, *Health)
}

// unknown is "must be unknown" where 0 is a figure.
var unknown = math.NaN()

// TestFieldCases are reports from the field that some tool got wrong, retyped with the figures that matter.
func TestFieldCases(t *testing.T) {
	const sda = "ata_attribute_"
	yes, no := new(true), new(false)
	cases := map[string]caseWant{
		// 173 counts from 200 down, 100 is the rated end; raw stays 0 and the database does not know it.
		"O-01_hg5d_THNSNH128GMCT": {wear: .20, source: sda + "173", host: 10635230950912, family: "Toshiba HG5d", hours: 10373},
		"O-01_hg5_THNSNF128GMCS":  {wear: .11, source: sda + "173", family: "Toshiba HG5/HG3"},
		"O-01_q300pro_new":        {wear: 0, source: sda + "173", host: 90230496768},
		// 241 is called LBAs and counts 32 MiB: Device Statistics prove it.
		"O-02_hk4r_241_in_32MiB": {wear: .01, source: sda + "173", host: 33554432000000},
		// The normalised value of 194 is 100 minus the temperature, its worst no maximum.
		"O-03_inverted_temperature": {wear: 0, source: sda + "173", composite: 31},
		// Workload timers are garbage: 3363 %, 5120 years, 65535.
		"O-04_intel_320_160GB":       {wear: .02, source: sda + "233", host: 12024349454336, hours: 42160},
		"O-04_intel_320_120GB_65535": {wear: 0, source: sda + "233", host: 27514634240},
		"O-05_intel_S4500":           {wear: .45, source: sda + "233", host: 139230122606592, media: 855529131868160, waf: 6.145},
		"O-06_intel_540s_unknown_to_database": {
			wear: .16, source: sda + "233", host: 12654315831296,
			family: "Intel 540s",
		},
		// Dead by wear while S.M.A.R.T. passes: thresholds are 0.
		"O-06_dead_169_0": {wear: 1, source: sda + "169", bound: true, healthy: yes},
		"O-06_dead_231_0": {wear: 1, source: sda + "231", bound: true, healthy: yes},
		// 202 is named "remaining", its raw counts up.
		"O-07_mx500_99_used":       {wear: .99, source: sda + "202", healthy: no},
		"O-07_mx500_4096_physical": {wear: .19, source: sda + "202", host: 12286272097280},
		"O-07_mx500_underflow":     {wear: 2.10, source: sda + "202"},
		"O-08_micron_without_model": {
			wear: .09, source: sda + "202", host: 27586570893312, media: 138838000000000, waf: 5.033,
			check: func(t *testing.T, h *Health) {
				if h.Rotational == nil || *h.Rotational {
					t.Errorf("rotational = %v: the layout proves an SSD", h.Rotational)
				}
			},
		},
		"O-08_samsung_850_evo": {wear: .72, source: sda + "177", host: 118962963172352},
		"O-09_mx500_pending": {wear: .02, source: sda + "202", check: func(t *testing.T, h *Health) {
			wantCount(t, "pending sectors", h.PendingSectors, 1) // exported as it is: persistence is the alert's business
		}},
		"O-10_m550_disagrees": {
			wear: 0, source: sda + "202", host: 4467027111424, media: 5518900000000, waf: 1.235, hours: 192,
			check: func(t *testing.T, h *Health) {
				if got := h.Wear.Sources[sourceStatistics]; got != .06 {
					t.Errorf("device statistics beside the chosen source = %v, want 0.06", got)
				}
				wantCount(t, "reallocated", h.Reallocated, 89)
				wantCount(t, "media errors", h.MediaErrors, 494)
				if h.SpareAvailable != nil {
					t.Errorf("spare = %v: 180 with VALUE 0 is no failure", *h.SpareAvailable)
				}
			},
		},
		// Worn out long before the published TBW.
		"O-11_850_pro":                   {wear: .98, source: sda + "177", host: 32040291032064, healthy: yes},
		"O-11_850_evo_at_floor":          {wear: .99, source: sda + "177", bound: true, host: 293145319474176},
		"O-12_pm893":                     {wear: .02, source: sda + "177", host: 334113921024},
		"O-12_pm893_unknown_to_database": {wear: .02, source: sda + "177", host: 668100901376},
		"O-12_sm863_without_status":      {wear: .09, source: sda + "177", host: 110825747394560},
		// 231 stands at 100, its raw is what is left; the maker's name says Toshiba, the firmware Phison.
		"O-13_cfd_phison":          {wear: .13, source: sda + "231", host: 14211548688896, composite: 33, family: "Phison / Kingston A400"},
		"O-14_lexar_ns100_32MiB":   {wear: unknown, host: 33498991113216},
		"O-14_ts32gmts400":         {wear: .04, source: sda + "169", host: 1014853795840, media: 4587998150656, waf: 4.521},
		"O-15_a400":                {wear: .02, source: sda + "231", host: 427349245952, media: 1051193245696, waf: 2.460},
		"O-15_a400_value_firmware": {wear: .15, source: sda + "231"},
		// A compressing controller writes less than the host: below 1 is real.
		"O-16_sv300":   {wear: .03, source: sda + "231", host: 22216792080384, media: 17114370932736, waf: .770},
		"O-16_shfs37a": {wear: .09, source: sda + "231", host: 4565550235648},
		// 230 counts up on WD, is packed on SanDisk, and is nothing on a USB stick's controller.
		"O-17_wd_blue_value_counts_up": {wear: 0, source: sda + "230", host: 2200518656},
		"O-17_sandisk_packed_decimal":  {wear: 0, source: sda + "230", host: 2266668990464},
		"O-17_sandisk_pssd":            {wear: unknown},
		"O-18_plextor_m5p": {wear: unknown, host: 36726735110144, composite: unknown, check: func(t *testing.T, h *Health) {
			wantCount(t, "host read", h.HostRead, 1700549*mib32)
		}},
		"O-19_intel_233_raw_1569": {wear: 0, source: sda + "233"},
		"O-19_sc311_233_raw_3":    {wear: .02, source: sda + "177"},
		"O-20_spare_is_not_wear": {wear: .12, source: sourceNVMe, host: 349488289792000, composite: 49.85, check: func(t *testing.T, h *Health) {
			if h.SpareAvailable == nil || *h.SpareAvailable != 1 || h.SpareThreshold == nil || *h.SpareThreshold != .1 {
				t.Errorf("spare = %v, threshold %v", h.SpareAvailable, h.SpareThreshold)
			}
		}},
		"O-21_used_100_bit_2": {wear: 1, source: sourceNVMe, healthy: no, check: func(t *testing.T, h *Health) {
			if !h.Critical["reliability"] || h.Critical["spare"] || len(h.Critical) != 6 {
				t.Errorf("critical = %v", h.Critical)
			}
			if !strings.Contains(h.Wear.Note, "rated endurance is used up") {
				t.Errorf("note = %q, want it to say what the bit means here", h.Wear.Note)
			}
		}},
		"O-21_used_200": {wear: 2, source: sourceNVMe, healthy: yes},
		"O-21_used_255": {wear: 2.55, source: sourceNVMe, bound: true, healthy: no},
		"O-22_beyond_2_to_53": {
			wear: .41, source: sourceNVMe, host: 16579274242048000, composite: 21, hours: 57288,
			check: func(t *testing.T, h *Health) { wantCount(t, "power cycles", h.PowerCycles, 27) },
		},
		"O-22_firecuda_units_0":          {wear: .01, source: sourceNVMe, hours: 3113},
		"O-22_nvme-cli_integers":         {wear: .02, source: sourceNVMe, host: 69712734208000, composite: 36.85, healthy: yes},
		"O-22_nvme-cli_floats":           {wear: .02, source: sourceNVMe, host: 69712734208000, composite: 36.85, healthy: yes},
		"O-22_nvme-cli_strings":          {wear: .02, source: sourceNVMe, host: 69712734208000, composite: 36.85, healthy: yes},
		"O-22_nvme-cli_object":           {wear: .30, source: sourceNVMe, host: 987485941760000, composite: 50.85, healthy: yes},
		"O-23_990_pro_64_percent_health": {wear: .36, source: sourceNVMe, host: 2006000000000000},
		"O-24_netapp_x358":               {wear: .20, source: sourceSCSI},
		"O-24_kioxia_kpm6x": {wear: .03, source: sourceSCSI, composite: 36, hours: 24755.95, check: func(t *testing.T, h *Health) {
			if len(h.TemperatureLimits) != 0 {
				t.Errorf("limits = %v: a trip temperature of 0 is none", h.TemperatureLimits)
			}
		}},
		"O-24_hgst_husmm": {wear: 0, source: sourceSCSI, host: 64403000000},
		"O-24_without_the_field": {wear: unknown, host: 86472611000000, composite: 31, family: "hard disk", check: func(t *testing.T, h *Health) {
			wantCount(t, "host read", h.HostRead, 132824923000000)
			wantCount(t, "media errors", h.MediaErrors, 3)
			wantCount(t, "reallocated", h.Reallocated, 2)
			if h.TemperatureLimits["critical"] != 65 {
				t.Errorf("limits = %v", h.TemperatureLimits)
			}
		}},
		// OEM relabels that no database knows: the standard's own figure.
		"O-25_hpe_relabel": {wear: .03, source: sourceStatistics, family: "unknown"},
		"O-26_toshiba_disk_226": {wear: unknown, family: "hard disk", hours: 38978, check: func(t *testing.T, h *Health) {
			wantCount(t, "reallocated", h.Reallocated, 8)
			wantCount(t, "pending sectors", h.PendingSectors, 1)
			if len(h.Wear.Sources) != 0 {
				t.Errorf("sources = %v: a hard disk has none", h.Wear.Sources)
			}
		}},
		"O-26_intel_201":                   {wear: .57, source: sda + "233"},
		"O-26_disk_without_rotation_rate":  {wear: unknown, composite: 30, family: "unknown"},
		"O-28_raid_volume":                 {wear: unknown, composite: unknown},
		"O-28_propolis":                    {wear: unknown, composite: unknown, family: "virtual disk"},
		"O-28_zeros_under_an_unknown_name": {wear: unknown, composite: unknown, check: wantRejected},
		"O-29_emmc":                        {wear: .2, source: sourceMMC, family: "eMMC", healthy: yes},
		"O-29_emmc_exceeded":               {wear: 1.1, source: sourceMMC, healthy: no},
		"O-29_emmc_undefined":              {wear: unknown},
		"O-33_impossible_spare":            {wear: unknown, composite: unknown, check: wantRejected},
		"O-34_micron_7300": {wear: .09, source: sourceNVMe, host: 697474862080000, composite: 26, check: func(t *testing.T, h *Health) {
			if h.Temperatures["1"] != 35 || h.Temperatures["2"] != 28 || len(h.Temperatures) != 3 {
				t.Errorf("temperatures = %v", h.Temperatures)
			}
			if h.TemperatureLimits["warning"] != 70 || len(h.TemperatureLimits) != 1 {
				t.Errorf("limits = %v: 65535 K is none", h.TemperatureLimits)
			}
			if h.ThrottleSeconds["warning"] != 180 || h.ThrottleSeconds["critical"] != 0 || len(h.ThrottleSeconds) != 2 {
				t.Errorf("throttle seconds = %v", h.ThrottleSeconds)
			}
		}},
	}
	files, err := filepath.Glob("testdata/cases/*.json")
	if err != nil || len(files) != len(cases) {
		t.Fatalf("%d files for %d cases: %v", len(files), len(cases), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		t.Run(name, func(t *testing.T) {
			want, ok := cases[name]
			if !ok {
				t.Fatalf("%s has no expectation", file)
			}
			want.compare(t, Interpret(readOne(t, file)))
		})
	}
}

func (w caseWant) compare(t *testing.T, h *Health) {
	t.Helper()
	switch got := h.Wear.Used; {
	case math.IsNaN(w.wear) && got != nil:
		t.Errorf("wear = %v from %s, want none", *got, h.Wear.Source)
	case math.IsNaN(w.wear):
	case got == nil:
		t.Errorf("no wear, want %v (sources %v)", w.wear, h.Wear.Sources)
	case math.Abs(*got-w.wear) > 1e-9:
		t.Errorf("wear = %v, want %v", *got, w.wear)
	case h.Wear.Source != w.source:
		t.Errorf("wear source = %q, want %q", h.Wear.Source, w.source)
	case h.Wear.Sources[w.source] != *got:
		t.Errorf("sources = %v, want the chosen figure under %q", h.Wear.Sources, w.source)
	}
	if h.Wear.LowerBound != w.bound {
		t.Errorf("lower bound = %v, want %v", h.Wear.LowerBound, w.bound)
	}
	wantBytes(t, "host written", h.HostWritten, w.host, 0)
	wantBytes(t, "media written", h.MediaWritten, w.media, 1e-3)
	switch {
	case w.waf == 0 && h.WriteAmplification != nil:
		t.Errorf("write amplification = %v, want none", *h.WriteAmplification)
	case w.waf != 0 && (h.WriteAmplification == nil || math.Abs(*h.WriteAmplification-w.waf) > .001):
		t.Errorf("write amplification = %s, want %v", ratioText(h.WriteAmplification), w.waf)
	}
	if w.family != "" && h.Family != w.family {
		t.Errorf("family = %q, want %q", h.Family, w.family)
	}
	if got, ok := h.Temperatures["composite"]; math.IsNaN(w.composite) && ok || w.composite > 0 && math.Abs(got-w.composite) > 1e-9 {
		t.Errorf("temperature = %v %v, want %v", got, ok, w.composite)
	}
	if w.hours != 0 && (h.PowerOn == nil || math.Abs(h.PowerOn.Hours()-w.hours) > 1e-6) {
		t.Errorf("power on = %v, want %v h", h.PowerOn, w.hours)
	}
	if w.healthy != nil && (h.Healthy == nil || *h.Healthy != *w.healthy) {
		t.Errorf("healthy = %v, want %v", h.Healthy, *w.healthy)
	}
	if w.check != nil {
		w.check(t, h)
	} else if len(h.Errors) > 0 {
		t.Errorf("errors = %q, want none", h.Errors)
	}
}

func wantBytes(t *testing.T, what string, got *uint64, want uint64, tolerance float64) {
	t.Helper()
	switch {
	case want == 0 && got != nil:
		t.Errorf("%s = %d, want none", what, *got)
	case want != 0 && got == nil:
		t.Errorf("no %s, want %d", what, want)
	case want != 0 && math.Abs(float64(*got)-float64(want)) > tolerance*float64(want):
		t.Errorf("%s = %d, want %d", what, *got, want)
	}
}

func wantCount(t *testing.T, what string, got *uint64, want uint64) {
	t.Helper()
	if got == nil || *got != want {
		t.Errorf("%s = %v, want %d", what, got, want)
	}
}

func wantRejected(t *testing.T, h *Health) {
	t.Helper()
	if len(h.Errors) != 1 || !strings.Contains(h.Errors[0], "rejected") {
		t.Errorf("errors = %q, want one that says why the log was rejected", h.Errors)
	}
	if h.Healthy != nil || h.Critical != nil || h.SpareAvailable != nil || h.HostWritten != nil {
		t.Errorf("something of a rejected log was believed: %+v", h)
	}
}

// readOne decodes a file of one report.
func readOne(t testing.TB, file string) *Reading {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var list []*Reading
	err = Decode(f, file, func(r *Reading, err error) error {
		list = append(list, r)
		return err
	})
	if err != nil || len(list) != 1 {
		t.Fatalf("%d readings: %v", len(list), err)
	}
	return list[0]
}
