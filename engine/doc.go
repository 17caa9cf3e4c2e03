// Package engine runs one Workload against one Target and returns one Result: a direct-I/O load engine.
//
// It knows no schedule, no configuration and no metrics, and it never opens anything: the Target is an already
// opened, already proven file descriptor (engine/probefile makes it). It promises:
//
//   - Only I/Os that completed with their full length are counted and timed. Errors and short transfers are
//     counted apart, by errno.
//   - Result.Valid is false, with reasons, when the I/O did not reach the device or cannot be believed.
//   - A workload never writes more than MaxWriteBytes, whatever else it says, and does not go beyond MaxIOs once its
//     MinTime has passed and its MinIOs are done.
//   - What ticket n of a stream does is a function of the seed alone; only an address that is in flight, when either
//     I/O is a write, is drawn again.
//   - Nothing is allocated per I/O. Buffers live outside the Go heap.
//   - A cancelled context stops issuing at once; what is in flight drains, or is given up after 5 s without progress.
//
// It is meant to run in the child process of engine/worker, where a hung disk costs nobody else anything. The caller
// there turns the garbage collector off (the engine's threads wait in the kernel without telling the scheduler) and
// gives the runtime one processor (GOMAXPROCS) more than the workload has threads; with fewer the engine still works,
// at a higher cost per I/O.
package engine
