package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"ssd_exporter/engine"
)

// mixResult is a run of 900 reads and 100 writes of 4 KiB.
func mixResult() *engine.Result {
	r := &engine.Result{
		Workload: "measurement", Seed: 1<<63 + 1, Start: time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC), Elapsed: time.Second, Total: time.Second,
		Written: 100 * 4096, LongestGap: 2 * time.Millisecond, Depth: 3.5, CPU: 10 * time.Millisecond, EngineWhy: "best that works here",
		Stopped: engine.StoppedMaxTime, DeviceRatio: new(1.0), Valid: true,
		Fingerprint: engine.Fingerprint{Engine: engine.URing, Chunk: 4, IOPrio: "idle"},
	}
	for op, n := range map[engine.Op]int64{engine.Read: 900, engine.Write: 100} {
		o := &r.Ops[op]
		o.IOs, o.Bytes, o.Rated, o.RatedBytes = n, n*4096, n, n*4096
		for i := range n {
			o.Response.Record(time.Duration(i+1) * time.Microsecond)
		}
	}
	return r
}

func mixMeasured(r *engine.Result) measured {
	return measured{result: r, workload: engine.Workload{
		Name: "measurement", Stop: engine.Limits{MaxTime: time.Second, MaxWriteBytes: 1e9},
		Streams: []engine.Stream{{BlockSize: 4096, ReadPermille: 900, Pattern: engine.Random, Region: engine.Hot, Depth: 4, Arrival: engine.Closed}},
	}}
}

func fileTarget() probeTarget {
	return probeTarget{
		Path: "/srv", File: new("/srv/ssd_exporter.probe/probe.bin"), FileSize: new(int64(1 << 30)), Filesystem: new("ext4"), MountPoint: new("/"),
		Source: new("/dev/sda1"), Disks: []string{"sda"},
	}
}

func TestJSONOfAMeasurement(t *testing.T) {
	var b bytes.Buffer
	if err := writeJSON(&b, reportOf(mixMeasured(mixResult()), fileTarget())); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"seed": "9223372036854775809"`,
		`"read": { "iops": 900, "bytes_per_second": 3686400, "latency_seconds": { "mean": 0.00045`,
		`"p50": 0.000450047, "p90": 0.000810495, "p99": null, "p999": null, "max": 0.000900095 }, "ios": 900, "errors": 0, "errors_by_errno": {}`,
		`"p50": 0.000050015, "p90": 0.000090047, "p99": null`,
		`"iops": 1000, "cpu_seconds_per_io": 0.00001, "engine": "uring", "engine_reason": "best that works here", "valid": true, "reasons": [], "detail": null,`,
		`"device_io_ratio": 1, "longest_gap_seconds": 0.002, "foreign_iops": null,`,
		`"scheduler": null, "io_priority": "idle", "start": "2026-01-15T12:00:00Z",`,
		`"rate": null,`, `"max_ios": null, "max_write_bytes": 1000000000,`, `"issue_lag_p99_seconds": null,`,
	} {
		if got := strings.Join(strings.Fields(b.String()), " "); !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
}

func TestWhatIsUnknownIsNull(t *testing.T) {
	r := &engine.Result{Stopped: engine.StoppedCancelled, Reasons: []engine.Invalid{engine.InvalidFewSamples}, Detail: "0 I/Os"}
	r.Ops[engine.Read].Errors = map[string]int64{"EIO": 3, "SHORT": 1}
	m := mixMeasured(r)
	m.partial = true
	m.workload.Streams[0].ReadPermille = 1000
	got := reportOf(m, probeTarget{Path: "/dev/sdz"})
	switch {
	case got.Write != nil || got.Read == nil:
		t.Errorf("read %v, write %v", got.Read, got.Write)
	case got.Read.Errors != 4 || got.Read.ByErrno["EIO"] != 3:
		t.Errorf("errors %+v", got.Read)
	case got.Read.Latency != probeLatency{}:
		t.Errorf("latency %+v of no I/O", got.Read.Latency)
	case got.IOPS != nil || got.CPUPerIO != nil || got.LongestGap != nil || got.Parameters.MaxWriteBytes != nil:
		t.Errorf("figures of no I/O: %+v", got)
	}
}

func TestTheTableSaysWhatMustBeKnown(t *testing.T) {
	bad := mixResult()
	bad.Valid, bad.Detail, bad.Stopped = false, "only 1 of 2 bytes\x1b reached the device", engine.StoppedMaxWriteBytes
	bad.ForeignIOPS, bad.LongestGap = new(500.0), 3*time.Second
	partial := mixMeasured(mixResult())
	partial.partial = true
	var b bytes.Buffer
	if err := printProbeTable(&b, []probeReport{reportOf(mixMeasured(bad), fileTarget()), reportOf(partial, fileTarget())}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"/srv on sda (ext4), probe file of 1.0 GiB\n",
		"measurement  read   900   3.7 MB/s    451µs   450µs",
		"measurement  write  100   410 kB/s    50.5µs",
		"measurement: NOT VALID, only 1 of 2 bytes  reached the device\n",
		"measurement: it ended early, after 410 kB written; --yes-write=SIZE agrees to more\n",
		"measurement: others did 500 I/Os per second on the disk meanwhile\n",
		"measurement: nothing completed for 3s at one time\n",
		"measurement: PARTIAL, it did not run to its end\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, &b)
		}
	}
}
