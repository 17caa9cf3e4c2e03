// Package worker runs everything that touches a target's path in a re-executed child of this program
// (/proc/self/exe): stat, statfs, create, fill, probe, remove. A disk that hangs costs one child, never the exporter.
//
// It promises:
//
//   - Hook is the first statement of main and of every TestMain whose package starts workers. Start refuses to run
//     inside a worker, so a missing Hook cannot fork without end.
//   - The child sends a heartbeat every 100 ms while it lives, whether the disk answers or not, with the time since its
//     last progress; the parent never waits for it unconditionally, and a killed child that does not go away (state D)
//     is left to the kernel.
//   - The child ends with its parent (end of standard input), can write no file larger than the probe file
//     (RLIMIT_FSIZE), gains no privileges, dumps no core, and does its I/O at idle priority.
//   - It aborts a run when foreign I/O arrives: nothing is issued later than 300 ms after the threshold was passed in two
//     of three samples.
//
// One child serves one Request.
package worker
