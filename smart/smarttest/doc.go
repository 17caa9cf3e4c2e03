// Package smarttest simulates disks for an unmodified program: it runs a command and answers the ioctls that the command
// sends to chosen files (SG_IO and NVMe admin commands), through the kernel's seccomp user notification. Neither a
// device nor a privilege is needed: the "device nodes" are ordinary files.
//
// It promises:
//
//   - Only ioctls on the given files are answered; everything else reaches the kernel as it is.
//   - Every command is recorded in order, so that a test can say what was not sent.
//   - Disks answer at the same time, as real ones do: one that is slow holds nobody else up.
//   - Where the kernel refuses (old kernels, some containers), Start says so with ErrRefused, and a test can skip.
//
// It is for tests only: no product code imports it.
package smarttest
