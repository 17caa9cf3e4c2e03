// Package ledger is the account of what this program wrote to each physical disk, and the brake on it.
//
// One small file per disk in <state>/ledger, shared by the service and by commands run by hand, guarded by flock and
// updated in place in two CRC'd slots, never renamed (rename under flock loses updates). It promises:
//
//   - A charge is on disk (fdatasync) before the bytes it pays for are written. A crash at any moment keeps it.
//   - The allowance is a bucket of bytes_per_day that refills evenly over 24 hours. A clock that went back refills
//     nothing; a jump forward refills one day at most.
//   - A disk seen for the first time starts with a quarter of a day's allowance, so that an exporter restarted in a loop
//     on a throw-away state folder cannot spend a day's allowance at each start. A record that was lost (both slots
//     bad) restarts empty.
//   - The one-time fill has its own allowance: the file's size once per target and 30 days.
//
// It knows nothing of workloads, targets' paths or configuration.
package ledger
