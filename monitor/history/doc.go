// Package history is the embedded store (bbolt): runs, S.M.A.R.T. readings, baselines and counters' high-water marks. It
// owns the persisted types.
//
// It promises:
//
//   - One transaction per commit, changes only: readings are stored when they differ from the last one.
//   - A file that is not ours, damaged, or of a newer format is set aside beside the new one (history.db.bad-<time>), with a
//     clear error in words, and never deleted or overwritten.
//   - kill -9 at any moment loses at most the commit in flight.
//   - Runs are kept 30 days.
//   - One process has it open; the second gets ErrLocked.
//
// Format: see format.go.
package history
