package history

import (
	"encoding/json"
	"fmt"
	"time"

	"go.etcd.io/bbolt"

	"ssd_exporter/blockdev"
)

// Load reads what a restarted exporter needs. A row that cannot be decoded is left out and counted in State.Unreadable: one
// bad row must not cost the rest.
func (s *Store) Load() (State, error) {
	st := emptyState()
	err := s.guarded("load", func() error {
		return s.db.View(func(tx *bbolt.Tx) error {
			r := reader{tx: tx}
			rows(&r, bucketLast, func(_ []byte, run Run) { st.Last[[2]string{run.Target, run.Workload}] = run })
			rows(&r, bucketMeasured, func(_ []byte, run Run) { st.Measured[[2]string{run.Target, run.Workload}] = run })
			rows(&r, bucketSuccess, func(_ []byte, row successRow) { st.Success[[2]string{row.Target, row.Workload}] = row.Start })
			rows(&r, bucketSamples, func(_ []byte, sample Sample) {
				if sample.Health != nil {
					st.Samples[sample.Disk] = sample
				}
			})
			rows(&r, bucketSeries, func(_ []byte, row seriesRow) { st.Series[row.Key] = row.Series })
			rows(&r, bucketMarks, func(k []byte, m Marks) { st.Marks[blockdev.ID(k)] = m })
			rows(&r, bucketHolds, func(k []byte, until time.Time) {
				if string(k) == keyPaused {
					st.Paused = until
				}
			})
			st.Unreadable = r.bad
			return r.err
		})
	})
	if err != nil {
		return State{}, fmt.Errorf("load history from %s: %w", s.path, err)
	}
	return st, nil
}

// Runs calls each for the runs of a target since a time, oldest first; all targets when target is "". It ends at the first
// error of each, which it returns unwrapped. each must not call the Store.
func (s *Store) Runs(target string, since time.Time, each func(Run) error) error {
	return s.guarded("read runs from", func() error {
		return s.db.View(func(tx *bbolt.Tx) error {
			c := tx.Bucket([]byte(bucketRuns)).Cursor()
			for k, v := c.Seek(timeKey(since, "")); k != nil; k, v = c.Next() {
				var run Run
				if json.Unmarshal(v, &run) != nil || (target != "" && run.Target != target) {
					continue
				}
				if err := each(run); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// Readings calls each for the stored readings of a disk since a time, oldest first; all disks when id is "". It ends at the
// first error of each. each must not call the Store.
func (s *Store) Readings(id blockdev.ID, since time.Time, each func(Sample) error) error {
	return s.guarded("read readings from", func() error {
		return s.db.View(func(tx *bbolt.Tx) error {
			c := tx.Bucket([]byte(bucketReadings)).Cursor()
			for k, v := c.Seek(timeKey(since, "")); k != nil; k, v = c.Next() {
				var sample Sample
				if json.Unmarshal(v, &sample) != nil || (id != "" && sample.Disk != id) {
					continue
				}
				if err := each(sample); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

type reader struct {
	tx  *bbolt.Tx
	bad int
	err error
}

// rows decodes every row of a bucket.
func rows[T any](r *reader, bucket string, each func(key []byte, value T)) {
	if r.err != nil {
		return
	}
	r.err = r.tx.Bucket([]byte(bucket)).ForEach(func(k, v []byte) error {
		var value T
		if v == nil || json.Unmarshal(v, &value) != nil {
			r.bad++
			return nil
		}
		each(k, value)
		return nil
	})
}
