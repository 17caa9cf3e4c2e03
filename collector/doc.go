// Package collector turns a monitor.Snapshot into Prometheus metrics. catalog.go is THE table of every metric; docs/metrics.md
// is generated from it, and dashboards and rules are checked against it.
//
// It promises: a scrape copies a snapshot and touches no device; the page is encoded once per snapshot and format, ahead of the
// scrapes where KeepFresh runs, and served from memory; no scrape sees an older snapshot than one before it; what is unknown has
// no sample; no sample carries a timestamp; one bad disk never voids the page.
package collector
