// Package engine runs one Workload against one Target and returns one Result: a direct-I/O load engine.
//
// It knows no schedule, no configuration and no metrics, and it never opens anything: the Target is an already
// opened, already proven file descriptor (engine/probefile makes it). It promises:
//
//   - Only I/Os that completed with their full length are counted and timed. Errors and short transfers are
//     counted apart, by errno.
//   - Result.Valid is false, with reasons, when the I/O did not reach the device or cannot be believed.
//   - A workload never exceeds MaxIOs and MaxWriteBytes, whatever else it says.
//   - Nothing is allocated per I/O. Buffers live outside the Go heap.
//   - A cancelled context stops issuing at once; what is in flight drains.
//
// It is meant to run in the child process of engine/worker, where a hung disk costs nobody else anything.
package engine
