package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ssd_exporter/engine"
	"ssd_exporter/engine/probefile"
)

func TestDefault_is_what_an_empty_file_means(t *testing.T) {
	for name, text := range map[string]string{
		"nothing": "", "comments": "# none\n", "a dash line": "---\n", "null": "null\n",
		"empty sections": "guards:\nbudget:\nsmart:\nendurance:\nmetrics:\n",
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Parse("x.yml", []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(Default(), got); d != "" {
				t.Errorf("not Default (-want +got):\n%s", d)
			}
		})
	}
	got, err := Load("")
	if err != nil || !cmp.Equal(Default(), got) {
		t.Errorf(`Load("") = %v, %v, want Default`, got, err)
	}
}

const full = `
targets:
  - name: data
  - name: db
    path: srv/db
    profile: read_only
    file_size: 512MB
    fill_rate: unlimited
    engine: sync
    schedule: "@every 1h30m"
    schedules:
      read_1m_q2: "0 3 * * mon"
quiet_hours: ["22:00-06:00", "sat-SUN 00:00-24:00"]
guards:
  utilisation: 0.5
  in_flight: 4
  foreign_iops: 1000.5
  window: 2s500ms
  hot_margin_celsius: 7.5
  max_temperature_celsius: 60
  battery: false
  worn_ratio: 1
budget:
  bytes_per_day: 1.5GB
smart:
  enabled: false
  nvme_interval: 2m
  interval: 1h
  timeout: 5s
  files: ["/var/lib/smartctl/*.json", "relative/*.json"]
  files_max_age: 7d
  attributes: true
endurance:
  ratings:
    - model: INTEL SSDSC2BB240*
      bytes: 140TB
      years: 5
    - {model: "Samsung SSD 840*", bytes: 72TB}
metrics:
  classic_histograms: true
`

func TestYAML_is_read_back_as_the_same_configuration(t *testing.T) {
	none := Default()
	none.Targets = nil
	zero := Default()
	zero.Budget.BytesPerDay.Fixed = new(Bytes)
	parsed, err := Parse("full.yml", []byte(full))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]*Config{"default": Default(), "no targets": none, "no writes": zero, "everything set": parsed} {
		t.Run(name, func(t *testing.T) {
			got, err := Parse("again.yml", c.YAML())
			if err != nil {
				t.Fatalf("%v\n%s", err, c.YAML())
			}
			if d := cmp.Diff(c, got); d != "" {
				t.Errorf("changed on the way (-want +got):\n%s", d)
			}
		})
	}
}

func TestYAML_of_Default_spells_out_every_key_but_the_unset(t *testing.T) {
	text := string(Default().YAML())
	unset := map[string]bool{"path": true, "schedule": true, "schedules": true, "model": true, "bytes": true, "years": true}
	for _, k := range allKeys() {
		last := k[strings.LastIndexAny(k, ".]")+1:]
		if unset[last] || strings.HasSuffix(k, "<workload>") {
			continue
		}
		if !strings.Contains(text, last+":") {
			t.Errorf("key %s is not in\n%s", k, text)
		}
	}
}

func TestLoad_names_the_file_that_it_cannot_read(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "none.yml")
	_, err := Load(missing)
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), missing) {
		t.Errorf("Load of a missing file: %v, want ErrNotExist with its path", err)
	}
	bad := filepath.Join(t.TempDir(), "bad.yml")
	if err := os.WriteFile(bad, []byte("\nprobes: []\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(bad); err == nil || !strings.HasPrefix(err.Error(), bad+":2: ") {
		t.Errorf("Load of a bad file: %v, want it to begin with file and line", err)
	}
}

// Neither Ctrl-C nor a reload would get through to a program that waits for a pipe, and /dev/zero took all memory.
func TestLoad_refuses_what_is_no_configuration_file_at_once(t *testing.T) {
	dir := t.TempDir()
	pipe, huge := filepath.Join(dir, "pipe"), filepath.Join(dir, "huge")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(huge, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(huge, 1<<40); err != nil {
		t.Skipf("no sparse file of 1 TiB can be made here: %v; run with TMPDIR on another file system, such as ext4 or tmpfs", err)
	}
	for path, want := range map[string]string{
		dir: "is a folder", pipe: "no regular file", "/dev/zero": "no regular file", huge: "more than 1048576 bytes",
	} {
		_, err := Load(path)
		if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "--config.file") {
			t.Errorf("Load(%s): %v, want it to say %q and to name the file and the flag", path, err, want)
		}
	}
}

func TestParse_tells_at_most_twenty_things(t *testing.T) {
	_, err := Parse("x.yml", []byte("targets: 1\nguards:\n"+manyUnknown(50)))
	if es, _ := errors.AsType[Errors](err); len(es) != maxErrors {
		t.Errorf("%d errors, want %d", len(es), maxErrors)
	}
}

func manyUnknown(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("  k" + strings.Repeat("x", i) + ": 1\n")
	}
	return b.String()
}

func TestParse_gives_list_entries_their_defaults_and_follows_aliases(t *testing.T) {
	c, err := Parse("x.yml", []byte("targets:\n  - &a\n    name: a\n    path: /srv/a\n    fill_rate: unlimited\n  - <<: *a\n    name: b\n    path: ../b\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := []Target{
		{Name: "a", Path: "/srv/a", Profile: Light, FileSize: 1 << 30, FillRate: Unlimited, Engine: Auto},
		{Name: "b", Path: "../b", Profile: Light, FileSize: 1 << 30, FillRate: Unlimited, Engine: Auto},
	}
	if d := cmp.Diff(want, c.Targets); d != "" {
		t.Errorf("targets (-want +got):\n%s", d)
	}
}

func TestParse_survives_aliases_that_multiply(t *testing.T) {
	var b strings.Builder
	b.WriteString("targets: &t0 [{name: a}]\n")
	b.WriteString("smart: &m\n  files: &f0 [x]\n")
	b.WriteString("guards: {<<: [*m, *m, *m, *m]}\n")
	if _, err := Parse("x.yml", []byte(b.String())); err == nil {
		t.Error("keys of smart were accepted in guards")
	}
}

func TestOptions_carry_every_key(t *testing.T) {
	c, err := Parse("full.yml", []byte(full))
	if err != nil {
		t.Fatal(err)
	}
	o, err := c.Options("/var/lib/ssd")
	if err != nil {
		t.Fatal(err)
	}
	if o.StateDir != "/var/lib/ssd" || len(o.Targets) != 2 || o.PerDay == nil || *o.PerDay != 1_500_000_000 {
		t.Fatalf("state %q, %d targets, per day %v", o.StateDir, len(o.Targets), o.PerDay)
	}
	a, b := o.Targets[0], o.Targets[1]
	if a.Dir != "/var/lib/ssd" || a.Profile != "light" || a.FileSize != 1<<30 || a.FillRate != 100e6 || a.Backend != engine.Auto {
		t.Errorf("the target without a path: %+v", a)
	}
	if dir, err := filepath.Abs("srv/db"); err != nil || b.Dir != dir || b.Profile != "read_only" || b.FileSize != 512e6 || b.FillRate != 0 || b.Backend != engine.Pread {
		t.Errorf("the target with everything: %+v", b)
	}
	if g := o.Guards; g.Utilisation != 0.5 || g.InFlight != 4 || g.ForeignIOPS != 1000.5 || g.Window != 2500*time.Millisecond ||
		g.HotMargin != 7.5 || g.MaxTemp != 60 || g.WornWrites != 1 || g.Battery {
		t.Errorf("guards: %+v", g)
	}
	if s := o.Smart; s.Enabled || s.NVMeInterval != 2*time.Minute || s.Interval != time.Hour || s.Timeout != 5*time.Second ||
		s.MaxAge != 7*24*time.Hour || !s.Attributes || len(s.Files) != 2 {
		t.Errorf("smart: %+v", s)
	}
	if len(o.Ratings) != 2 || o.Ratings[0].Bytes != 140e12 || o.Ratings[0].Term != 5*365*24*time.Hour || o.Ratings[1].Term != 0 {
		t.Errorf("ratings: %+v", o.Ratings)
	}
}

func TestOptions_put_the_narrowest_schedule_first(t *testing.T) {
	c, err := Parse("full.yml", []byte(full))
	if err != nil {
		t.Fatal(err)
	}
	o, err := c.Options("data")
	if err != nil {
		t.Fatal(err)
	}
	if len(o.Targets[1].Workloads) == 0 {
		t.Fatal("no workloads")
	}
	for _, w := range o.Targets[0].Workloads {
		if w.Schedule == nil || w.Interval <= 0 {
			t.Errorf("default schedule of %s: %v every %v", w.Name, w.Schedule, w.Interval)
		}
	}
	for _, w := range o.Targets[1].Workloads {
		want := 90 * time.Minute
		if w.Name == "read_1m_q2" {
			want = 7 * 24 * time.Hour
		}
		if w.Interval != want {
			t.Errorf("%s every %v, want %v", w.Name, w.Interval, want)
		}
	}
}

func TestOptions_refuse_two_targets_in_one_folder(t *testing.T) {
	c := Default()
	c.Targets = append(c.Targets, defaultTarget("same"))
	c.Targets[1].Path = "./state/../state"
	_, err := c.Options("state")
	if err == nil || !strings.Contains(err.Error(), `"data" and "same"`) {
		t.Errorf("error %v, want one that names both targets", err)
	}
}

func TestOptions_forbid_writing_when_the_budget_is_zero(t *testing.T) {
	c, err := Parse("x.yml", []byte("budget:\n  bytes_per_day: 0\n"))
	if err != nil {
		t.Fatal(err)
	}
	o, err := c.Options("data")
	if err != nil || o.PerDay == nil || *o.PerDay != 0 {
		t.Errorf("per day %v, %v; want 0", o.PerDay, err)
	}
	if o, _ := Default().Options("data"); o.PerDay != nil {
		t.Errorf("per day by default: %v, want nil", *o.PerDay)
	}
}

func TestParse_accepts_every_file_size_that_a_probe_file_may_have(t *testing.T) {
	if minFileSize != probefile.MinSize {
		t.Errorf("config wants %s, the probe file %d bytes", minFileSize, probefile.MinSize)
	}
}
