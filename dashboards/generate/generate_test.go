package main

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/grafana/grafana-foundation-sdk/go/bargauge"
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/table"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

var update = flag.Bool("update", false, "write the dashboards anew")

// committed is a dashboard as everybody gets it.
func committed(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestTheCommittedDashboardsAreThoseThatTheGeneratorMakes(t *testing.T) {
	if *update {
		if err := write(".."); err != nil {
			t.Fatal(err)
		}
	}
	for name, s := range specs() {
		want, err := encode(s)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(committed(t, name))); diff != "" {
			t.Errorf("dashboards/%s is out of date; run: go test ./dashboards/generate -update\n%s", name, diff)
		}
	}
}

// decode reads a dashboard as strictly as Grafana's schema allows.
func decode(raw []byte) (model, error) {
	r := cog.NewRuntime()
	r.RegisterDataqueryVariant(prometheus.VariantConfig())
	r.RegisterPanelcfgVariant(bargauge.VariantConfig())
	r.RegisterPanelcfgVariant(stat.VariantConfig())
	r.RegisterPanelcfgVariant(table.VariantConfig())
	r.RegisterPanelcfgVariant(timeseries.VariantConfig())
	// On success the strict decoder returns a typed nil, an error that is not nil and holds no errors, and it loses panels on the way
	// for the same reason. It finds what is wrong; the plain decoder reads.
	err := new(model).UnmarshalJSONStrict(raw)
	if list, ok := errors.AsType[cog.BuildErrors](err); !ok || len(list) > 0 {
		return model{}, err
	}
	var d model
	return d, json.Unmarshal(raw, &d)
}

func TestGrafanasSchemaKnowsEveryField(t *testing.T) {
	for name := range specs() {
		raw := committed(t, name)
		d, err := decode(raw)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := d.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		// The same decoder must find what is wrong, or the test above says nothing.
		for story, change := range map[string][2]string{
			"a field that Grafana does not know": {`"refresh":`, `"refesh":`},
			"a number where a unit belongs":      {`"unit": "percentunit"`, `"unit": 7`},
			"an unknown option of a panel":       {`"colorMode":`, `"colourMode":`},
		} {
			broken := strings.Replace(string(raw), change[0], change[1], 1)
			if broken == string(raw) {
				t.Fatalf("%s: %q does not occur", name, change[0])
			}
			if _, err := decode([]byte(broken)); err == nil {
				t.Errorf("%s: %s is not found", name, story)
			}
		}
	}
}

// each calls f with every panel of every dashboard.
func each(t *testing.T, f func(t *testing.T, d model, p *dashboard.Panel)) {
	for name := range specs() {
		d, err := decode(committed(t, name))
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, either := range d.Panels {
			if p := either.Panel; p != nil {
				n++
				t.Run(*d.Title+"/"+*p.Title, func(t *testing.T) { f(t, d, p) })
			}
		}
		if n < 10 {
			t.Errorf("%s has only %d panels", name, n)
		}
	}
}

func TestEveryPanelSaysWhatItShowsAndWhyItMayBeEmpty(t *testing.T) {
	each(t, func(t *testing.T, _ model, p *dashboard.Panel) {
		d := p.FieldConfig.Defaults
		if p.Description == nil || !strings.HasSuffix(*p.Description, ".") {
			t.Error("no description in whole sentences")
		}
		if d.Unit == nil || d.Min == nil || d.NoValue == nil {
			t.Errorf("unit, min or the text for no data is missing: %+v", d)
		}
		if d.Max != nil && *d.Max <= *d.Min {
			t.Errorf("max %v is not above min %v", *d.Max, *d.Min)
		}
		if !slices.Contains([]string{"stat", "table", "timeseries", "bargauge"}, p.Type) {
			t.Errorf("type %s cannot be drawn by Grafana's published components", p.Type)
		}
	})
}

func TestEveryQueryIsBoundToTheChosenPrometheusAndHosts(t *testing.T) {
	selector := regexp.MustCompile(`\b(ssd_[a-z0-9_]+|up|process_start_time_seconds)(\{[^}]*\})?`)
	each(t, func(t *testing.T, d model, p *dashboard.Panel) {
		if *p.Datasource.Uid != "${datasource}" {
			t.Errorf("bound to the data source %s", *p.Datasource.Uid)
		}
		seen := map[string]bool{}
		for _, target := range p.Targets {
			q, ok := target.(*prometheus.Dataquery)
			if !ok {
				t.Fatalf("%T is no query of Prometheus", target)
			}
			if *q.Datasource.Uid != "${datasource}" || seen[*q.RefId] {
				t.Errorf("query %s: data source %s, or used twice", *q.RefId, *q.Datasource.Uid)
			}
			seen[*q.RefId] = true
			for _, m := range selector.FindAllStringSubmatch(q.Expr, -1) {
				if !regexp.MustCompile(`job=~?"\$job", instance=~?"\$instance"`).MatchString(m[2]) {
					t.Errorf("%s%s looks at all hosts", m[1], m[2])
				}
			}
			for _, v := range regexp.MustCompile(`\$\{?([a-z_]+)`).FindAllStringSubmatch(q.Expr, -1) {
				known := v[1] == "__rate_interval" || slices.ContainsFunc(d.Templating.List, func(m dashboard.VariableModel) bool { return m.Name == v[1] })
				if !known {
					t.Errorf("$%s is no variable of the dashboard", v[1])
				}
			}
		}
	})
}

// A histogram has _bucket series or is native, never both, and which of them depends on Prometheus. A panel must work with either.
func TestQuantilesWorkWithBothKindsOfHistograms(t *testing.T) {
	found := false
	each(t, func(t *testing.T, _ model, p *dashboard.Panel) {
		for _, target := range p.Targets {
			expr := target.(*prometheus.Dataquery).Expr
			if !strings.Contains(expr, "histogram_quantile") {
				continue
			}
			found = true
			if !strings.Contains(expr, "ssd_probe_latency_seconds_bucket{") || !strings.Contains(expr, "ssd_probe_latency_seconds{") {
				t.Errorf("only one kind of histogram: %s", expr)
			}
		}
	})
	if !found {
		t.Error("no panel has a quantile")
	}
}

func TestPanelsDoNotOverlapAndHaveTheirOwnNumber(t *testing.T) {
	for name := range specs() {
		d, err := decode(committed(t, name))
		if err != nil {
			t.Fatal(err)
		}
		ids, cells := map[uint32]bool{}, map[[2]uint32]string{}
		place := func(id uint32, title string, g dashboard.GridPos) {
			if ids[id] || g.X+g.W > width || g.W == 0 || g.H == 0 {
				t.Errorf("%s: %s has the number of another, or does not fit: %d %+v", name, title, id, g)
			}
			ids[id] = true
			for x := g.X; x < g.X+g.W; x++ {
				for y := g.Y; y < g.Y+g.H; y++ {
					if other := cells[[2]uint32{x, y}]; other != "" {
						t.Fatalf("%s: %s lies on %s", name, title, other)
					}
					cells[[2]uint32{x, y}] = title
				}
			}
		}
		for _, either := range d.Panels {
			if r := either.RowPanel; r != nil {
				place(r.Id, *r.Title, *r.GridPos)
			} else {
				place(*either.Panel.Id, *either.Panel.Title, *either.Panel.GridPos)
			}
		}
	}
}

func TestVariables(t *testing.T) {
	for name, want := range map[string][]string{
		"fleet.json": {"datasource", "job", "instance", "model"},
		"disk.json":  {"datasource", "job", "instance", "device_id", "workload"},
	} {
		var d struct {
			Templating struct{ List []struct{ Name, Type string } }
		}
		if err := json.Unmarshal(committed(t, name), &d); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, v := range d.Templating.List {
			got = append(got, v.Name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: variables (-want +got):\n%s", name, diff)
		}
	}
}

func TestAPanelWithoutItsWordsIsRefused(t *testing.T) {
	whole := panel{kind: number, title: "T", about: "A.", unit: "s", none: "n", width: 4, queries: []query{{expr: "up"}}}
	if _, err := whole.build(1); err != nil {
		t.Fatal(err)
	}
	for story, cut := range map[string]func(*panel){
		"no title":       func(p *panel) { p.title = "" },
		"no description": func(p *panel) { p.about = "" },
		"no unit":        func(p *panel) { p.unit = "" },
		"no text":        func(p *panel) { p.none = "" },
		"no query":       func(p *panel) { p.queries = nil },
		"unknown kind":   func(p *panel) { p.kind = "heatmap" },
	} {
		p := whole
		cut(&p)
		if _, err := p.build(1); !errors.Is(err, errIncomplete) {
			t.Errorf("%s: %v", story, err)
		}
	}
}
