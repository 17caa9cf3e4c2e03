package main

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"ssd_exporter/blockdev"
	"ssd_exporter/config"
	"ssd_exporter/monitor"
)

func options(t *testing.T, yaml string) *monitor.Options {
	t.Helper()
	c, err := config.Parse("test.yml", []byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	o, err := c.Options("/var/lib/ssd_exporter")
	if err != nil {
		t.Fatal(err)
	}
	return &o
}

func TestAnnounce_says_where_how_much_and_nothing_else(t *testing.T) {
	for name, c := range map[string]struct {
		yaml string
		want []string
		not  string
	}{
		"the default writes 1 GiB once and 1.6 GB a day": {
			"", []string{"/var/lib/ssd_exporter/ssd_exporter.probe/probe.bin (target data)", "at most 1.0 GiB once, then at most 1.6 GB a day", "http://localhost:10055/"}, "only read",
		},
		"a smaller budget is the smaller figure": {
			"budget: {bytes_per_day: 500MB}", []string{"then at most 500 MB a day"}, "1.6 GB",
		},
		"no budget for writes": {
			"budget: {bytes_per_day: 0}", []string{"/var/lib/ssd_exporter (target data): nothing, budget.bytes_per_day is 0"}, "probe.bin",
		},
		"read_only still fills a file": {
			"targets: [{name: a, path: /srv/a, profile: read_only, file_size: 512MiB}]", []string{"/srv/a/ssd_exporter.probe/probe.bin", "at most 512 MiB once, then nothing"}, "a day",
		},
		"a device is never written": {
			"targets: [{name: a, path: /dev/sda, profile: read_only}]", []string{"/dev/sda (target a): nothing, the device is only read"}, "probe.bin",
		},
		"no target": {
			"targets: []", []string{"No target is configured: nothing is probed."}, "probe.bin",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			announce(&b, options(t, c.yaml), []string{":10055"})
			for _, w := range c.want {
				if !strings.Contains(b.String(), w) {
					t.Errorf("does not say %q:\n%s", w, &b)
				}
			}
			if strings.Contains(b.String(), c.not) {
				t.Errorf("says %q:\n%s", c.not, &b)
			}
		})
	}
}

func TestWritesPerDay_follows_the_schedule(t *testing.T) {
	every := func(schedule string) int64 {
		return writesPerDay(&options(t, "targets: [{name: a, schedule: '"+schedule+"'}]").Targets[0])
	}
	daily, hourly := every("@daily"), every("@hourly")
	if daily <= 0 || hourly != 24*daily {
		t.Errorf("hourly %d, daily %d; want 24 times as much", hourly, daily)
	}
}

func TestLimit_turns_away_what_is_too_much(t *testing.T) {
	enter, leave := make(chan struct{}), make(chan struct{})
	h := limit(2, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { enter <- struct{}{}; <-leave }))
	done := make(chan struct{}, 2)
	for range 2 {
		go func() {
			h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil))
			done <- struct{}{}
		}()
		<-enter
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
		t.Errorf("the third of two: status %d, headers %v; want 503 with Retry-After", w.Code, w.Header())
	}
	close(leave)
	<-done
	<-done
	go func() { <-enter }()
	w = httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	if w.Code != http.StatusOK {
		t.Errorf("after the others left: status %d, want 200", w.Code)
	}
}

func TestServer_answers_503_until_it_has_something_to_serve(t *testing.T) {
	s := &server{}
	w := httptest.NewRecorder()
	s.dispatch(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusServiceUnavailable {
		t.Errorf("status %d, want 503", w.Code)
	}
	s.serve(http.NotFoundHandler())
	w = httptest.NewRecorder()
	s.dispatch(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusNotFound {
		t.Errorf("status %d, want that of the handler", w.Code)
	}
}

func TestNotes_come_first_and_keep_one_snapshot_one(t *testing.T) {
	now := &monitor.Snapshot{Notes: []string{"theirs"}}
	n := &notes{get: func() *monitor.Snapshot { return now }}
	if n.snapshot() != now {
		t.Error("without a note the snapshot was copied")
	}
	n.add("ours")
	got := n.snapshot()
	if d := cmp.Diff([]string{"ours", "theirs"}, got.Notes); d != "" {
		t.Error(d)
	}
	if n.snapshot() != got {
		t.Error("the same snapshot became another")
	}
	if len(now.Notes) != 1 {
		t.Error("the monitor's snapshot was changed")
	}
	now = &monitor.Snapshot{}
	if d := cmp.Diff([]string{"ours"}, n.snapshot().Notes); d != "" {
		t.Error(d)
	}
}

func TestWithin_does_not_wait_for_a_hanging_disk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		defer close(hang)
		err := within(time.Second, "closing", func() error { <-hang; return nil })
		if err == nil || !strings.Contains(err.Error(), "closing took longer than 1s") {
			t.Errorf("error %v", err)
		}
		want := errors.New("x")
		if err := within(time.Second, "closing", func() error { return want }); !errors.Is(err, want) {
			t.Errorf("error %v, want %v", err, want)
		}
	})
}

func TestMakeFolder_makes_one_folder_and_not_its_parents(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a")
	if err := makeFolder(filepath.Join(dir, "b")); err == nil || !strings.Contains(err.Error(), "its parent "+dir+" does not exist") {
		t.Errorf("error %v, want one that names the parent", err)
	}
	for range 2 {
		if err := makeFolder(dir); err != nil {
			t.Errorf("error %v", err)
		}
	}
}

func TestChoose_takes_any_name_of_a_disk_and_names_what_it_does_not_know(t *testing.T) {
	disks := []blockdev.Disk{
		{Identity: blockdev.Identity{Kernel: "nvme0n1"}, Device: "/dev/nvme0", Namespaces: []string{"nvme0n1", "nvme0n2"}},
		{Identity: blockdev.Identity{Kernel: "sda"}, Device: "/dev/sda"},
	}
	for name, want := range map[string]string{"sda": "sda", "/dev/sda": "sda", "nvme0": "nvme0n1", "/dev/nvme0": "nvme0n1", "nvme0n2": "nvme0n1"} {
		got, err := choose(disks, []string{name})
		if err != nil || len(got) != 1 || got[0].Kernel != want {
			t.Errorf("%s: %v, %v; want %s", name, got, err, want)
		}
	}
	_, err := choose(disks, []string{"sdb", "sda"})
	if err == nil || err.Error() != "no disk sdb here; known: nvme0n1, sda" {
		t.Errorf("error %v", err)
	}
	if all, err := choose(disks, nil); err != nil || len(all) != 2 {
		t.Errorf("all: %v, %v", all, err)
	}
}

func TestJoinDash_keeps_standard_input_apart_from_nothing(t *testing.T) {
	got := joinDash([]string{"smart", "--from", "-", "--from", "a", "-"})
	if d := cmp.Diff([]string{"smart", "--from=-", "--from", "a", "-"}, got); d != "" {
		t.Error(d)
	}
}
