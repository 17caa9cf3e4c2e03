// Package collector turns a monitor.Snapshot into Prometheus metrics. catalog.go is THE table of every metric; docs/metrics.md
// is generated from it, and dashboards and rules are checked against it.
//
// It promises: a scrape copies a snapshot and touches no device; the page is encoded once per snapshot and format and served
// from memory; what is unknown has no sample; no sample carries a timestamp; one bad disk never voids the page.
package collector
