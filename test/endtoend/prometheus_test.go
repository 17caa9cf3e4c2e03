package endtoend

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"ssd_exporter/test/rig"
)

// workloads of the default profile and the operations each must show.
var workloads = map[string][]string{
	"read_4k_q1":    {"read"},
	"cold_4k_q1":    {"read"},
	"read_4k_q32":   {"read"},
	"read_1m_q2":    {"read"},
	"mixed80_4k_q4": {"read", "write"},
	"mixed20_4k_q4": {"read", "write"},
	"sync_4k_q1":    {"write"},
	"open80_4k":     {"read", "write"},
	"write_1m_q2":   {"write"},
}

func finite(p *rig.Prometheus, expr string) error {
	v, err := p.Scalar(expr)
	if err != nil {
		return err
	}
	if math.IsNaN(v) || math.IsInf(v, 0) || v <= 0 {
		return fmt.Errorf("%s = %v, want finite and above 0", expr, v)
	}
	return nil
}

// TestPrometheusScrapesARealProbe is the main job: a newcomer's exporter under a newcomer's Prometheus.
func TestPrometheusScrapesARealProbe(t *testing.T) {
	rig.Need(t, "prometheus")
	e := startExporter(t, fmt.Sprintf(shortSchedule, fixtures(t)))

	text, textFormat := rig.ForceAccept(t, e.address, "text/plain;version=0.0.4")
	open, openFormat := rig.ForceAccept(t, e.address, "application/openmetrics-text;version=1.0.0")
	proto, protoFormat := rig.ForceAccept(t, e.address, "")
	p := rig.StartPrometheus(t, []rig.Job{{Name: "text", Address: text}, {Name: "openmetrics", Address: open}, {Name: "protobuf", Address: proto}}, ruleFiles(t)...)

	t.Run("wear of the recorded disks is there at once, in all three formats", func(t *testing.T) {
		for _, job := range []string{"text", "openmetrics", "protobuf"} {
			for id, want := range map[string]float64{
				"TOSHIBA_THNSNH128GMCT_FIXTUREHG5D": 0.20, "INTEL_SSDSC2CW240A3_FIXTURE520": 0.10,
				"INTEL_SSDPEDME400G4_FIXTURENVME": 0.12, "SAMSUNG_MZVLB512HAJQ_FIXTUREOVER": 2.00,
			} {
				e.Eventually(30*time.Second, job+" "+id, func() error {
					got, err := p.Scalar(fmt.Sprintf(`ssd_wear_used_ratio{job=%q,device_id=%q}`, job, id))
					if err == nil && math.Abs(got-want) > 1e-9 {
						t.Fatalf("wear of %s is %v, want %v", id, got, want)
					}
					return err
				})
			}
		}
		got, err := p.Scalar(`ssd_host_written_bytes_total{job="text",device_id="TOSHIBA_THNSNH128GMCT_FIXTUREHG5D"}`)
		if err != nil || got != 10635230950912 {
			t.Errorf("host bytes of the HG5d: %v, %v", got, err)
		}
	})

	t.Run("every default workload has IOPS and latency", func(t *testing.T) {
		for name, ops := range workloads {
			for _, op := range ops {
				selector := fmt.Sprintf(`{job="protobuf",target="data",workload=%q,op=%q`, name, op)
				for _, expr := range []string{
					"ssd_probe_iops" + selector + "}",
					"ssd_probe_throughput_bytes_per_second" + selector + "}",
					"ssd_probe_latency_percentile_seconds" + selector + `,percentile="50"}`,
					"histogram_quantile(0.5, ssd_probe_latency_seconds" + selector + "})",
				} {
					e.Eventually(4*time.Minute, expr, func() error { return finite(p, expr) })
				}
			}
		}
	})

	t.Run("all three formats arrived, compressed", func(t *testing.T) {
		for want, last := range map[string]func() (string, string){
			"text/plain": textFormat, "application/openmetrics-text": openFormat, "application/vnd.google.protobuf": protoFormat,
		} {
			if contentType, encoding := last(); !strings.HasPrefix(contentType, want) || encoding != "gzip" {
				t.Errorf("prometheus got %q, %q; want %s and gzip", contentType, encoding, want)
			}
		}
		if n, err := p.Scalar(`count(up == 1)`); err != nil || n != 3 {
			t.Errorf("%v of 3 jobs are up: %v", n, err)
		}
	})

	t.Run("degradation after eight runs", func(t *testing.T) {
		for _, name := range []string{"read_4k_q1", "cold_4k_q1", "read_4k_q32", "read_1m_q2"} {
			for _, labels := range []string{`op="all",signal="rate"`, `op="read",signal="p50"`} {
				expr := fmt.Sprintf(`ssd_probe_degradation_ratio{job="text",workload=%q,%s}`, name, labels)
				e.Eventually(4*time.Minute, expr, func() error {
					v, err := p.Scalar(expr)
					if err == nil && (math.IsNaN(v) || v <= -1) {
						return fmt.Errorf("%s = %v", expr, v)
					}
					return err
				})
			}
		}
	})

	t.Run("every panel of the dashboards answers", func(t *testing.T) { everyPanelAnswers(t, e, p) })
	t.Run("every selector of a rule finds series", func(t *testing.T) { everySelectorFinds(t, e, p) })

	t.Run("promtool has nothing to say", func(t *testing.T) {
		promtoolCheck(t, e.page(t, "/metrics", "Accept: text/plain;version=0.0.4"))
	})

	t.Run("kill -9 and a restart lose nothing but the run in flight", func(t *testing.T) {
		written, err := p.Scalar(`sum(ssd_probe_written_bytes_total{job="text"})`)
		if err != nil {
			t.Fatal(err)
		}
		probe := filepath.Join(e.state, "ssd_exporter.probe", "probe.bin")
		before, err := os.Stat(probe)
		if err != nil {
			t.Fatal(err)
		}
		e.Kill()
		e.start(t)
		page := e.page(t, "/metrics")
		measured := labelValues(t, page, "ssd_probe_iops", "workload")
		for name := range workloads {
			if !measured[name] {
				t.Errorf("%s has no figures right after the restart", name)
			}
		}
		if after := sum(t, page, "ssd_probe_written_bytes_total"); after < written {
			t.Errorf("written bytes fell from %v to %v over kill -9", written, after)
		}
		if after, err := os.Stat(probe); err != nil || !os.SameFile(before, after) {
			t.Errorf("the probe file was made anew: %v", err)
		}
		if got := sum(t, page, "ssd_probe_baseline_runs"); got == 0 {
			t.Error("baselines were forgotten")
		}
	})

	t.Run("SIGTERM ends it cleanly", func(t *testing.T) {
		e.Signal(syscall.SIGTERM)
		select {
		case <-e.Exited():
		case <-time.After(15 * time.Second):
			t.Fatal("still running 15 s after SIGTERM")
		}
		if code := e.Stop(); code != 0 {
			t.Errorf("exit code %d after SIGTERM\n%s", code, e.Log())
		}
	})
}
