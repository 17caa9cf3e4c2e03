// Package dashboards holds what people and machines look at: two Grafana dashboards, recording rules and alerting rules for
// Prometheus, and the file with which Grafana finds the dashboards. They are embedded, so that every binary carries the ones that
// fit its metrics.
//
// It promises:
//
//   - What is embedded is byte for byte what is committed here, and that is what the tests checked: the JSON against its generator
//     (dashboards/generate), Grafana's schema and the catalogue of metrics, the rules with promtool.
//   - Every metric and label that is used exists in collector.Catalog.
//   - A device_id is unique on a host and not in a fleet. Disks are joined on (job, instance, device_id), workloads on that and
//     (target, workload). A target on several disks has no device_id: ssd_probe_target_device_info tells its disks.
//   - No alert needs a histogram, and none fires for what merely stays as it is: a counter that stands, a sector that is pending
//     now and then, a single slow run.
package dashboards
