package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"

	"go.etcd.io/bbolt"

	"ssd_exporter/smart"
)

// Commit stores a change in one transaction: all of it or nothing. One value that cannot be encoded (a NaN that a disk said)
// is left out and told in the error; the rest is stored.
func (s *Store) Commit(c Commit) error {
	var skipped []error
	err := s.guarded("commit to", func() error {
		return s.db.Update(func(tx *bbolt.Tx) error {
			w := writer{tx: tx}
			for i := range c.Runs {
				w.run(&c.Runs[i])
			}
			for i := range c.Samples {
				w.sample(&c.Samples[i])
			}
			for k, series := range c.Series {
				w.put(bucketSeries, seriesKey(k), seriesRow{k, series})
			}
			for id, marks := range c.Marks {
				w.put(bucketMarks, diskKey(id), marks)
			}
			if c.Paused != nil {
				w.put(bucketHolds, []byte(keyPaused), c.Paused)
			}
			skipped = w.skipped
			return w.err
		})
	})
	if err != nil {
		return fmt.Errorf("commit to %s: %w", s.path, err)
	}
	if len(skipped) > 0 {
		return fmt.Errorf("commit to %s: stored, except for: %w", s.path, errors.Join(skipped...))
	}
	return nil
}

// Expire drops runs older than KeepRuns, at most some thousands per call, so that no transaction grows without bound.
func (s *Store) Expire(now time.Time) error {
	const most = 5000
	return s.guarded("expire runs in", func() error {
		return s.db.Update(func(tx *bbolt.Tx) error {
			limit := timeKey(now.Add(-KeepRuns), "")
			b := tx.Bucket([]byte(bucketRuns))
			var old [][]byte
			c := b.Cursor()
			for k, _ := c.First(); k != nil && bytes.Compare(k, limit) < 0 && len(old) < most; k, _ = c.Next() {
				old = append(old, bytes.Clone(k))
			}
			for _, k := range old {
				if err := b.Delete(k); err != nil {
					return fmt.Errorf("expire runs in %s: %w", s.path, err)
				}
			}
			return nil
		})
	})
}

// writer puts values into the buckets of one transaction and remembers the first error.
type writer struct {
	tx      *bbolt.Tx
	err     error
	skipped []error
}

func (w *writer) put(bucket string, key []byte, value any) {
	if w.err != nil {
		return
	}
	data, err := json.Marshal(value)
	if err != nil {
		w.skipped = append(w.skipped, fmt.Errorf("%s %q: %w", bucket, key, err))
		return
	}
	if err := w.tx.Bucket([]byte(bucket)).Put(key, data); err != nil {
		w.err = fmt.Errorf("%s %q: %w", bucket, key, err)
	}
}

func (w *writer) run(r *Run) {
	key := workloadKey(r.Target, r.Workload)
	w.put(bucketRuns, timeKey(r.Start, key), r)
	w.put(bucketLast, []byte(key), r)
	if r.Measured() {
		w.put(bucketMeasured, []byte(key), r)
	}
	if r.Outcome == Success {
		w.put(bucketSuccess, []byte(key), successRow{r.Target, r.Workload, r.Start})
	}
}

func (w *writer) sample(s *Sample) {
	if s.Health == nil || w.err != nil {
		return
	}
	var last Sample
	known := json.Unmarshal(w.tx.Bucket([]byte(bucketSamples)).Get(diskKey(s.Disk)), &last) == nil && last.Health != nil
	day := s.At.UTC().Truncate(readingEvery)
	if !known || !day.Equal(last.At.UTC().Truncate(readingEvery)) || !reflect.DeepEqual(lasting(last.Health), lasting(s.Health)) {
		row := *s
		health := *s.Health
		health.Attributes = nil
		row.Health = &health
		w.put(bucketReadings, timeKey(s.At, string(s.Disk)), row)
	}
	w.put(bucketSamples, diskKey(s.Disk), s)
}

// lasting is what of a reading deserves a row of its own when it changes. Temperatures, hours and byte counters move at every
// poll; a row for each would be a gigabyte a year for a few dozen disks.
func lasting(h *smart.Health) smart.Health {
	return smart.Health{
		Identity: h.Identity, Family: h.Family, Capacity: h.Capacity,
		Wear:       smart.Wear{Used: h.Wear.Used, Source: h.Wear.Source},
		Healthy:    h.Healthy,
		Critical:   h.Critical,
		Rotational: h.Rotational, SpareAvailable: h.SpareAvailable,
		MediaErrors: h.MediaErrors, Reallocated: h.Reallocated, PendingSectors: h.PendingSectors,
		ProgramFailures: h.ProgramFailures, EraseFailures: h.EraseFailures, UnsafeShutdowns: h.UnsafeShutdowns,
	}
}
