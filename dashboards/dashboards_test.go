package dashboards

import (
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

func TestFilesAreWhatIsCommitted(t *testing.T) {
	committed := map[string]string{
		"ssd_exporter.yml": "provider.yml", "fleet.json": "fleet.json", "disk.json": "disk.json",
		"ssd_exporter.recording.yml": "rules/recording.yml", "ssd_exporter.alerts.yml": "rules/alerts.yml",
	}
	for _, f := range Files() {
		want, err := os.ReadFile(filepath.FromSlash(committed[path.Base(f.Path)]))
		if err != nil {
			t.Fatal(err)
		}
		if string(want) != f.Content || f.Content == "" {
			t.Errorf("%s is not what is committed", f.Path)
		}
		if !filepath.IsLocal(filepath.FromSlash(f.Path)) || f.Path != path.Clean(f.Path) || f.About == "" {
			t.Errorf("%q (%s) is no path below a folder", f.Path, f.About)
		}
		delete(committed, path.Base(f.Path))
	}
	if len(committed) > 0 {
		t.Errorf("not listed: %v", committed)
	}
}

// Grafana reads the provider from /etc/grafana/provisioning/dashboards and the dashboards from where the provider says.
func TestTheProviderFindsTheDashboards(t *testing.T) {
	var provider struct {
		APIVersion int `yaml:"apiVersion"`
		Providers  []struct {
			Type    string
			Options struct{ Path string }
		}
	}
	found := 0
	for _, f := range Files() {
		if strings.HasSuffix(f.Path, "/ssd_exporter.yml") {
			if err := yaml.Unmarshal([]byte(f.Content), &provider); err != nil {
				t.Fatal(err)
			}
			if provider.APIVersion != 1 || len(provider.Providers) != 1 || provider.Providers[0].Type != "file" {
				t.Fatalf("%+v is no provider of files", provider)
			}
			continue
		}
		if below, ok := strings.CutPrefix(f.Path, "grafana/"); ok {
			found++
			if got, want := path.Dir("/etc/grafana/"+below), provider.Providers[0].Options.Path; got != want {
				t.Errorf("%s ends in %s, the provider looks in %s", f.Path, got, want)
			}
			var d struct{ UID, Title string }
			if err := json.Unmarshal([]byte(f.Content), &d); err != nil || d.UID == "" || d.Title == "" {
				t.Errorf("%s: %v %+v", f.Path, err, d)
			}
		}
	}
	if found != 2 {
		t.Errorf("%d dashboards, want 2", found)
	}
}
