package collector

import (
	"time"

	"ssd_exporter/blockdev"
	"ssd_exporter/engine"
	"ssd_exporter/engine/ledger"
	"ssd_exporter/monitor"
	"ssd_exporter/monitor/history"
	"ssd_exporter/smart"
)

// The snapshots of the tests. fixture has something for every row; fullDisk is a disk that tells all that a disk may tell.

func noon() time.Time { return time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC) }

func fixture() *monitor.Snapshot {
	return &monitor.Snapshot{
		At: noon(), Started: noon().Add(-48 * time.Hour),
		Disks: []monitor.DiskState{sataFromFile(), unreadable(), fullDisk()},
		Targets: []monitor.TargetState{
			target("array", []blockdev.ID{"WIDGET_SATA_1", "WIDGET_SATA_2"}, "read_4k_q1"),
			target("data", []blockdev.ID{fullDisk().ID}, "read_4k_q1", "mixed80_4k_q4", "write_1m_q2"),
		},
	}
}

// oneDisk is what the budgets are stated for: a disk that tells everything, with one target and all default workloads.
func oneDisk() *monitor.Snapshot {
	return &monitor.Snapshot{
		At: noon(), Started: noon().Add(-48 * time.Hour),
		Disks:   []monitor.DiskState{fullDisk()},
		Targets: []monitor.TargetState{target("data", []blockdev.ID{fullDisk().ID}, lightNames()...)},
	}
}

func fullDisk() monitor.DiskState {
	identity := blockdev.Identity{
		Model: "Widget SSD 990 2TB", Serial: "S1A2B3C4D5E6F7H", WWN: "eui.0025385a11b21c3d", Firmware: "4B2QJXD7", Transport: "nvme",
		Kernel: "nvme0n1",
	}
	return monitor.DiskState{
		ID: "Widget_SSD_990_2TB_S1A2B3C4D5E6F7H", Identity: identity,
		Kernel: &blockdev.Disk{Identity: identity, Device: "/dev/nvme0", Capacity: 2_000_398_934_016},
		Smart: monitor.SmartState{
			Polled: true, Success: true, LastRead: noon().Add(-20 * time.Second), Duration: 4 * time.Millisecond, Source: "native",
			Failures: map[smart.Reason]uint64{smart.Timeout: 2, "never heard of": 1},
		},
		Health: fullHealth(identity),
		Rated:  &monitor.Rating{Model: "Widget*", Bytes: 1_200_000_000_000_000, Term: 5 * 365 * 24 * time.Hour},
		IO: &blockdev.Counters{
			ReadIOs: 100, WriteIOs: 200, DiscardIOs: 30, FlushIOs: 40, ReadBytes: 409_600, WriteBytes: 819_200, DiscardBytes: 1 << 30,
			ReadTime: 1500 * time.Millisecond, WriteTime: 2500 * time.Millisecond, Busy: 3 * time.Second,
		},
		Written:     map[ledger.Purpose]int64{ledger.Probe: 5_000_000, ledger.Fill: 1 << 30},
		Budget:      &ledger.Account{PerDay: 2_000_000_000, Remaining: 1_700_000_000},
		Corrections: map[string]uint64{"host_written": 1},
	}
}

func fullHealth(identity blockdev.Identity) *smart.Health {
	return &smart.Health{
		At: noon().Add(-20 * time.Second), Source: "native", Protocol: "NVMe", Identity: identity, Family: "NVMe",
		Capacity: 2_000_398_934_016,
		Wear: smart.Wear{
			Used: new(0.12), Source: "nvme_percentage_used",
			Sources: map[string]float64{"nvme_percentage_used": 0.12, "ata_device_statistics": 0.11, "ata_attribute_173": 1.05},
		},
		HostWritten: new(uint64(60_000_000_000_000)), HostRead: new(uint64(90_000_000_000_000)), MediaWritten: new(uint64(81_000_000_000_000)),
		WriteAmplification: new(1.35), Rotational: new(false), Healthy: new(true),
		Critical: map[string]bool{
			"spare": false, "temperature": true, "reliability": false, "read_only": false, "volatile_backup": false, "pmr": false,
		},
		SpareAvailable: new(1.0), SpareThreshold: new(0.1),
		MediaErrors: new(uint64(0)), Reallocated: new(uint64(3)), ProgramFailures: new(uint64(1)), EraseFailures: new(uint64(0)),
		PendingSectors:    new(uint64(2)),
		Temperatures:      map[string]float64{"composite": 41, "1": 41, "2": 52, "3": 44, "4": 45, "5": 46, "6": 47, "7": 48, "8": 49},
		TemperatureLimits: map[string]float64{"warning": 82, "critical": 85},
		ThrottleSeconds:   map[string]uint64{"1": 12, "2": 3, "warning": 60, "critical": 0},
		PowerOn:           new(9000 * time.Hour), PowerCycles: new(uint64(312)), UnsafeShutdowns: new(uint64(17)), PowerState: "active",
	}
}

// sataFromFile is known from a report alone: the kernel of this host has no such disk.
func sataFromFile() monitor.DiskState {
	identity := blockdev.Identity{Model: "WIDGET SATA", Serial: "1", Transport: "sata"}
	return monitor.DiskState{
		ID: "WIDGET_SATA_1", Identity: identity,
		Smart: monitor.SmartState{
			Polled: true, Success: true, LastRead: noon().Add(-time.Hour), Duration: time.Millisecond, Source: "file:/r/1.json", Asleep: true,
		},
		Health: &smart.Health{
			Identity: identity, Family: "HG5d", Capacity: 512_110_190_592, PowerState: "active",
			Wear: smart.Wear{Used: new(1.05), Source: "ata_attribute_173", Sources: map[string]float64{"ata_attribute_173": 1.05}},
			Attributes: []smart.Attribute{
				{ID: 173, Name: "Unknown_Attribute", Value: 95, Worst: 95, Threshold: -1, Raw: 12345},
				{ID: 9, Name: "Power_On_Hours", Value: 99, Worst: 98, Threshold: 0, Raw: 9000},
			},
		},
	}
}

func unreadable() monitor.DiskState {
	return monitor.DiskState{
		ID: "vda", Identity: blockdev.Identity{Kernel: "vda", Transport: "virtio"},
		Kernel: &blockdev.Disk{Identity: blockdev.Identity{Kernel: "vda"}, Device: "/dev/vda"},
		Smart: monitor.SmartState{
			Polled: true, Reason: smart.Unsupported, Problem: "virtual disk", Failures: map[smart.Reason]uint64{smart.Unsupported: 1},
		},
	}
}

func lightNames() []string {
	return []string{
		"read_4k_q1", "cold_4k_q1", "read_4k_q32", "read_1m_q2", "mixed80_4k_q4", "mixed20_4k_q4", "sync_4k_q1", "open80_4k", "write_1m_q2",
	}
}

// opsOf says which directions a default workload has.
func opsOf(workload string) []engine.Op {
	switch workload {
	case "mixed80_4k_q4", "mixed20_4k_q4", "open80_4k":
		return []engine.Op{engine.Read, engine.Write}
	case "sync_4k_q1", "write_1m_q2":
		return []engine.Op{engine.Write}
	default:
		return []engine.Op{engine.Read}
	}
}

func target(name string, disks []blockdev.ID, workloads ...string) monitor.TargetState {
	t := monitor.TargetState{
		Name: name, Dir: "/srv/" + name, Profile: "light", Filesystem: &blockdev.Filesystem{Type: "ext4"}, Disks: disks,
		FileSize: 1 << 30, ColdSince: noon().Add(-36 * time.Hour), Phase: "idle", ColdRatio: new(1.02),
		Events: monitor.Events{
			Runs:     map[history.Outcome]uint64{history.Success: 90, history.Contended: 2, "exploded": 4},
			Skipped:  map[monitor.Skip]uint64{monitor.SkipBusy: 3},
			Aborted:  map[monitor.Abort]uint64{monitor.AbortForeignIO: 1},
			Invalid:  map[engine.Invalid]uint64{engine.InvalidCache: 1},
			IOErrors: map[string]uint64{"EIO": 1, "EWHATEVER": 2}, Verify: 0,
		},
	}
	for i, w := range workloads {
		t.Workloads = append(t.Workloads, workload(name, w, i))
	}
	return t
}

func workload(target, name string, i int) monitor.WorkloadState {
	run := &history.Run{
		Target: target, Workload: name, Start: noon().Add(-5 * time.Minute), Duration: 1234 * time.Millisecond, Outcome: history.Success,
		ForeignIOPS: new(2.5), LongestGap: 3 * time.Millisecond,
		Fingerprint: engine.Fingerprint{Engine: engine.URing, Chunk: 4}, EngineWhy: "works here",
	}
	w := monitor.WorkloadState{
		Workload: engine.Workload{Name: name}, Interval: 15 * time.Minute, Next: noon().Add(10 * time.Minute), Last: run, Measured: run,
		Since: noon().Add(-48 * time.Hour), LastSuccess: run.Start,
		Series: []monitor.SeriesState{{Op: "all", Signal: "rate", Runs: 8, Baseline: new(0.0001), Degradation: new(0.25)}},
	}
	for _, op := range opsOf(name) {
		base := time.Duration(80+10*i) * time.Microsecond
		run.Ops[op] = &history.OpStats{
			IOs: 4000, IOPS: 11873.48923745, BytesPerSecond: 48633812.37519, Mean: base, Max: 20 * base,
			Latency: history.Quantiles{P50: new(base), P90: new(base * 2), P99: new(base * 4), P999: new(base * 9)},
		}
		h := engine.NewHist()
		for n := range 2000 {
			h.Record(base + time.Duration(n*n)*time.Nanosecond)
		}
		w.Latency[op] = &h
		w.Series = append(w.Series,
			monitor.SeriesState{Op: opName(op), Signal: "p50", Runs: 8, Baseline: new(base.Seconds()), Degradation: new(-0.0123456789)},
			monitor.SeriesState{Op: opName(op), Signal: "p99", Runs: 7, Baseline: new(base.Seconds() * 4)},
			monitor.SeriesState{Op: opName(op), Signal: "tail", Runs: 7, Degradation: new(0.5)})
	}
	return w
}
