// Command generate writes the Grafana dashboards of package dashboards as JSON:
//
//	go run ./dashboards/generate dashboards
//
// It builds them with Grafana's own SDK, so that a field that Grafana does not know cannot be written. The result is committed; a
// test compares it with what this command makes.
//
// panel.go says what a panel is and must have, dashboard.go what a dashboard is; fleet.go and disk.go are the two there are.
package main
