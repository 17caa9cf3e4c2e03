package endtoend

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	assets "ssd_exporter/dashboards"
	"ssd_exporter/test/dashboards"
	"ssd_exporter/test/rig"
)

// silent are queries of panels to which none of the disks here has an answer, and why.
var silent = map[string]string{
	"Fleet/Stale probes/A":              "all targets give figures",
	"Fleet/S.M.A.R.T. cannot be read/A": "only where a disk of this host is found that cannot be read",
	"Disk/Reading S.M.A.R.T./C":         "no counter of a recorded disk falls",
	"Disk/Write amplification/B":        "nothing is written to a recorded disk",
}

// ruleFiles are the rules as `assets export` writes them.
func ruleFiles(t *testing.T) []string {
	t.Helper()
	var files []string
	for _, f := range assets.Files() {
		if strings.HasPrefix(f.Path, "prometheus/") {
			file := filepath.Join(t.TempDir(), filepath.Base(f.Path))
			if err := os.WriteFile(file, []byte(f.Content), 0o600); err != nil {
				t.Fatal(err)
			}
			files = append(files, file)
		}
	}
	return files
}

// everyPanelAnswers asks all that the dashboards ask, about the probed disk and the recorded ones: each query must have a figure for
// one of them.
func everyPanelAnswers(t *testing.T, e *exporter, p *rig.Prometheus) {
	t.Helper()
	const job, instance = "protobuf", "host"
	disks, err := p.Query(`ssd_device_info{job="protobuf"}`)
	if err != nil || len(disks) < 7 {
		t.Fatalf("%d disks, want six recorded ones and that of the probe: %v", len(disks), err)
	}
	if leaves, err := p.Query(`ssd_probe_target_device_info{job="protobuf"}`); err != nil || len(leaves) == 0 {
		t.Skipf("SKIPPED: the kernel does not tell which disk is below the folder (%v): set TMPDIR to one on a plain disk", err)
	}
	empty := map[string]error{} // once answered is enough: on a schedule of seconds, figures end within seconds too
	e.Eventually(time.Minute, "a figure in every panel", func() error {
		for _, d := range disks {
			queries, err := dashboards.Queries(job, instance, d.Labels["device_id"])
			if err != nil {
				return err
			}
			for _, q := range queries {
				if known, asked := empty[q.Panel]; asked && known == nil {
					continue
				}
				empty[q.Panel] = figure(p, q.Expr)
			}
		}
		var all []error
		for panel, err := range empty {
			if _, expected := silent[panel]; err != nil && !expected {
				all = append(all, fmt.Errorf("%s: %w", panel, err))
			}
		}
		return errors.Join(all...)
	})
}

func figure(p *rig.Prometheus, expr string) error {
	samples, err := p.Query(expr)
	if err != nil {
		return err
	}
	for _, s := range samples {
		if !math.IsNaN(s.Value) {
			return nil
		}
	}
	return fmt.Errorf("%d samples without a figure: %s", len(samples), expr)
}

// everySelectorFinds says that no rule waits for a metric that the exporter does not have.
func everySelectorFinds(t *testing.T, e *exporter, p *rig.Prometheus) {
	t.Helper()
	selectors, err := dashboards.Selectors()
	if err != nil {
		t.Fatal(err)
	}
	for rule, all := range selectors {
		for _, selector := range all {
			e.Eventually(30*time.Second, rule+" finds "+selector, func() error { return figure(p, "count("+selector+")") })
		}
	}
}
