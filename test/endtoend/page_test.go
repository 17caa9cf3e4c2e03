package endtoend

import (
	"os/exec"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"ssd_exporter/test/rig"
)

func promtoolCheck(t *testing.T, page string) {
	t.Helper()
	cmd := exec.Command(rig.Need(t, "promtool"), "check", "metrics")
	cmd.Stdin = strings.NewReader(page)
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("promtool check metrics: %v\n%s", err, out)
	}
}

// sum adds up all samples of a gauge or counter on a text page.
func sum(t *testing.T, page, name string) float64 {
	t.Helper()
	var total float64
	for _, m := range parse(t, page)[name].GetMetric() {
		total += m.GetGauge().GetValue() + m.GetCounter().GetValue()
	}
	return total
}

// labelValues are the values that a label has on a metric.
func labelValues(t *testing.T, page, name, label string) map[string]bool {
	t.Helper()
	values := map[string]bool{}
	for _, m := range parse(t, page)[name].GetMetric() {
		for _, pair := range m.GetLabel() {
			if pair.GetName() == label {
				values[pair.GetValue()] = true
			}
		}
	}
	return values
}

func parse(t *testing.T, page string) map[string]*dto.MetricFamily {
	t.Helper()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(page))
	if err != nil {
		t.Fatalf("the page does not parse: %v", err)
	}
	return families
}
