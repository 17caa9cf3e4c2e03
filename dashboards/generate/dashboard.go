package main

import (
	"fmt"

	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// spec is one dashboard.
type spec struct {
	uid, title, about string
	variables         []variable
	sections          []section
	links             []dashboard.DashboardLink
}

// section is a row of a dashboard and the panels below it.
type section struct {
	title  string
	panels []panel
}

// variable is what people choose at the top: the values of a label.
type variable struct {
	name, label, query string
	all                bool // all or several, else one
}

// model is Grafana's own. Its second version would need Grafana 12; every Grafana in use reads this one, and newer ones convert it.
type model = dashboard.Dashboard //nolint:staticcheck // deprecated in favour of the second version

// width is that of Grafana's grid.
const width = 24

func (s spec) build() (*model, error) {
	d := dashboard.NewDashboard()
	d.Uid, d.Title, d.Description = &s.uid, &s.title, &s.about
	d.Tags = []string{"ssd_exporter"}
	d.Editable = new(true)
	d.Time = &dashboard.DashboardDashboardTime{From: "now-7d", To: "now"}
	d.Refresh = new("1m")
	d.GraphTooltip = new(dashboard.DashboardCursorSyncCrosshair)
	d.Timezone = new("browser")
	d.Links = s.links
	d.Templating.List = []dashboard.VariableModel{datasources()}
	for _, v := range s.variables {
		d.Templating.List = append(d.Templating.List, v.build())
	}
	id, y := uint32(0), uint32(0)
	for _, row := range s.sections {
		id++
		r := dashboard.NewRowPanel()
		r.Id, r.Title, r.GridPos = id, &row.title, &dashboard.GridPos{W: width, H: 1, Y: y}
		r.Panels = []dashboard.Panel{}
		d.Panels = append(d.Panels, dashboard.PanelOrRowPanel{RowPanel: r})
		y++
		x, tall := uint32(0), uint32(0)
		for _, p := range row.panels {
			id++
			out, err := p.build(id)
			if err != nil {
				return nil, fmt.Errorf("in %q: %w", row.title, err)
			}
			if x+p.width > width {
				x, y, tall = 0, y+tall, 0
			}
			out.GridPos.X, out.GridPos.Y = x, y
			x, tall = x+p.width, max(tall, p.height())
			d.Panels = append(d.Panels, dashboard.PanelOrRowPanel{Panel: &out})
		}
		y += tall
	}
	return d, d.Validate()
}

// datasources lets people choose among several instances of Prometheus; nothing is bound to one of them.
func datasources() dashboard.VariableModel {
	v := dashboard.NewVariableModel()
	v.Type, v.Name, v.Label = dashboard.VariableTypeDatasource, "datasource", new("Prometheus")
	v.Query = &dashboard.StringOrMap{String: new("prometheus")}
	v.Refresh = new(dashboard.VariableRefreshOnDashboardLoad)
	return *v
}

func (s variable) build() dashboard.VariableModel {
	v := dashboard.NewVariableModel()
	v.Type, v.Name, v.Label = dashboard.VariableTypeQuery, s.name, &s.label
	v.Datasource = datasource()
	v.Query, v.Definition = &dashboard.StringOrMap{String: &s.query}, &s.query
	v.Refresh, v.Sort = new(dashboard.VariableRefreshOnTimeRangeChanged), new(dashboard.VariableSortAlphabeticalAsc)
	v.Multi, v.IncludeAll = &s.all, &s.all
	if s.all {
		v.AllValue = new(".*") // and no list of ten thousand disks
		v.Current = &dashboard.VariableOption{
			Text: dashboard.StringOrArrayOfString{String: new("All")}, Value: dashboard.StringOrArrayOfString{String: new("$__all")},
		}
	}
	return *v
}

// link leads from a dashboard to the other, with what was chosen and the time range.
func link(title, uid string) dashboard.DashboardLink {
	l := dashboard.NewDashboardLink()
	l.Title, l.Type, l.Url = title, dashboard.DashboardLinkTypeLink, new("/d/"+uid)
	l.IncludeVars, l.KeepTime, l.Icon = true, true, "external link"
	l.Placement = nil
	return *l
}
