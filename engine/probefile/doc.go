// Package probefile owns the one file that this program may write: <dir>/ssd_exporter.probe/probe.bin.
//
// It promises:
//
//   - The file is created by us (O_CREAT|O_EXCL|O_NOFOLLOW, 0600, in a 0700 folder of ours) and proven to be ours on
//     every open by probe.json beside it: uuid, inode, birth time, size, filled. The device number is not part of
//     the proof, since it may be renumbered.
//   - Opening never has a side effect on anything else: O_PATH|O_NOFOLLOW first, fstat (regular file, one link, our
//     owner, recorded inode and size), then a reopen through /proc/self/fd, so that what was checked is what is opened.
//   - What fails the proof is refused with a RefusedError and never touched, written or deleted.
//   - A block device is opened only by OpenRaw, and only O_RDONLY.
//   - It is filled once with incompressible data, at a limited rate, resumably; "filled" is recorded only after
//     fsync and after FIEMAP showed no unwritten, shared or missing extent (where the file system answers FIEMAP).
//   - Where nothing could show that a cache answers in the disk's place (no known disk with counters, no word of the
//     kernel on direct I/O), and where one is known to, nothing is filled and nothing measured.
//   - Free-space floors hold before creating, filling and every opening for writing.
//   - One process at a time: an exclusive flock on probe.json.lock, held while the File is open.
//
// All of it is called in the worker child, since every call here can hang with the disk.
package probefile
