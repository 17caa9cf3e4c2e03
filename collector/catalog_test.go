package collector

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"

	"ssd_exporter/monitor"
	"ssd_exporter/monitor/history"
)

var update = flag.Bool("update", false, "rewrite golden files and docs/metrics.md")

// gather collects a snapshot through a pedantic registry, which refuses every inconsistency.
func gather(t *testing.T, s *monitor.Snapshot, o Options) map[string]*dto.MetricFamily {
	t.Helper()
	r := prometheus.NewPedanticRegistry()
	if err := r.Register(New(func() *monitor.Snapshot { return s }, o)); err != nil {
		t.Fatal(err)
	}
	list, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	families := map[string]*dto.MetricFamily{}
	for _, f := range list {
		families[f.GetName()] = f
	}
	return families
}

func labelsOf(m *dto.Metric) map[string]string {
	labels := map[string]string{}
	for _, l := range m.GetLabel() {
		labels[l.GetName()] = l.GetValue()
	}
	return labels
}

func TestEveryRowHasASampleInTheFixture(t *testing.T) {
	families := gather(t, fixture(), Options{Attributes: true})
	for _, row := range Catalog() {
		if got := len(families[row.Name].GetMetric()); got == 0 && !row.Process {
			t.Errorf("%s never yields: add it to the fixture, or remove the row", row.Name)
		}
		delete(families, row.Name)
	}
	for name := range families {
		t.Errorf("%s is on the page and not in the catalogue", name)
	}
}

func TestCatalogIsWellFormed(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range Catalog() {
		if seen[r.Name] {
			t.Errorf("%s occurs twice", r.Name)
		}
		seen[r.Name] = true
		if !strings.HasPrefix(r.Name, "ssd_") || strings.Contains(r.Name, "percent_") || strings.HasSuffix(r.Name, "_percent") {
			t.Errorf("%s: names begin with ssd_, and ratios are no percentages", r.Name)
		}
		if (r.Kind == Counter) != strings.HasSuffix(r.Name, "_total") {
			t.Errorf("%s is a %s", r.Name, r.Kind)
		}
		if (r.Kind == Info) != strings.HasSuffix(r.Name, "_info") {
			t.Errorf("%s is a %s", r.Name, r.Kind)
		}
		if !strings.HasSuffix(r.Help, ".") || !slices.Contains(Scopes(), r.Scope) || (r.yield == nil) != r.Process {
			t.Errorf("%s: incomplete row %+v", r.Name, r)
		}
		for label := range r.Closed {
			if !slices.Contains(r.Labels, label) {
				t.Errorf("%s: closed values of %s, which is no label of it", r.Name, label)
			}
		}
	}
}

func TestClosedLabelSetsHold(t *testing.T) {
	families := gather(t, fixture(), Options{Attributes: true})
	for _, row := range Catalog() {
		for _, m := range families[row.Name].GetMetric() {
			labels := labelsOf(m)
			for label, values := range row.Closed {
				if !slices.Contains(values, labels[label]) {
					t.Errorf("%s: %s=%q is not one of %q", row.Name, label, labels[label], values)
				}
			}
		}
	}
}

func TestEventsOutsideTheirSetCountAsOther(t *testing.T) {
	families := gather(t, fixture(), Options{})
	for _, c := range []struct {
		metric, label, key, value string
		want                      float64
	}{
		{"ssd_probe_runs_total", "outcome", "target", "data", 4},
		{"ssd_probe_io_errors_total", "errno", "target", "data", 2},
		{"ssd_smart_read_failures_total", "reason", "device_id", string(fullDisk().ID), 1},
	} {
		found := false
		for _, m := range families[c.metric].GetMetric() {
			if l := labelsOf(m); l[c.key] == c.value && l[c.label] == "other" {
				found = true
				if got := m.GetCounter().GetValue(); got != c.want {
					t.Errorf("%s{%s=other} = %v, want %v", c.metric, c.label, got, c.want)
				}
			}
		}
		if !found {
			t.Errorf("%s has no %s=other", c.metric, c.label)
		}
	}
}

func TestUnknownIsAbsent(t *testing.T) {
	counters := []string{
		"ssd_probe_aborted_total", "ssd_probe_invalid_total", "ssd_probe_io_errors_total", "ssd_probe_runs_total", "ssd_probe_skipped_total",
		"ssd_probe_verify_failures_total",
	}
	for _, c := range []struct {
		story string
		s     *monitor.Snapshot
		want  []string // families
	}{
		{"no snapshot", nil, nil},
		{"nothing was looked at yet", &monitor.Snapshot{}, nil},
		{"no disk was found", &monitor.Snapshot{At: noon()}, []string{"ssd_devices"}},
		{
			"a disk of which nothing is known", &monitor.Snapshot{At: noon(), Disks: []monitor.DiskState{{ID: "a"}}},
			[]string{"ssd_device_info", "ssd_devices", "ssd_smart_read_failures_total"},
		},
		{
			"a target that was not looked at", &monitor.Snapshot{At: noon(), Targets: []monitor.TargetState{{Name: "a"}}},
			slices.Sorted(slices.Values(append([]string{"ssd_devices", "ssd_probe_target_info", "ssd_probe_stuck"}, counters...))),
		},
		{
			"a workload that never ran and has no schedule",
			&monitor.Snapshot{At: noon(), Targets: []monitor.TargetState{{Name: "a", Workloads: make([]monitor.WorkloadState, 1)}}},
			slices.Sorted(slices.Values(append([]string{"ssd_devices", "ssd_probe_target_info", "ssd_probe_stuck"}, counters...))),
		},
	} {
		t.Run(c.story, func(t *testing.T) {
			var got []string
			for name := range gather(t, c.s, Options{Attributes: true}) {
				got = append(got, name)
			}
			slices.Sort(got)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("families (-want +got):\n%s", diff)
			}
		})
	}
}

// A disk was worn, or a person paused it, for weeks: what its last run found then is no news. When it was stays.
func TestWhatTheLastAttemptFoundEndsWithTheFigures(t *testing.T) {
	s := fixture()
	before := gather(t, s, Options{})
	for i := range s.Targets {
		for j := range s.Targets[i].Workloads {
			s.Targets[i].Workloads[j].Expired = true
		}
	}
	after := gather(t, s, Options{})
	for _, name := range []string{"ssd_probe_valid", "ssd_probe_contended", "ssd_probe_foreign_iops", "ssd_probe_duration_seconds"} {
		if before[name] == nil || after[name] != nil {
			t.Errorf("%s: there before: %v, still there after it expired: %v", name, before[name] != nil, after[name] != nil)
		}
	}
	if after["ssd_probe_last_attempt_timestamp_seconds"] == nil {
		t.Error("when the last attempt was is forgotten")
	}
}

func TestHealthWithoutFiguresHasNoZeros(t *testing.T) {
	s := fixture()
	s.Disks[2].Health.Wear.Used, s.Disks[2].Health.HostWritten, s.Disks[2].Health.SpareAvailable = nil, nil, nil
	s.Disks[2].Health.Critical = map[string]bool{"spare": false}
	families := gather(t, s, Options{})
	for name, want := range map[string]int{
		"ssd_wear_used_ratio": 1, "ssd_host_written_bytes_total": 0, "ssd_rated_writes_used_ratio": 0, "ssd_spare_available_ratio": 0,
		"ssd_critical_warning": 1, "ssd_spare_threshold_ratio": 1,
	} {
		if got := len(families[name].GetMetric()); got != want {
			t.Errorf("%s has %d samples, want %d", name, got, want)
		}
	}
}

func TestASleepingDiskIsInStandbyWhateverItSaidBefore(t *testing.T) {
	for _, m := range gather(t, fixture(), Options{})["ssd_power_state"].GetMetric() {
		if l := labelsOf(m); l["device_id"] == "WIDGET_SATA_1" && (m.GetGauge().GetValue() == 1) != (l["state"] == "standby") {
			t.Errorf("state %s is %v", l["state"], m.GetGauge().GetValue())
		}
	}
}

func TestATargetHasADeviceOnlyOnOneDisk(t *testing.T) {
	families := gather(t, fixture(), Options{})
	for _, m := range families["ssd_probe_iops"].GetMetric() {
		l := labelsOf(m)
		if (l["device_id"] == "") != (l["target"] == "array") {
			t.Errorf("device_id %q of target %q", l["device_id"], l["target"])
		}
	}
	if got := len(families["ssd_probe_target_device_info"].GetMetric()); got != 3 {
		t.Errorf("%d links of targets to disks, want 2 of array and 1 of data", got)
	}
}

func TestTheLastSuccessOutlivesItsFigures(t *testing.T) {
	s := fixture()
	w := &s.Targets[1].Workloads[0]
	bad, long := *w.Measured, noon().AddDate(0, -2, 0)
	bad.Outcome = history.Failed
	w.Last, w.Measured, w.LastSuccess = &bad, nil, long
	for _, m := range gather(t, s, Options{})["ssd_probe_last_success_timestamp_seconds"].GetMetric() {
		if l := labelsOf(m); l["target"] == "data" && l["workload"] == "read_4k_q1" {
			if got := m.GetGauge().GetValue(); got != float64(long.Unix()) {
				t.Errorf("last success at %v, want %v", got, long.Unix())
			}
			return
		}
	}
	t.Error("there is no last success")
}

func TestLintIsSilent(t *testing.T) {
	for _, o := range []Options{{}, {ClassicHistograms: true, Attributes: true}} {
		problems, err := testutil.CollectAndLint(New(fixture, o))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range problems {
			t.Errorf("%+v: %s: %s", o, p.Metric, p.Text)
		}
	}
}

func TestPromtoolIsSilent(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed: `apt-get install prometheus` (or `make test-deps`) brings it")
	}
	for _, o := range []Options{{}, {ClassicHistograms: true, Attributes: true}} {
		cmd := exec.Command(promtool, "check", "metrics")
		cmd.Stdin = strings.NewReader(scrape(t, Handler(fixture, func() Options { return o }, nil), nil).Body.String())
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%+v: promtool check metrics: %v\n%s", o, err, out)
		}
	}
}

func TestMarkdownIsUpToDate(t *testing.T) {
	path := filepath.Join("..", "docs", "metrics.md")
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(Markdown()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(got), Markdown()); diff != "" {
		t.Errorf("docs/metrics.md is out of date; run: go test ./collector -run Markdown -update\n%s", diff)
	}
	row := regexp.MustCompile("(?m)^\\| `(ssd_[a-z0-9_]+)`")
	if documented := row.FindAllString(string(got), -1); len(documented) != len(Catalog()) {
		t.Errorf("%d metrics are documented, the catalogue has %d", len(documented), len(Catalog()))
	}
}
