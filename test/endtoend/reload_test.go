package endtoend

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"

	"ssd_exporter/test/rig"
)

// reloadConfig is a file with a target "data", whatever other targets, a schedule for reads, and smart.files.
func reloadConfig(schedule, targets, files string) string {
	return fmt.Sprintf(`
targets:
  - name: data
    file_size: 256MiB
    fill_rate: unlimited
    schedule: "@daily"
    schedules: {read_4k_q1: %[1]q, cold_4k_q1: %[1]q, read_4k_q32: %[1]q, read_1m_q2: %[1]q}
%[2]s
guards: {utilisation: 1, in_flight: 100000, foreign_iops: 1e9, window: 100ms}
budget: {bytes_per_day: 40GB}
smart:
  interval: 5s
  nvme_interval: 5s
  files: [%[3]q]
`, schedule, targets, files)
}

func (e *exporter) write(t *testing.T, config string) {
	t.Helper()
	if err := os.WriteFile(e.config, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
}

// reload asks for one over HTTP.
func (e *exporter) reload(t *testing.T) (status int, body string) {
	t.Helper()
	resp, err := http.Post("http://"+e.address+"/-/reload", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// TestReloadLosesNothing changes everything that a reload may change while the service measures, and looks at every page in
// between: whatever counts must never count less, nor be missing for a moment.
func TestReloadLosesNothing(t *testing.T) {
	files := filepath.Dir(fixtures(t))
	one, all := filepath.Join(files, "hg5d.json"), filepath.Join(files, "*.json")
	e := startExporter(t, reloadConfig("@every 2s", "", one), "--web.enable-lifecycle")
	e.untilItMeasures(t)
	w := watch(t, e)

	t.Run("SIGHUP adds a target and files, and changes a schedule", func(t *testing.T) {
		second := filepath.Join(e.state, "second")
		if err := os.Mkdir(second, 0o700); err != nil {
			t.Fatal(err)
		}
		e.write(t, reloadConfig("@every 3s", fmt.Sprintf("  - {name: second, path: %q, file_size: 256MiB, fill_rate: unlimited}", second), all))
		e.Signal(syscall.SIGHUP)
		e.Eventually(2*time.Minute, "the second target is measured", func() error {
			return e.atLeast(t, 9, "ssd_probe_runs_total", "target=second")
		})
		page := e.page(t, "/metrics")
		if got := labelValues(t, page, "ssd_wear_used_ratio", "device_id"); len(got) < 4 {
			t.Errorf("wear is shown of %v, want all four files", got)
		}
		if v := value(t, page, "ssd_probe_interval_seconds", "target=data", "workload=read_4k_q1"); v != 3 {
			t.Errorf("the interval of the changed schedule is %v", v)
		}
	})

	t.Run("a broken file changes nothing and says where", func(t *testing.T) {
		before := e.page(t, "/config")
		e.write(t, "targets: []\nguards: {utilisation: 30}\n")
		e.Signal(syscall.SIGHUP)
		e.Eventually(10*time.Second, "the metric says that it failed", func() error {
			if value(t, e.page(t, "/metrics"), "ssd_exporter_config_last_reload_successful") != 0 {
				return errors.New("it still says success")
			}
			return nil
		})
		where := e.config + ":2: guards.utilisation: "
		if !strings.Contains(e.Log(), where) {
			t.Errorf("the log does not say %q", where)
		}
		if status, body := e.reload(t); status != http.StatusInternalServerError || !strings.Contains(body, where) {
			t.Errorf("POST /-/reload: %d %s", status, body)
		}
		if after := e.page(t, "/config"); after != before {
			t.Errorf("another configuration is in force:\n%s", after)
		}
		runs := value(t, e.page(t, "/metrics"), "ssd_probe_runs_total", "target=data")
		e.Eventually(time.Minute, "probes go on", func() error {
			return e.atLeast(t, runs+1, "ssd_probe_runs_total", "target=data")
		})
	})

	t.Run("POST /-/reload of a good file takes a target and files away", func(t *testing.T) {
		last := value(t, e.page(t, "/metrics"), "ssd_exporter_config_last_reload_success_timestamp_seconds")
		e.write(t, reloadConfig("@every 2s", "", one))
		if status, body := e.reload(t); status != http.StatusOK {
			t.Fatalf("POST /-/reload: %d %s", status, body)
		}
		page := e.page(t, "/metrics")
		if value(t, page, "ssd_exporter_config_last_reload_successful") != 1 || value(t, page, "ssd_exporter_config_last_reload_success_timestamp_seconds") <= last {
			t.Errorf("success is not shown; the last one was at %v", last)
		}
		e.Eventually(20*time.Second, "the target and the disks of the other files are gone", func() error {
			page := e.page(t, "/metrics")
			n := len(labelValues(t, page, "ssd_wear_used_ratio", "device_id"))
			if there := labelValues(t, page, "ssd_probe_runs_total", "target")["second"]; there || n != 1 {
				return fmt.Errorf("wear of %d disks is shown, want 1; the target: %v", n, there)
			}
			return nil
		})
		if _, err := os.Stat(filepath.Join(e.state, "second", "ssd_exporter.probe", "probe.bin")); err != nil {
			t.Errorf("the probe file of a target that may come back: %v", err)
		}
	})

	t.Run("many reloads at once", func(t *testing.T) {
		var posts sync.WaitGroup
		for i := range 10 {
			posts.Go(func() {
				e.Signal(syscall.SIGHUP)
				if resp, err := http.Post("http://"+e.address+"/-/reload", "", nil); err != nil || resp.StatusCode != http.StatusOK {
					t.Errorf("reload %d: %v, %v", i, resp, err)
				}
			})
		}
		posts.Wait()
		runs := value(t, e.page(t, "/metrics"), "ssd_probe_runs_total", "target=data")
		e.Eventually(time.Minute, "probes go on", func() error {
			return e.atLeast(t, runs+1, "ssd_probe_runs_total", "target=data")
		})
	})

	if n := w.stop(); n < 20 {
		t.Errorf("only %d pages were looked at", n)
	}
	if code := e.Stop(); code != 0 || strings.Contains(e.Log(), "panic") {
		t.Errorf("exit code %d\n%s", code, e.Log())
	}
}

// untilItMeasures waits until every workload was run and a baseline has begun.
func (e *exporter) untilItMeasures(t *testing.T) {
	t.Helper()
	e.Eventually(30*time.Second, "the target was looked at", func() error {
		return e.atLeast(t, 1, "ssd_probe_target_info")
	})
	if len(labelValues(t, e.page(t, "/metrics"), "ssd_probe_target_device_info", "device_id")) == 0 {
		t.Skip("SKIPPED: the kernel does not tell which disk is below the test's folder; set TMPDIR to one on a plain disk")
	}
	e.Eventually(2*time.Minute, "baselines have begun", func() error {
		return e.atLeast(t, 3, "ssd_probe_baseline_runs", "target=data", "workload=read_4k_q1")
	})
}

// value is the sum of the samples of a metric whose labels include the given ones, "name=value"; 0 when there are none.
func value(t *testing.T, page, name string, with ...string) float64 {
	t.Helper()
	var total float64
	for _, m := range parse(t, page)[name].GetMetric() {
		has := labels(m)
		if !slices.ContainsFunc(with, func(l string) bool { return !slices.Contains(has, l) }) {
			total += m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	return total
}

// atLeast is nil when value has come so far.
func (e *exporter) atLeast(t *testing.T, least float64, name string, with ...string) error {
	body, _, err := rig.Get(context.Background(), "http://"+e.address+"/metrics")
	if err != nil {
		return err
	}
	if v := value(t, string(body), name, with...); v < least {
		return fmt.Errorf("%s%v is %v, want %v", name, with, v, least)
	}
	return nil
}

// watcher looks at page after page: counters, and the figures of the target that is always there.
type watcher struct {
	t      *testing.T
	e      *exporter
	quit   chan struct{}
	done   chan struct{}
	pages  int
	before map[string]float64
}

func watch(t *testing.T, e *exporter) *watcher {
	w := &watcher{t: t, e: e, quit: make(chan struct{}), done: make(chan struct{}), before: map[string]float64{}}
	go w.run()
	t.Cleanup(func() { w.stop() })
	return w
}

func (w *watcher) stop() int {
	select {
	case <-w.quit:
	default:
		close(w.quit)
	}
	<-w.done
	return w.pages
}

func (w *watcher) run() {
	defer close(w.done)
	for {
		select {
		case <-w.quit:
			return
		case <-time.After(100 * time.Millisecond):
		}
		body, _, err := rig.Get(context.Background(), "http://"+w.e.address+"/metrics")
		if err != nil {
			w.t.Errorf("scraping: %v", err)
			return
		}
		w.look(string(body))
		w.pages++
	}
}

// look compares a page with the one before.
func (w *watcher) look(page string) {
	now := map[string]float64{}
	for name, f := range parse(w.t, page) {
		for _, m := range f.GetMetric() {
			if v, kept := keptValue(name, f.GetType(), m); kept {
				now[fmt.Sprint(name, labels(m))] = v
			}
		}
	}
	for k, old := range w.before {
		if v, there := now[k]; !there {
			w.t.Errorf("%s is gone; it was %v", k, old)
		} else if v < old {
			w.t.Errorf("%s fell from %v to %v", k, old, v)
		}
	}
	w.before = now
}

// keptValue is what of a sample must not fall over a reload; kept is false for what may come and go.
func keptValue(name string, kind dto.MetricType, m *dto.Metric) (v float64, kept bool) {
	ours := slices.ContainsFunc(m.GetLabel(), func(l *dto.LabelPair) bool { return l.GetName() == "target" && l.GetValue() == "data" })
	switch {
	case name == "ssd_probe_written_bytes_total":
		return m.GetCounter().GetValue(), true
	case !ours:
		return 0, false
	case kind == dto.MetricType_COUNTER:
		return m.GetCounter().GetValue(), true
	case kind == dto.MetricType_HISTOGRAM:
		return float64(m.GetHistogram().GetSampleCount()), true
	case name == "ssd_probe_baseline_runs", strings.HasSuffix(name, "_timestamp_seconds") && name != "ssd_probe_next_run_timestamp_seconds":
		return m.GetGauge().GetValue(), true
	case name == "ssd_probe_target_info", name == "ssd_probe_iops" && slices.Contains(labels(m), "workload=write_1m_q2"):
		return 0, true // it need only be there; figures of reads end when a host is too busy for their short schedule
	}
	return 0, false
}

func labels(m *dto.Metric) []string {
	var all []string
	for _, l := range m.GetLabel() {
		all = append(all, l.GetName()+"="+l.GetValue())
	}
	return all
}
