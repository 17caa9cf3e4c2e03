package endtoend

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"ssd_exporter/test/rig"
)

// exporter is a running product on a state folder of its own.
type exporter struct {
	*rig.Process
	address, state, config string
	args                   []string
}

// shortSchedule makes every disk fit for a test: a shared CI disk is always busy and its neighbours always noisy.
const shortSchedule = `
targets:
  - name: data
    file_size: 256MiB
    schedule: "@every 20s"
    schedules:
      read_4k_q1: "@every 4s"
      cold_4k_q1: "@every 4s"
      read_4k_q32: "@every 4s"
      read_1m_q2: "@every 4s"
guards: {utilisation: 1, in_flight: 100000, foreign_iops: 1e9, window: 100ms}
budget: {bytes_per_day: 40GB}
endurance: {ratings: [{model: "*M550*", bytes: 72TB, years: 3}]}
smart:
  nvme_interval: 10s
  files: [%q]
`

func startExporter(t *testing.T, config string, extra ...string) *exporter {
	t.Helper()
	e := &exporter{state: filepath.Join(rig.DiskDir(t), "data"), config: filepath.Join(t.TempDir(), "ssd_exporter.yml")}
	if err := os.WriteFile(e.config, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	e.args = extra
	e.start(t)
	return e
}

func (e *exporter) start(t *testing.T) {
	t.Helper()
	e.address = rig.FreeAddress(t)
	args := append([]string{"--config.file=" + e.config, "--state.path=" + e.state, "--web.listen-address=" + e.address}, e.args...)
	e.Process = rig.Start(t, product.Binary(t), args...)
	e.Eventually(20*time.Second, "the exporter is ready", func() error {
		_, _, err := rig.Get(context.Background(), "http://"+e.address+"/-/ready")
		return err
	})
}

func (e *exporter) page(t *testing.T, path string, headers ...string) string {
	t.Helper()
	body, _, err := rig.Get(context.Background(), "http://"+e.address+path, headers...)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// fixtures copies the recorded reports to where a root timer would write them.
func fixtures(t *testing.T) (glob string) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"hg5d.json", "intel520.json", "nvme.json", "nvme-over100.json", "nvme-warm.json", "m550.json"} {
		b, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return fmt.Sprintf("%s/*.json", dir)
}
