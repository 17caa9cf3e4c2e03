package history

import (
	"encoding/binary"
	"time"

	"ssd_exporter/blockdev"
)

// The store is one bbolt file with these buckets. All values are JSON of the types in this package; times are RFC 3339 with
// nanoseconds, durations integers of nanoseconds, unknown values absent or null. NUL stands for one zero byte.
//
//	meta      "format" -> formatName, "version" -> formatVersion (both plain text)
//	runs      start (8 bytes, big endian nanoseconds since 1970) target NUL workload -> Run; time-ordered, kept 30 days
//	last      target NUL workload -> Run, the last attempt
//	measured  target NUL workload -> Run, the last with figures
//	success   target NUL workload -> successRow, when the last clean run began
//	samples   disk ID -> Sample, the latest, complete
//	readings  time (8 bytes, as in runs) disk ID -> Sample without attributes; one row whenever something lasting changed (wear,
//	          errors, verdict, firmware), else one a day
//	series    target NUL workload NUL op NUL signal -> seriesRow
//	marks     disk ID -> Marks
//	holds     "paused" -> the time until which probing is paused
//
// Unknown buckets and unknown JSON keys are left alone and ignored, so that an additive change needs no new version. The
// version rises when an older program would misread the file; such a file is set aside by it.
const (
	formatName    = "ssd_exporter history"
	formatVersion = 1
)

// KeepRuns is how long runs are kept.
const KeepRuns = 30 * 24 * time.Hour

// readingEvery is the longest time between two rows of one disk in readings.
const readingEvery = 24 * time.Hour

// Bucket and key names.
const (
	bucketMeta     = "meta"
	bucketRuns     = "runs"
	bucketLast     = "last"
	bucketMeasured = "measured"
	bucketSuccess  = "success"
	bucketSamples  = "samples"
	bucketReadings = "readings"
	bucketSeries   = "series"
	bucketMarks    = "marks"
	bucketHolds    = "holds"

	keyFormat  = "format"
	keyVersion = "version"
	keyPaused  = "paused"
)

func buckets() []string {
	return []string{bucketRuns, bucketLast, bucketMeasured, bucketSuccess, bucketSamples, bucketReadings, bucketSeries, bucketMarks, bucketHolds}
}

// seriesRow carries its key, so that nothing is ever parsed out of a key.
type seriesRow struct {
	Key
	Series
}

// successRow carries its key for the same reason.
type successRow struct {
	Target, Workload string
	Start            time.Time
}

func timeKey(t time.Time, tail string) []byte {
	return append(binary.BigEndian.AppendUint64(nil, uint64(max(0, t.UnixNano()))), tail...)
}

func workloadKey(target, workload string) string { return target + "\x00" + workload }

func seriesKey(k Key) []byte {
	return []byte(workloadKey(k.Target, k.Workload) + "\x00" + k.Op + "\x00" + k.Signal)
}

func diskKey(id blockdev.ID) []byte { return []byte(id) }
