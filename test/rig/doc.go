// Package rig starts the real things that end-to-end tests need: the built ssd_exporter binary, Debian's prometheus
// and promtool, a folder on a real disk. Everything listens on 127.0.0.1, is bounded in time, and is ended by its PID.
//
// What is not installed is said loudly, with the command that brings it, and the test is skipped.
package rig
