// Command bench prints how the product performs on this machine. It asserts nothing: what must hold is held by tests, and
// absolute figures of a shared machine hold nowhere else.
//
//	bench engine   runs fio and "ssd_exporter probe" in turns on the same file and compares them pair by pair
//	bench scrape   serves simulated disks from the built binary, scrapes it, and looks at its memory
//
// It writes only to folders that it makes itself and to a RAM-backed loop device that it makes itself, and removes both. fio
// gets the path of the product's own probe file and may create nothing.
package main
