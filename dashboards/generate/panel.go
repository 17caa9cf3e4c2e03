package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/grafana/grafana-foundation-sdk/go/bargauge"
	"github.com/grafana/grafana-foundation-sdk/go/cog/variants"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/table"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

// panel is one panel, in the few words that differ from panel to panel.
type panel struct {
	kind  kind
	title string
	about string // the description: what is seen, and what would be bad
	unit  string // a unit of Grafana's
	min   float64
	max   float64 // none when 0
	none  string  // what stands there without data: why
	width uint32  // of 24
	tall  uint32  // rows of the grid; 8 when 0

	steps   []step // thresholds, lowest first
	queries []query

	columns []column // of a table, in their order
	sortBy  string   // column of a table, largest first

	bars bool     // a series: bars that are stacked, for counts of events
	dash []string // a series: regular expressions of legends that are drawn as dashed lines, without area
}

// kind is a panel plugin of Grafana's. Only those that its published components can draw.
type kind string

const (
	number kind = "stat"
	series kind = "timeseries"
	rows   kind = "table"
	bars   kind = "bargauge"
)

// query is one expression and how its series are called.
type query struct {
	expr   string
	legend string // {{label}}; not of a table
}

// step is a threshold: this colour from this value on.
type step struct {
	from  float64
	color string
}

// column is a column of a table: a label, or "Value #A" for what the first query says.
type column struct {
	field, title, unit string
	link               string
	width              int // pixels; 0 shares what the others leave
	steps              []step
}

func (p panel) build(id uint32) (dashboard.Panel, error) {
	if p.title == "" || p.about == "" || p.unit == "" || p.none == "" || p.width == 0 || len(p.queries) == 0 {
		return dashboard.Panel{}, fmt.Errorf("panel %q: %w", p.title, errIncomplete)
	}
	out := dashboard.NewPanel()
	out.Id = &id
	out.Type = string(p.kind)
	out.Title, out.Description = &p.title, &p.about
	out.Datasource = datasource()
	out.GridPos = &dashboard.GridPos{W: p.width, H: p.height()}
	out.Targets = p.targets()
	out.FieldConfig = dashboard.NewFieldConfigSource()
	d := &out.FieldConfig.Defaults
	d.Unit, d.Min, d.NoValue = &p.unit, &p.min, &p.none
	if p.max != 0 {
		d.Max = &p.max
	}
	d.Thresholds, d.Color = thresholds(p.steps), &dashboard.FieldColor{Mode: dashboard.FieldColorModeIdPaletteClassic}
	if len(p.steps) > 0 || p.kind == number {
		d.Color.Mode = dashboard.FieldColorModeIdThresholds
	}
	switch p.kind {
	case number:
		p.number(out)
	case series:
		p.series(out)
	case rows:
		p.rows(out)
	case bars:
		p.bargauge(out)
	default:
		return dashboard.Panel{}, fmt.Errorf("panel %q: kind %q: %w", p.title, p.kind, errIncomplete)
	}
	return *out, out.Validate()
}

// errIncomplete is a panel without a description, unit, or text for when there is no data: people would not know what they see.
var errIncomplete = errors.New("incomplete")

func (p panel) height() uint32 {
	if p.tall == 0 {
		return 8
	}
	return p.tall
}

// targets are the queries. All but time series ask for the present only, which is cheap on a fleet.
func (p panel) targets() []variants.Dataquery {
	var out []variants.Dataquery
	for i, q := range p.queries {
		t := prometheus.NewDataquery()
		t.Datasource = datasource()
		t.RefId = new(string(rune('A' + i)))
		t.Expr = q.expr
		t.EditorMode = new(prometheus.QueryEditorModeCode)
		t.Format = new(prometheus.PromQueryFormatTimeSeries)
		t.Instant, t.Range = new(p.kind != series), new(p.kind == series)
		if p.kind == rows {
			t.Format = new(prometheus.PromQueryFormatTable)
		} else {
			t.LegendFormat = new(cmp.Or(q.legend, "__auto"))
		}
		out = append(out, *t)
	}
	return out
}

func (p panel) number(out *dashboard.Panel) {
	o := stat.NewOptions()
	o.ReduceOptions = last()
	o.ColorMode, o.GraphMode = common.BigValueColorModeValue, common.BigValueGraphModeNone
	if len(p.queries) > 1 {
		o.TextMode = common.BigValueTextModeValueAndName
	}
	out.Options = o
}

func (p panel) bargauge(out *dashboard.Panel) {
	o := bargauge.NewOptions()
	o.ReduceOptions = last()
	o.Orientation, o.DisplayMode = common.VizOrientationHorizontal, common.BarGaugeDisplayModeBasic
	out.Options = o
}

func last() common.ReduceDataOptions {
	r := common.NewReduceDataOptions()
	r.Calcs = []string{"lastNotNull"}
	return *r
}

func (p panel) series(out *dashboard.Panel) {
	o := timeseries.NewOptions()
	o.Legend.ShowLegend, o.Legend.DisplayMode, o.Legend.Placement = true, common.LegendDisplayModeTable, common.LegendPlacementRight
	o.Legend.Calcs = []string{"lastNotNull", "max"}
	o.Tooltip.Mode, o.Tooltip.Sort = common.TooltipDisplayModeMulti, common.SortOrderDescending
	out.Options = o

	c := timeseries.NewFieldConfig()
	c.LineWidth, c.ShowPoints = new(1.0), new(common.VisibilityModeNever)
	c.SpanNulls = &common.BoolOrFloat64{Bool: new(false)} // a gap is a gap: nothing is known of it
	if p.bars {
		c.DrawStyle, c.FillOpacity = new(common.GraphDrawStyleBars), new(80.0)
		c.Stacking = &common.StackingConfig{Mode: new(common.StackingModeNormal), Group: new("A")}
	}
	if len(p.steps) > 0 {
		c.ThresholdsStyle = &common.GraphThresholdsStyleConfig{Mode: common.GraphThresholdsStyleModeDashed}
		out.FieldConfig.Defaults.Color.Mode = dashboard.FieldColorModeIdPaletteClassic
	}
	out.FieldConfig.Defaults.Custom = c
	for _, name := range p.dash {
		out.FieldConfig.Overrides = append(out.FieldConfig.Overrides, dashboard.DashboardFieldConfigSourceOverrides{
			Matcher: dashboard.MatcherConfig{Id: "byRegexp", Options: "/" + name + "/"},
			Properties: []dashboard.DynamicConfigValue{
				{Id: "custom.lineStyle", Value: map[string]any{"fill": "dash", "dash": []int{8, 8}}},
				{Id: "custom.fillOpacity", Value: 0},
			},
		})
	}
}

// rows joins the queries by their common labels and shows the columns that were asked for, in their order, and no other.
func (p panel) rows(out *dashboard.Panel) {
	o := table.NewOptions()
	o.ShowHeader = true
	o.Footer.Reducer = []string{} // the schema wants one, also of a footer that is not shown
	if p.sortBy != "" {
		o.SortBy = []common.TableSortByFieldState{{DisplayName: p.sortBy, Desc: new(true)}}
	}
	out.Options = o
	out.FieldConfig.Defaults.Custom = common.NewTableFieldOptions()

	var shown []string
	order, names := map[string]int{}, map[string]string{}
	for i, c := range p.columns {
		shown = append(shown, c.field)
		order[c.field], names[c.field] = i, c.title
		out.FieldConfig.Overrides = append(out.FieldConfig.Overrides, dashboard.DashboardFieldConfigSourceOverrides{
			Matcher: dashboard.MatcherConfig{Id: "byName", Options: c.title}, Properties: c.properties(),
		})
	}
	// Filtered before merged: rows are joined by all fields that the queries have in common, and the time would be one of them.
	out.Transformations = []dashboard.DataTransformerConfig{
		{Id: "filterFieldsByName", Options: map[string]any{"include": map[string]any{"names": shown}}},
	}
	if len(p.queries) > 1 {
		out.Transformations = append(out.Transformations, dashboard.DataTransformerConfig{Id: "merge", Options: map[string]any{}})
	}
	out.Transformations = append(out.Transformations, dashboard.DataTransformerConfig{
		Id: "organize", Options: map[string]any{"indexByName": order, "renameByName": names},
	})
}

func (c column) properties() []dashboard.DynamicConfigValue {
	// What stands for a table without data would else stand in every cell without a value.
	out := []dashboard.DynamicConfigValue{{Id: "noValue", Value: "–"}}
	if c.width > 0 {
		out = append(out, dashboard.DynamicConfigValue{Id: "custom.width", Value: c.width})
	}
	if c.unit != "" {
		out = append(out, dashboard.DynamicConfigValue{Id: "unit", Value: c.unit})
	}
	if len(c.steps) > 0 {
		out = append(
			out,
			dashboard.DynamicConfigValue{Id: "thresholds", Value: thresholds(c.steps)},
			dashboard.DynamicConfigValue{Id: "custom.cellOptions", Value: map[string]any{"type": "color-text"}},
			dashboard.DynamicConfigValue{Id: "color", Value: map[string]any{"mode": "thresholds"}},
		)
	}
	if c.link != "" {
		out = append(out, dashboard.DynamicConfigValue{Id: "links", Value: []map[string]any{{"title": "All of this disk", "url": c.link}}})
	}
	return out
}

// thresholds begin with a plain colour: what is below the first step is neither good nor bad.
func thresholds(steps []step) *dashboard.ThresholdsConfig {
	t := &dashboard.ThresholdsConfig{Mode: dashboard.ThresholdsModeAbsolute, Steps: []dashboard.Threshold{{Color: "text"}}}
	for _, s := range slices.Clone(steps) {
		t.Steps = append(t.Steps, dashboard.Threshold{Value: &s.from, Color: s.color})
	}
	return t
}

func datasource() *common.DataSourceRef {
	return &common.DataSourceRef{Type: new("prometheus"), Uid: new("${datasource}")}
}
