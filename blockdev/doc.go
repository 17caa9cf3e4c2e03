// Package blockdev tells what Linux knows about block devices: which disks there are, which of them lie
// below a path, what I/O they accept, and how much I/O they have done.
//
// It promises:
//
//   - Everything is read from sysfs, procfs and statx through a Roots value, so that containers and
//     fixtures need nothing special. No device node is opened, and no disk is woken.
//   - What cannot be known is said to be unknown, with the reason. A path is never attributed to the
//     wrong disk: an unresolved path has no leaf disks and a sentence in Filesystem.Why.
//   - Resolve is the one function that may hang with a hung file system, because it must ask about the
//     path itself. For a probe target only the worker child calls it.
//
// blockdev is a leaf: it imports nothing of ours.
package blockdev
