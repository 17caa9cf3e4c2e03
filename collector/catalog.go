package collector

import (
	"slices"

	"ssd_exporter/monitor"
)

// Row is one metric: all that anybody needs to know about it. The page, docs/metrics.md, and the checks of dashboards and rules
// are made from the same rows.
type Row struct {
	Name   string
	Kind   Kind
	Scope  Scope               // what there is one of for each set of samples; gives the first labels
	Help   string              // with the unit
	Labels []string            // beyond those of the scope
	Closed map[string][]string // by label of Labels: the only values it takes; absent from the map when open
	OptIn  bool                // only with Options.Attributes
	// Process says that the process registers the metric itself, as part of the live families: the row documents it.
	Process bool

	yield func(subject, sink)
}

// AllLabels are the label names of every sample, those of the scope first.
func (r *Row) AllLabels() []string {
	return slices.Concat(r.Scope.labels(), r.Labels)
}

// Kind is the type of a metric.
type Kind string

// Kinds. Info is a gauge that is always 1 and carries its information in labels: the Prometheus text format knows no info type.
const (
	Gauge     Kind = "gauge"
	Counter   Kind = "counter"
	Histogram Kind = "histogram"
	Info      Kind = "info"
)

// Scope is what a metric tells about.
type Scope string

// Scopes. A target metric has the label device_id only when the target lies on exactly one disk; it is empty otherwise, which to
// Prometheus is the same as absent.
const (
	Disk     Scope = "disk"
	Target   Scope = "target"
	Leaf     Scope = "leaf" // one disk below one target
	Workload Scope = "workload"
	Exporter Scope = "exporter"
)

// Scopes lists all scopes in the order of the documentation.
func Scopes() []Scope { return []Scope{Disk, Target, Leaf, Workload, Exporter} }

func (s Scope) labels() []string {
	switch s {
	case Disk:
		return []string{"device_id"}
	case Target, Leaf:
		return []string{"target", "device_id"}
	case Workload:
		return []string{"target", "device_id", "workload"}
	default:
		return nil
	}
}

// Catalog is every metric, disks first. The caller owns the slice.
func Catalog() []Row {
	return slices.Concat(diskRows(), wearRows(), smartRows(), costRows(), attributeRows(), targetRows(), workloadRows(), baselineRows(),
		exporterRows())
}

func exporterRows() []Row {
	return []Row{
		{
			Name: "ssd_devices", Kind: Gauge, Scope: Exporter,
			Help: "Disks known now, with or without S.M.A.R.T.",
			yield: func(of subject, out sink) {
				if !of.snapshot.At.IsZero() { // before the first look, their number is unknown and not 0
					out.value(float64(len(of.snapshot.Disks)))
				}
			},
		},
		{
			Name: "ssd_exporter_build_info", Kind: Info, Scope: Exporter, Process: true,
			Labels: []string{"version", "revision", "branch", "goversion", "goos", "goarch", "tags"},
			Help:   "Always 1; the labels say which build this is.",
		},
		{
			Name: "ssd_exporter_config_last_reload_successful", Kind: Gauge, Scope: Exporter, Process: true,
			Help: "1 when the last attempt to load the configuration succeeded, else 0.",
		},
		{
			Name: "ssd_exporter_config_last_reload_success_timestamp_seconds", Kind: Gauge, Scope: Exporter, Process: true,
			Help: "Unix time at which the configuration was last loaded.",
		},
	}
}

// subject is what a row is asked about: the fields of its scope are set, and so are the outer ones.
type subject struct {
	snapshot *monitor.Snapshot
	disk     *monitor.DiskState
	target   *monitor.TargetState
	workload *monitor.WorkloadState
	labels   []string // values of Scope.labels
}

// subjects are all there are in a snapshot, by scope, in its order.
func subjects(s *monitor.Snapshot) map[Scope][]subject {
	all := map[Scope][]subject{Exporter: {{snapshot: s}}}
	for i := range s.Disks {
		d := &s.Disks[i]
		all[Disk] = append(all[Disk], subject{snapshot: s, disk: d, labels: []string{string(d.ID)}})
	}
	for i := range s.Targets {
		t := &s.Targets[i]
		device := ""
		if len(t.Disks) == 1 {
			device = string(t.Disks[0])
		}
		all[Target] = append(all[Target], subject{snapshot: s, target: t, labels: []string{t.Name, device}})
		for _, id := range t.Disks {
			all[Leaf] = append(all[Leaf], subject{snapshot: s, target: t, labels: []string{t.Name, string(id)}})
		}
		for j := range t.Workloads {
			w := &t.Workloads[j]
			all[Workload] = append(all[Workload], subject{
				snapshot: s, target: t, workload: w,
				labels: []string{t.Name, device, w.Workload.Name},
			})
		}
	}
	return all
}
