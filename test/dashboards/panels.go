package dashboards

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v3"

	"ssd_exporter/dashboards"
)

// Query is a query of a panel, ready to be asked.
type Query struct {
	Panel string // dashboard/panel/query
	Expr  string
}

// Queries are those of all panels, asked about one disk.
func Queries(job, instance, device string) ([]Query, error) {
	all, err := readDashboards()
	if err != nil {
		return nil, err
	}
	variables := map[string]string{
		"datasource": "p", "job": job, "instance": instance, "model": ".*", "device_id": device, "workload": ".*", "__rate_interval": "5m",
	}
	var queries []Query
	for _, d := range all {
		for _, p := range d.Panels {
			for _, target := range p.Targets {
				queries = append(queries, Query{d.Title + "/" + p.Title + "/" + target.RefID, chosen(target.Expr, variables)})
			}
		}
	}
	return queries, nil
}

// Selectors are those of all rules, by the name of the rule, as they are now: without offsets.
func Selectors() (map[string][]string, error) {
	rules, err := readRules()
	if err != nil {
		return nil, err
	}
	all := map[string][]string{}
	p := parser.NewParser(parser.Options{})
	for _, r := range rules {
		ast, err := p.ParseExpr(r.Expr)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.name(), err)
		}
		parser.Inspect(ast, func(n parser.Node, _ []parser.Node) error {
			if s, ok := n.(*parser.VectorSelector); ok && !strings.Contains(s.String(), ".*ssd") { // a guess at the name of a job
				now := *s
				now.OriginalOffset, now.Offset = 0, 0
				all[r.name()] = append(all[r.name()], now.String())
			}
			return nil
		})
	}
	return all, nil
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

func (r rule) name() string { return r.Alert + r.Record }

func readDashboards() ([]dashboard, error) {
	var all []dashboard
	for _, f := range dashboards.Files() {
		if strings.HasSuffix(f.Path, ".json") {
			var d dashboard
			if err := json.Unmarshal([]byte(f.Content), &d); err != nil {
				return nil, fmt.Errorf("%s: %w", f.Path, err)
			}
			all = append(all, d)
		}
	}
	if len(all) < 2 {
		return nil, fmt.Errorf("%d dashboards, want 2 at least", len(all))
	}
	return all, nil
}

func readRules() ([]rule, error) {
	var all []rule
	for _, f := range dashboards.Files() {
		if !strings.HasPrefix(f.Path, "prometheus/rules/") {
			continue
		}
		var file struct {
			Groups []struct{ Rules []rule }
		}
		if err := yaml.Unmarshal([]byte(f.Content), &file); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Path, err)
		}
		for _, g := range file.Groups {
			all = append(all, g.Rules...)
		}
	}
	if len(all) < 20 {
		return nil, fmt.Errorf("%d rules, want 20 at least", len(all))
	}
	return all, nil
}

// chosen puts values in the place of Grafana's variables, as Grafana does.
func chosen(text string, variables map[string]string) string {
	return variableName.ReplaceAllStringFunc(text, func(v string) string {
		if value, ok := variables[strings.Trim(v, "${}")]; ok {
			return value
		}
		return v
	})
}

var variableName = regexp.MustCompile(`\$\{\w+\}|\$\w+`)
