package config

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// keyWords is one key of the file and what it means, in the words of docs/configuration.md.
type keyWords struct {
	path    string // "targets[].name", "guards.battery"
	meaning string
}

// reference is every key, in the order of the documentation.
func reference() []keyWords {
	return []keyWords{
		{"targets[].name", "required: label target, 1 to 64 of a-z A-Z 0-9 _ . -, unique"},
		{"targets[].path", "a folder on the file system to probe, or a block device, which is only ever read (then profile: read_only). Relative paths count from the working directory. Without it: the state folder"},
		{"targets[].profile", "light: reads every 15 minutes, small writes every hour, 256 MiB of sequential writes every 6 hours. read_only: the reads alone"},
		{"targets[].file_size", "size of the probe file, 256MiB or more; the program takes at most 5 percent of the free space"},
		{"targets[].fill_rate", "bytes per second while the probe file is filled, once; unlimited or 1MB and more"},
		{"targets[].engine", "how I/O is issued: auto (the best that works there), uring, aio, sync"},
		{"targets[].schedule", "when all workloads are due, in place of the profile's own schedules"},
		{"targets[].schedules.<workload>", "when one workload is due, before schedule: read_4k_q1, cold_4k_q1, read_4k_q32, read_1m_q2, mixed80_4k_q4, mixed20_4k_q4, sync_4k_q1, open80_4k, write_1m_q2"},
		{"quiet_hours", "times of the day, or of some days of the week, in UTC, in which no probe starts or would last into: 22:00-06:00, Sat 00:00-24:00, Mon-Fri 08:00-18:00 (days on which they begin). What was due is made up for at their end. S.M.A.R.T. is read all the same"},
		{"guards.utilisation", "ratio of window in which the disk was busy with others"},
		{"guards.in_flight", "requests of others in flight, 1 to 1000000"},
		{"guards.foreign_iops", "I/Os of others per second, before and during a run; 1 or more"},
		{"guards.window", "how long the disk is watched before a run, 100ms to 1m"},
		{"guards.hot_margin_celsius", "degrees below the drive's own warning limit from which on it is left alone, 0.1 to 50"},
		{"guards.max_temperature_celsius", "limit for drives that state none, 20 to 120"},
		{"guards.battery", "no probe while the host runs on battery"},
		{"guards.worn_ratio", "ratio of rated life used from which on nothing is written"},
		{"budget.bytes_per_day", "what may be written to each physical disk in 24 hours. auto is the smallest of 2 GB, 0.5 percent of the capacity, and 2 percent of the rated endurance spread over five years. A size replaces that figure; 0 forbids all writing, the probe file included"},
		{"smart.enabled", "read the disks' S.M.A.R.T. data"},
		{"smart.nvme_interval", "time between reads of an NVMe disk, 1s to 1d"},
		{"smart.interval", "time between reads of any other disk and of files, 1s to 1d"},
		{"smart.timeout", "for one disk, 1s to 5m"},
		{"smart.files", "patterns of files that hold the JSON of smartctl -x -j, read again at every poll"},
		{"smart.files_max_age", "a file older than this is stale and its values end, 1m to 1y"},
		{"smart.attributes", "export raw ATA attributes as ssd_smart_attribute_*"},
		{"endurance.ratings[].model", "required: pattern of the model with *, ?, [a-z]; case does not matter"},
		{"endurance.ratings[].bytes", "required: bytes that may be written over the drive's life (TBW), such as 140TB"},
		{"endurance.ratings[].years", "warranty term, 1 to 30"},
		{"metrics.classic_histograms", "export classic buckets beside native histograms"},
	}
}

// sections says in a sentence what each section is for, in the order of the documentation.
func sections() []keyWords {
	return []keyWords{
		{"quiet_hours", "When disks are left to others."},
		{"guards", "Above these limits a disk is left alone."},
		{"budget", "How much is written."},
		{"smart", "How the disks' own reports are read."},
		{"endurance", "Published endurance of drives that the built-in table lacks, or has wrong. The first match wins."},
		{"metrics", "What is exported, and how."},
	}
}

// name is the key without its section: "battery", "ratings[].model", "profile".
func (k keyWords) name() string {
	_, name, _ := strings.Cut(k.path, ".")
	return name
}

// in says whether the key belongs to a section.
func (k keyWords) in(section string) bool {
	first, _, _ := strings.Cut(k.path, ".")
	return strings.TrimSuffix(first, "[]") == section
}

// defaults finds the default of a key as it is written in a file; "" when it has none.
type defaults struct{ tree }

func newDefaults() (defaults, error) {
	var root yaml.Node
	if err := yaml.Unmarshal(Default().YAML(), &root); err != nil {
		return defaults{}, err
	}
	return defaults{tree{root.Content[0]}}, nil
}

func (d defaults) of(k keyWords) string {
	n := d.root
	for step := range strings.SplitSeq(k.path, ".") {
		key, list := strings.CutSuffix(step, "[]")
		if n = child(n, key); n == nil {
			return ""
		}
		if list {
			if n = child(n, 0); n == nil {
				return ""
			}
		}
	}
	if n.Kind == yaml.SequenceNode && len(n.Content) == 0 {
		return "[]"
	}
	return n.Value
}
