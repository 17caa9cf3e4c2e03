package dashboards

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

type rule struct {
	Alert       string
	Record      string
	Expr        string
	For         string
	Labels      map[string]string
	Annotations map[string]string
}

func rules(t *testing.T, text string) []rule {
	t.Helper()
	var file struct {
		Groups []struct {
			Name  string
			Rules []rule
		}
	}
	d := yaml.NewDecoder(strings.NewReader(text))
	if err := d.Decode(&file); err != nil {
		t.Fatal(err)
	}
	var all []rule
	for _, g := range file.Groups {
		all = append(all, g.Rules...)
	}
	if len(all) == 0 {
		t.Fatal("no rules")
	}
	return all
}

func TestEveryAlertTellsWhatToDo(t *testing.T) {
	for _, r := range rules(t, alerts) {
		if !regexp.MustCompile(`^SSD[A-Z]\w+$`).MatchString(r.Alert) || r.Record != "" {
			t.Errorf("%q is no name of an alert", r.Alert+r.Record)
		}
		if !slices.Contains([]string{"critical", "warning", "info"}, r.Labels["severity"]) || len(r.Labels) != 1 {
			t.Errorf("%s: labels %v", r.Alert, r.Labels)
		}
		if r.For == "" {
			t.Errorf("%s does not say for how long, be it 0m", r.Alert)
		}
		summary, description := r.Annotations["summary"], r.Annotations["description"]
		if !strings.Contains(summary, "$labels.instance") || len(summary) > 160 || strings.HasSuffix(summary, ".") {
			t.Errorf("%s: a summary is one line that names the host: %s", r.Alert, summary)
		}
		if !strings.HasSuffix(description, ".") || len(description) < 80 {
			t.Errorf("%s: a description is in whole sentences: %s", r.Alert, description)
		}
		if strings.Contains(r.Expr, "_bucket") || strings.Contains(r.Expr, "histogram_quantile") {
			t.Errorf("%s depends on histograms", r.Alert)
		}
	}
}

func TestEveryAlertHasItsRunbookAndNoRunbookIsAnOrphan(t *testing.T) {
	book, err := os.ReadFile(filepath.Join("..", "docs", "runbooks.md"))
	if err != nil {
		t.Fatal(err)
	}
	anchors := map[string]bool{} // as GitHub and others make them of a heading of one word
	for _, m := range regexp.MustCompile(`(?m)^### (\w+)$`).FindAllStringSubmatch(string(book), -1) {
		anchors[strings.ToLower(m[1])] = false
	}
	for _, r := range rules(t, alerts) {
		anchor, ours := strings.CutPrefix(r.Annotations["runbook_url"], "docs/runbooks.md#")
		if _, exists := anchors[anchor]; !ours || !exists || anchor != strings.ToLower(r.Alert) {
			t.Errorf("%s: runbook_url %q leads nowhere", r.Alert, r.Annotations["runbook_url"])
		}
		anchors[anchor] = true
	}
	for anchor, used := range anchors {
		if !used {
			t.Errorf("docs/runbooks.md#%s belongs to no alert", anchor)
		}
	}
}

// Joins of disks must name the host too: a device_id is unique on a host, not in a fleet.
func TestNoJoinMixesHosts(t *testing.T) {
	on := regexp.MustCompile(`\b(?:on|by) \(([^)]*)\)`)
	for _, r := range append(rules(t, alerts), rules(t, recording)...) {
		if strings.Contains(r.Expr, "ignoring") || strings.Contains(r.Expr, "without") {
			t.Errorf("%s%s: joins and sums name their labels, so that a new label cannot break them", r.Alert, r.Record)
		}
		for _, m := range on.FindAllStringSubmatch(r.Expr, -1) {
			if !strings.HasPrefix(m[1], "job, instance") {
				t.Errorf("%s%s: %s mixes hosts", r.Alert, r.Record, m[0])
			}
		}
	}
}

func promtool(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("SKIPPED: promtool is not installed: `apt-get install prometheus` (or `make test-deps`) brings it")
	}
	return path
}

func TestPromtoolAcceptsTheRules(t *testing.T) {
	out, err := exec.Command(promtool(t), "check", "rules", "--lint=all", "--lint-fatal", "rules/recording.yml", "rules/alerts.yml").CombinedOutput()
	if err != nil {
		t.Errorf("promtool check rules: %v\n%s", err, out)
	}
}

func ruleTests(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("rules/*_test.yml")
	if err != nil || len(files) < 5 {
		t.Fatalf("tests of rules: %v, %v", files, err)
	}
	return files
}

func TestRulesFireWhenTheyShouldAndOnlyThen(t *testing.T) {
	tool := promtool(t)
	for _, file := range ruleTests(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			if out, err := exec.Command(tool, "test", "rules", file).CombinedOutput(); err != nil {
				t.Errorf("promtool test rules: %v\n%s", err, out)
			}
		})
	}
}

// Each alert must fire in some case. That it does not fire in others is what those cases say: they list all alerts.
func TestEveryAlertIsTested(t *testing.T) {
	var all strings.Builder
	for _, file := range ruleTests(t) {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(b)
	}
	for _, r := range rules(t, alerts) {
		if !strings.Contains(all.String(), fmt.Sprintf("alertname=%q,", r.Alert)) {
			t.Errorf("%s fires in no test", r.Alert)
		}
	}
}
