// Package uring is a minimal io_uring submission and completion ring for direct file I/O over
// golang.org/x/sys/unix, without cgo and without other dependencies.
//
// It promises: a ring is used by one locked OS thread; nothing is allocated after New; every error of setup is
// an errno that errors.Is recognises (EPERM, ENOSYS, ENOMEM, EINVAL), so that a caller can fall back; memory
// that the kernel reads or writes asynchronously is never on the Go heap. It knows nothing of workloads.
package uring
