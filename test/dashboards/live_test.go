package dashboards

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"ssd_exporter/dashboards"
	"ssd_exporter/test/rig"
)

// The two jobs of the live test: the same host with each kind of histogram.
const native, classic = "native", "classic"

// watched is a Prometheus with our rules that scrapes the made-up host in both forms.
func watched(t *testing.T) *rig.Prometheus {
	t.Helper()
	rig.Need(t, "prometheus")
	var ruleFiles []string
	dir := t.TempDir()
	for _, f := range dashboards.Files() {
		if strings.HasPrefix(f.Path, "prometheus/rules/") {
			file := filepath.Join(dir, filepath.Base(f.Path))
			if err := os.WriteFile(file, []byte(f.Content), 0o600); err != nil {
				t.Fatal(err)
			}
			ruleFiles = append(ruleFiles, file)
		}
	}
	start := time.Now()
	return rig.StartPrometheus(t, []rig.Job{
		{Name: native, Address: (&simulated{start: start}).serve(t)},
		{Name: classic, Address: (&simulated{start: start, classic: true}).serve(t)},
	}, ruleFiles...)
}

// answers says that a query has at least one figure, and what is wrong otherwise.
func answers(p *rig.Prometheus, expr string) error {
	samples, err := p.Query(expr)
	if err != nil {
		return err
	}
	for _, s := range samples {
		if !math.IsNaN(s.Value) {
			return nil
		}
	}
	return fmt.Errorf("%d samples, none of which is a figure: %s", len(samples), expr)
}

// TestEveryPanelAnswersFromARealPrometheus also proves the rules: each finds its series, is evaluated, and says what it has to say.
func TestEveryPanelAnswersFromARealPrometheus(t *testing.T) {
	p := watched(t)
	p.Eventually(60*time.Second, "figures in every panel", func() error {
		var all []error
		for _, job := range []string{native, classic} {
			for _, id := range []string{well, sick} { // a target of its own, and a share in one
				queries, err := Queries(job, "host", id)
				if err != nil {
					return err
				}
				for _, q := range queries {
					if err := answers(p, q.Expr); err != nil {
						all = append(all, fmt.Errorf("%s/%s/%s: %w", job, id, q.Panel, err))
					}
				}
			}
		}
		return errors.Join(all...)
	})
	selectors, err := Selectors()
	if err != nil {
		t.Fatal(err)
	}
	for name, all := range selectors {
		for _, selector := range all {
			p.Eventually(30*time.Second, "series for "+name, func() error { return answers(p, "count("+selector+")") })
		}
	}
	evaluated(t, p)
	quantiles(t, p)
	sentences(t, p)
}

// ask decodes an answer of Prometheus's API.
func ask(t *testing.T, p *rig.Prometheus, path string, into any) {
	t.Helper()
	body, _, err := rig.Get(context.Background(), "http://"+p.Address()+path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(body, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// evaluated says that every rule is evaluated, and without an error.
func evaluated(t *testing.T, p *rig.Prometheus) {
	t.Helper()
	var answer struct {
		Data struct {
			Groups []struct {
				Rules []struct{ Name, Health, LastError string }
			}
		}
	}
	ask(t, p, "/api/v1/rules", &answer)
	n := 0
	for _, g := range answer.Data.Groups {
		for _, r := range g.Rules {
			n++
			if r.Health != "ok" {
				t.Errorf("%s: %s %s", r.Name, r.Health, r.LastError)
			}
		}
	}
	if want := len(allRules(t)); n != want {
		t.Errorf("%d rules are evaluated, want %d", n, want)
	}
}

// alert is one that fires or is about to.
type alert struct{ Labels, Annotations map[string]string }

func alerts(t *testing.T, p *rig.Prometheus) map[string]alert {
	t.Helper()
	var answer struct{ Data struct{ Alerts []alert } }
	ask(t, p, "/api/v1/alerts", &answer)
	all := map[string]alert{}
	for _, a := range answer.Data.Alerts {
		all[a.Labels["alertname"]] = a
	}
	return all
}

// sentences reads what people would read.
func sentences(t *testing.T, p *rig.Prometheus) {
	t.Helper()
	p.Eventually(30*time.Second, "alerts for the sick disk", func() error {
		all := alerts(t, p)
		for _, want := range []string{"SSDWearCritical", "SSDCriticalWarningSpare", "SSDUnhealthy", "SSDProbeStale", "SSDSmartUnreadable", "SSDProbeIOErrors"} {
			if _, raised := all[want]; !raised {
				return fmt.Errorf("the sick disk raises no %s, only %v", want, slices.Sorted(maps.Keys(all)))
			}
		}
		return nil
	})
	for name, a := range alerts(t, p) {
		for key, text := range a.Annotations {
			if regexp.MustCompile(`<error|<no value>|\{\{|  | on ?$|^ on `).MatchString(text) {
				t.Errorf("%s: %s: %q", name, key, text)
			}
		}
	}
}

// The made-up latencies lie between 0.5 and 2 ms, whichever kind of histogram they are kept in.
func quantiles(t *testing.T, p *rig.Prometheus) {
	t.Helper()
	found := 0
	for _, job := range []string{native, classic} {
		queries, err := Queries(job, "host", well)
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range queries {
			if !strings.Contains(q.Expr, "histogram_quantile(0.5,") {
				continue
			}
			found++
			samples, err := p.Query(q.Expr)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range samples {
				if s.Value < 0.0005 || s.Value > 0.002 {
					t.Errorf("%s: the median of %v is %v", job, s.Labels, s.Value)
				}
			}
		}
	}
	if found != 2 {
		t.Errorf("%d queries of a median, want one for each job", found)
	}
}
