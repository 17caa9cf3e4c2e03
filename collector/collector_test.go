package collector

import (
	"bytes"
	"log/slog"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"

	"ssd_exporter/monitor"
)

func TestOneBadDiskNeverVoidsThePage(t *testing.T) {
	clean := len(gather(t, fixture(), Options{})["ssd_smart_read_success"].GetMetric())
	for _, c := range []struct {
		story string
		spoil func(*monitor.Snapshot)
		disks int // with ssd_smart_read_success
	}{
		{"two disks with one identity: the first wins", func(s *monitor.Snapshot) { s.Disks = append(s.Disks, s.Disks[0], s.Disks[0]) }, clean},
		{"bytes that are no UTF-8", func(s *monitor.Snapshot) { s.Disks[0].Identity.Serial, s.Disks[0].ID = "\xff\xfe", "bad\xc3" }, clean},
		{
			"two identities that are equal once made valid",
			func(s *monitor.Snapshot) { s.Disks[0].ID, s.Disks[1].ID = "bad\xff", "bad\xfe" }, clean - 1,
		},
		{"quotes, line ends and braces", func(s *monitor.Snapshot) { s.Disks[0].Identity.Model = "a\"} 1\n# EOF\n\\" }, clean},
		{"not a number", func(s *monitor.Snapshot) { s.Disks[2].Health.Wear.Used = new(math.NaN()) }, clean},
		{"infinity", func(s *monitor.Snapshot) { s.Disks[2].Health.Temperatures["composite"] = math.Inf(1) }, clean},
		{"a negative counter", func(s *monitor.Snapshot) { s.Disks[2].Written["probe"] = -1 }, clean},
		{"two targets with one name", func(s *monitor.Snapshot) { s.Targets = append(s.Targets, s.Targets[1]) }, clean},
	} {
		t.Run(c.story, func(t *testing.T) {
			s := fixture()
			c.spoil(s)
			families := gather(t, s, Options{Attributes: true})
			for _, f := range families {
				for _, m := range f.GetMetric() {
					for _, l := range m.GetLabel() {
						if !utf8.ValidString(l.GetValue()) {
							t.Errorf("%s{%s=%q}", f.GetName(), l.GetName(), l.GetValue())
						}
					}
				}
			}
			if got := len(families["ssd_smart_read_success"].GetMetric()); got != c.disks {
				t.Errorf("%d disks on the page, want %d", got, c.disks)
			}
			if got := scrape(t, Handler(func() *monitor.Snapshot { return s }, defaults, nil), nil); !strings.Contains(got.Body.String(), "ssd_probe_iops{") {
				t.Errorf("the page has no probes: %d %.200s", got.Code, got.Body)
			}
		})
	}
}

func TestAPanickingRowCostsItsOwnSampleAndIsLogged(t *testing.T) {
	var log bytes.Buffer
	c := New(fixture, Options{Log: slog.New(slog.NewTextHandler(&log, nil))}).(*snapshotCollector)
	for i := range c.rows {
		if yield := c.rows[i].yield; c.rows[i].Name == "ssd_wear_used_ratio" {
			c.rows[i].yield = func(of subject, out sink) {
				if of.disk.ID == "WIDGET_SATA_1" {
					panic("a bug")
				}
				yield(of, out)
			}
		}
	}
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(c)
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "ssd_wear_used_ratio" && len(f.GetMetric()) != 1 {
			t.Errorf("%d wear figures, want that of the other disk", len(f.GetMetric()))
		}
	}
	if want := len(gather(t, fixture(), Options{})); len(families) != want {
		t.Errorf("%d families, want %d", len(families), want)
	}
	if !strings.Contains(log.String(), "a bug") || !strings.Contains(log.String(), "WIDGET_SATA_1") {
		t.Errorf("the log does not tell which sample was left out: %q", log.String())
	}
}

// The budgets that the documentation states, for the default options.
func TestCardinalityBudgets(t *testing.T) {
	page := scrape(t, Handler(oneDisk, defaults, nil), nil).Body.String()
	disk, target := 0, 0
	for line := range strings.Lines(page) {
		switch {
		case strings.HasPrefix(line, "#"):
		case strings.Contains(line, `target="`):
			target++
		case strings.Contains(line, `device_id="`):
			disk++
		}
	}
	t.Logf("%d series of the disk, %d of the target, %d bytes", disk, target, len(page))
	if disk > 90 || disk < 60 {
		t.Errorf("%d series of a disk that tells everything: at most 90 are promised, and far fewer mean that this test lost its disk", disk)
	}
	if target > 400 || target < 250 {
		t.Errorf("%d series of a target with all default workloads: at most 400 are promised", target)
	}
	if len(page) > 75_000 {
		t.Errorf("the page has %d bytes, at most 75,000 are promised", len(page))
	}
}

func defaults() Options { return Options{} }
