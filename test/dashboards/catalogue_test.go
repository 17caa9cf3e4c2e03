package dashboards

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"ssd_exporter/collector"
)

// metric is what may stand in an expression.
type metric struct {
	kind   collector.Kind
	labels []string
	closed map[string][]string
}

// known are all metrics of the catalogue, those that Prometheus and its client library add, and the recorded ones.
func known(t *testing.T) map[string]metric {
	t.Helper()
	target := []string{"job", "instance"}
	all := map[string]metric{
		"up":                         {kind: collector.Gauge, labels: target},
		"process_start_time_seconds": {kind: collector.Gauge, labels: target},
	}
	for _, r := range collector.Catalog() {
		m := metric{r.Kind, append(r.AllLabels(), target...), r.Closed}
		all[r.Name] = m
		if r.Kind == collector.Histogram {
			for _, suffix := range []string{"_bucket", "_sum", "_count"} {
				part := m
				if part.kind = collector.Counter; suffix == "_bucket" {
					part.labels = append(slices.Clone(m.labels), "le")
				}
				all[r.Name+suffix] = part
			}
		}
	}
	p := parser.NewParser(parser.Options{})
	for _, r := range allRules(t) {
		if r.Record == "" {
			continue
		}
		ast, err := p.ParseExpr(r.Expr)
		if err != nil {
			t.Fatalf("%s: %v", r.Record, err)
		}
		m := metric{kind: collector.Gauge}
		parser.Inspect(ast, func(n parser.Node, _ []parser.Node) error {
			if a, ok := n.(*parser.AggregateExpr); ok && m.labels == nil { // the outermost one
				m.labels = a.Grouping
			}
			return nil
		})
		all[r.Record] = m
	}
	return all
}

// plain is a list of words in a regular expression.
var plain = regexp.MustCompile(`^\w+(\|\w+)*$`)

func TestEveryMetricAndLabelExists(t *testing.T) {
	metrics := known(t)
	selectors := 0
	for _, e := range expressions(t) {
		there := map[string]bool{} // labels of anything in the expression
		parser.Inspect(e.ast, func(n parser.Node, path []parser.Node) error {
			s, ok := n.(*parser.VectorSelector)
			if !ok {
				return nil
			}
			selectors++
			m, exists := metrics[s.Name]
			if !exists {
				t.Errorf("%s: there is no metric %q", e.where, s.Name)
				return nil
			}
			for _, l := range m.labels {
				there[l] = true
			}
			for _, matcher := range s.LabelMatchers {
				m.check(t, e.where, matcher)
			}
			if f := function(path); m.kind == collector.Gauge && slices.Contains([]string{"rate", "increase", "irate"}, f) {
				t.Errorf("%s: %s(%s), which is no counter", e.where, f, s.Name)
			}
			return nil
		})
		parser.Inspect(e.ast, func(n parser.Node, _ []parser.Node) error {
			for _, l := range grouping(n) {
				if !there[l] {
					t.Errorf("%s: groups or joins by %q, which nothing in it has", e.where, l)
				}
			}
			return nil
		})
		for _, l := range e.shown {
			if !there[l] {
				t.Errorf("%s: shows the label %q, which nothing in it has", e.where, l)
			}
		}
	}
	if selectors < 100 {
		t.Errorf("only %d selectors were seen", selectors)
	}
}

// check says what is wrong with a matcher: an unknown label, or a value that the label never has.
func (m metric) check(t *testing.T, where string, matcher *labels.Matcher) {
	t.Helper()
	if matcher.Name == model.MetricNameLabel {
		return
	}
	if !slices.Contains(m.labels, matcher.Name) {
		t.Errorf("%s: %s: there is no such label", where, matcher)
	}
	values := []string{matcher.Value}
	if matcher.Type == labels.MatchRegexp || matcher.Type == labels.MatchNotRegexp {
		if values = nil; plain.MatchString(matcher.Value) {
			values = strings.Split(matcher.Value, "|")
		}
	}
	if closed, ok := m.closed[matcher.Name]; ok {
		for _, v := range values {
			if !slices.Contains(closed, v) {
				t.Errorf("%s: %s: it is one of %q", where, matcher, closed)
			}
		}
	}
}

// function is the innermost function around a selector.
func function(path []parser.Node) string {
	for _, n := range slices.Backward(path) {
		if c, ok := n.(*parser.Call); ok {
			return c.Func.Name
		}
	}
	return ""
}

func grouping(n parser.Node) []string {
	switch n := n.(type) {
	case *parser.AggregateExpr:
		return n.Grouping
	case *parser.BinaryExpr:
		if n.VectorMatching != nil {
			return slices.Concat(n.VectorMatching.MatchingLabels, n.VectorMatching.Include)
		}
	}
	return nil
}

// Columns of a table are labels of its queries, or "Value #A".
func TestTablesShowWhatTheirQueriesGive(t *testing.T) {
	metrics := known(t)
	p := parser.NewParser(parser.Options{})
	tables := 0
	for _, d := range allDashboards(t) {
		for _, pn := range d.Panels {
			if pn.Type != "table" {
				continue
			}
			tables++
			there := map[string]bool{}
			for _, target := range pn.Targets {
				ast, err := p.ParseExpr(chosen(target.Expr, anything))
				if err != nil {
					t.Fatal(err)
				}
				for _, l := range resulting(ast, metrics) {
					there[l] = true
				}
				there["Value #"+target.RefID] = true
			}
			if len(pn.Targets) == 1 {
				there["Value"] = true
			}
			for _, tr := range pn.Transformations {
				for _, name := range tr.Options.Include.Names {
					if !there[name] {
						t.Errorf("%s/%s: the column %q comes from no query; there are %v", d.Title, pn.Title, name, slices.Sorted(maps.Keys(there)))
					}
				}
			}
		}
	}
	if tables < 5 {
		t.Errorf("only %d tables", tables)
	}
}

// resulting are the labels that the result of an expression may have.
func resulting(e parser.Expr, metrics map[string]metric) []string {
	switch e := e.(type) {
	case *parser.VectorSelector:
		return metrics[e.Name].labels
	case *parser.MatrixSelector:
		return resulting(e.VectorSelector, metrics)
	case *parser.ParenExpr:
		return resulting(e.Expr, metrics)
	case *parser.AggregateExpr:
		if e.Op == parser.TOPK || e.Op == parser.BOTTOMK {
			return resulting(e.Expr, metrics)
		}
		return e.Grouping
	case *parser.Call:
		var all []string
		for _, a := range e.Args {
			all = append(all, resulting(a, metrics)...)
		}
		return all
	case *parser.BinaryExpr:
		left, right := resulting(e.LHS, metrics), resulting(e.RHS, metrics)
		switch {
		case e.Op == parser.LOR || len(left) == 0:
			return append(slices.Clone(left), right...)
		case e.VectorMatching != nil && e.VectorMatching.Card == parser.CardOneToMany:
			return right
		case e.VectorMatching != nil:
			return append(slices.Clone(left), e.VectorMatching.Include...)
		}
		return left
	}
	return nil
}

// unused are metrics that no dashboard and no rule shows, and why.
var unused = map[string]string{
	"ssd_smart_attribute_value":     "opt-in, and what it means is the maker's",
	"ssd_smart_attribute_worst":     "opt-in, and what it means is the maker's",
	"ssd_smart_attribute_threshold": "opt-in, and what it means is the maker's",
	"ssd_smart_attribute_raw":       "opt-in, and what it means is the maker's",
	"ssd_power_state":               "a disk that sleeps is no news",
	"ssd_devices":                   "the dashboards count ssd_device_info, which can be filtered by model",
	"ssd_exporter_config_last_reload_success_timestamp_seconds": "the alert looks at whether it succeeded",
}

func TestEveryMetricIsUsedOrDeliberatelyNot(t *testing.T) {
	used := map[string]bool{}
	for _, e := range expressions(t) {
		parser.Inspect(e.ast, func(n parser.Node, _ []parser.Node) error {
			if s, ok := n.(*parser.VectorSelector); ok {
				used[s.Name] = true
			}
			return nil
		})
	}
	for _, r := range collector.Catalog() {
		why, deliberately := unused[r.Name]
		if used[r.Name] == deliberately {
			t.Errorf("%s: used: %v; deliberately unused: %v %s", r.Name, used[r.Name], deliberately, why)
		}
	}
	for name := range unused {
		if _, exists := known(t)[name]; !exists {
			t.Errorf("%s, said to be unused, does not exist", name)
		}
	}
}
