package web

import (
	"fmt"
	"time"

	"ssd_exporter/blockdev"
	"ssd_exporter/engine"
	"ssd_exporter/engine/ledger"
	"ssd_exporter/monitor"
	"ssd_exporter/monitor/history"
	"ssd_exporter/smart"
)

func noon() time.Time { return time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC) }

// healthy is a host with one disk and one target that has measured for a while.
func healthy() *monitor.Snapshot {
	return &monitor.Snapshot{
		At: noon(), Started: noon().Add(-3 * time.Hour),
		Disks:   []monitor.DiskState{healthyDisk(0)},
		Targets: []monitor.TargetState{healthyTarget("data", healthyDisk(0).ID)},
	}
}

func healthyDisk(n int) monitor.DiskState {
	identity := blockdev.Identity{
		Model: "Widget SSD 990", Serial: fmt.Sprintf("S%03d", n), Firmware: "4B2Q", Transport: "nvme", Kernel: fmt.Sprintf("nvme%dn1", n),
	}
	return monitor.DiskState{
		ID: blockdev.ID("Widget_SSD_990_" + identity.Serial), Identity: identity,
		Kernel: &blockdev.Disk{Identity: identity, Capacity: 2_000_398_934_016},
		Smart:  monitor.SmartState{Polled: true, Success: true, LastRead: noon().Add(-time.Minute), Source: "native"},
		Health: &smart.Health{
			Family: "NVMe", Healthy: new(true), Rotational: new(false),
			Wear:        smart.Wear{Used: new(0.125), Source: "nvme_percentage_used", Sources: map[string]float64{"nvme_percentage_used": 0.125}},
			HostWritten: new(uint64(60_000_000_000_000)), HostRead: new(uint64(90_000_000_000_000)), MediaWritten: new(uint64(81_000_000_000_000)),
			WriteAmplification: new(1.35), SpareAvailable: new(1.0), SpareThreshold: new(0.1),
			Temperatures: map[string]float64{"composite": 41, "1": 44}, TemperatureLimits: map[string]float64{"warning": 82},
			PowerOn: new(9000 * time.Hour),
		},
		Rated:   &monitor.Rating{Bytes: 1_200_000_000_000_000},
		Written: map[ledger.Purpose]int64{ledger.Probe: 5_000_000, ledger.Fill: 1 << 30},
		Budget:  &ledger.Account{PerDay: 2_000_000_000, Remaining: 1_700_000_000},
	}
}

func healthyTarget(name string, disk blockdev.ID) monitor.TargetState {
	t := monitor.TargetState{
		Name: name, Dir: "/var/lib/ssd_exporter", Profile: "light", Filesystem: &blockdev.Filesystem{Type: "ext4", Source: "/dev/nvme0n1p2"},
		Disks: []blockdev.ID{disk}, FileSize: 1 << 30, Phase: "idle", LastAttempt: noon().Add(-time.Minute), LastSuccess: noon().Add(-time.Minute),
		ColdSince: noon().Add(-36 * time.Hour), ColdRatio: new(1.02),
		Events: monitor.Events{
			Runs:    map[history.Outcome]uint64{history.Success: 90, history.Failed: 0},
			Skipped: map[monitor.Skip]uint64{monitor.SkipBusy: 3, monitor.SkipReadOnly: 1},
		},
	}
	for i := range 12 { // newest first
		r := mixedRun(noon().Add(-time.Duration(i)*time.Hour), float64(10_000-100*i))
		r.Contended = i == 3
		t.Recent = append(t.Recent, r)
	}
	last := t.Recent[0]
	t.Workloads = []monitor.WorkloadState{
		{
			Workload: engine.Workload{Name: "mixed80_4k_q4", Streams: []engine.Stream{{BlockSize: 4096, ReadPermille: 800, Depth: 4}}},
			Next:     noon().Add(59 * time.Minute), Last: &last, Measured: &last,
			Series: []monitor.SeriesState{
				{Op: "all", Signal: "rate", Runs: 12, Baseline: new(1e-4), Degradation: new(0.0312)},
				{Op: "read", Signal: "p50", Runs: 12, Baseline: new(1e-4), Degradation: new(-0.0101)},
			},
		},
		{
			Workload: engine.Workload{Name: "cold_4k_q1", Streams: []engine.Stream{{BlockSize: 4096, ReadPermille: 1000, Region: engine.Cold}}},
			Series:   []monitor.SeriesState{{Op: "all", Signal: "rate", Runs: 3}},
		},
	}
	return t
}

func mixedRun(start time.Time, iops float64) history.Run {
	stats := func(iops float64, p50 time.Duration) *history.OpStats {
		return &history.OpStats{
			IOs: 5000, IOPS: iops, BytesPerSecond: iops * 4096, Latency: history.Quantiles{P50: new(p50), P99: new(4 * p50)},
		}
	}
	return history.Run{
		Workload: "mixed80_4k_q4", Start: start, Outcome: history.Success,
		Ops: [2]*history.OpStats{stats(iops, 83200*time.Nanosecond), stats(iops/4, 21*time.Microsecond)},
	}
}
