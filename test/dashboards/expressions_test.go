package dashboards

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v3"

	"ssd_exporter/dashboards"
)

// expression is one piece of PromQL and where it stands.
type expression struct {
	where, text string
	ast         parser.Expr
	// shown are labels that people are to see: of legends, columns and annotations.
	shown []string
}

// panel is what this package needs of a panel in a dashboard's JSON.
type panel struct {
	Title       string
	Type        string
	Targets     []struct{ RefID, Expr, LegendFormat string }
	FieldConfig struct {
		Defaults struct{ NoValue string }
	} `json:"fieldConfig"`
	Transformations []struct {
		ID      string
		Options struct {
			Include struct{ Names []string }
		}
	}
}

type dashboard struct {
	UID, Title string
	Panels     []panel
	Templating struct {
		List []struct {
			Name  string
			Query json.RawMessage
		}
	}
}

type rule struct {
	Alert, Record, Expr string
	Annotations         map[string]string
}

func allDashboards(t *testing.T) []dashboard {
	t.Helper()
	var all []dashboard
	for _, f := range dashboards.Files() {
		if strings.HasSuffix(f.Path, ".json") {
			var d dashboard
			if err := json.Unmarshal([]byte(f.Content), &d); err != nil {
				t.Fatalf("%s: %v", f.Path, err)
			}
			all = append(all, d)
		}
	}
	if len(all) < 2 {
		t.Fatalf("%d dashboards", len(all))
	}
	return all
}

func allRules(t *testing.T) []rule {
	t.Helper()
	var all []rule
	for _, f := range dashboards.Files() {
		if !strings.HasPrefix(f.Path, "prometheus/rules/") {
			continue
		}
		var file struct {
			Groups []struct{ Rules []rule }
		}
		if err := yaml.Unmarshal([]byte(f.Content), &file); err != nil {
			t.Fatalf("%s: %v", f.Path, err)
		}
		for _, g := range file.Groups {
			all = append(all, g.Rules...)
		}
	}
	if len(all) < 20 {
		t.Fatalf("%d rules", len(all))
	}
	return all
}

// chosen puts values in the place of Grafana's variables, as Grafana does.
func chosen(text string, variables map[string]string) string {
	for name, value := range variables {
		text = strings.NewReplacer("${"+name+"}", value, "$"+name, value).Replace(text)
	}
	return text
}

var anything = map[string]string{
	"datasource": "p", "job": "j", "instance": "i", "model": ".*", "device_id": "d", "workload": ".*", "__rate_interval": "5m",
}

var (
	templated = regexp.MustCompile(`\{\{\s*(\w+)\s*\}\}`)
	annotated = regexp.MustCompile(`\$labels\.(\w+)`)
	variable  = regexp.MustCompile(`^label_values\((.+), (\w+)\)$`)
)

// expressions are all there are, parsed by Prometheus.
func expressions(t *testing.T) []expression {
	t.Helper()
	var all []expression
	p := parser.NewParser(parser.Options{})
	add := func(where, text string, shown ...string) {
		ast, err := p.ParseExpr(text)
		if err != nil {
			t.Errorf("%s: %v\n%s", where, err, text)
			return
		}
		all = append(all, expression{where, text, ast, shown})
	}
	for _, d := range allDashboards(t) {
		for _, pn := range d.Panels {
			for _, target := range pn.Targets {
				add(d.Title+"/"+pn.Title+"/"+target.RefID, chosen(target.Expr, anything), words(templated, target.LegendFormat)...)
			}
		}
		for _, v := range d.Templating.List {
			var query string
			if err := json.Unmarshal(v.Query, &query); err != nil {
				t.Errorf("%s: $%s: %v", d.Title, v.Name, err)
			}
			if v.Name == "datasource" {
				continue
			}
			m := variable.FindStringSubmatch(query)
			if m == nil {
				t.Errorf("%s: $%s: %q is no label_values(selector, label)", d.Title, v.Name, query)
				continue
			}
			add(d.Title+"/$"+v.Name, chosen(m[1], anything), m[2])
		}
	}
	for _, r := range allRules(t) {
		var shown []string
		for _, text := range r.Annotations {
			shown = append(shown, words(annotated, text)...)
		}
		add(r.Alert+r.Record, r.Expr, shown...)
	}
	return all
}

func words(re *regexp.Regexp, text string) []string {
	var out []string
	for _, m := range re.FindAllStringSubmatch(text, -1) {
		out = append(out, m[1])
	}
	return out
}
