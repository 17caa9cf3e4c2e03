package dashboards

import (
	"encoding/json"
	"regexp"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
)

// expression is one piece of PromQL and where it stands.
type expression struct {
	where, text string
	ast         parser.Expr
	// shown are labels that people are to see: of legends, columns and annotations.
	shown []string
}

func allDashboards(t *testing.T) []dashboard {
	t.Helper()
	all, err := readDashboards()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func allRules(t *testing.T) []rule {
	t.Helper()
	all, err := readRules()
	if err != nil {
		t.Fatal(err)
	}
	return all
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
		add(r.name(), r.Expr, shown...)
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
