package dashboards

import _ "embed" // the directives below

// File is one file for somebody else's program.
type File struct {
	Path    string // slash-separated, below the folder that files are exported to
	About   string // half a line for people
	Content string
}

// Strings and no embed.FS: the compiler proves that every file is there, and nobody can change one.
var (
	//go:embed provider.yml
	provider string
	//go:embed fleet.json
	fleet string
	//go:embed disk.json
	disk string
	//go:embed rules/recording.yml
	recording string
	//go:embed rules/alerts.yml
	alerts string
)

// Files lists all files, in the order in which people need them. What lies below grafana/ has the layout of /etc/grafana. The
// caller owns the slice.
func Files() []File {
	return []File{
		{"grafana/provisioning/dashboards/ssd_exporter.yml", "tells Grafana where the dashboards are", provider},
		{"grafana/provisioning/dashboards/ssd_exporter/fleet.json", "Grafana dashboard: all disks, the worst first", fleet},
		{"grafana/provisioning/dashboards/ssd_exporter/disk.json", "Grafana dashboard: all of one disk", disk},
		{"prometheus/rules/ssd_exporter.recording.yml", "Prometheus recording rules, which the alerts need", recording},
		{"prometheus/rules/ssd_exporter.alerts.yml", "Prometheus alerting rules", alerts},
	}
}
