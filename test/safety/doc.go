// Package safety holds the promises of docs and doc.go files about other people's data against the kernel's own view of
// the product: every system call that opens, makes, renames or deletes something is traced with strace.
//
// What a process writes, it writes through a descriptor, and those come from opens alone (the io_uring of the engine is
// given descriptors, and asks for reads, writes and syncs). So it suffices to look at how things are opened.
package safety
