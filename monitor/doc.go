// Package monitor is the continuous part: when to probe, whether it is safe, what it costs, and what it means; and
// S.M.A.R.T. polls beside it. It publishes one immutable Snapshot, which is all that collector and web read.
//
// For each target a run is: schedule -> guard -> budget -> worker -> judge -> record. Words: a Run is one workload on one
// target; a pass is all workloads due at one instant, smallest writes first.
//
// It promises:
//
//   - The first pass runs every workload, as soon as there is a filled file. A run that is skipped is due again at the
//     target's next pass.
//   - A probe never starts on a disk that is busy with others, hot, read-only, failing, rebuilding, on battery, worn (for
//     writes), over budget (for writes), or still held by an earlier run; each skip is counted by reason. The one exception:
//     a host that is always busy gets, after eight skips, half a second of reading, marked contended.
//   - One probe at a time per physical disk; S.M.A.R.T. reads and probes of one disk take turns.
//   - Every byte written is reserved in the ledger before, and settled after.
//   - Contended runs never enter a baseline.
//   - A hung disk costs its own target only; the Snapshot goes on.
//   - The Snapshot is published before it is stored, so that a sick disk under the store hides nothing.
//   - No command wakes a sleeping disk, and none keeps an idle one awake: a rotating disk without I/O is not read.
//
// monitor never sees YAML: config builds its Options.
package monitor
