// Command ssd_exporter keeps two questions answered for every SSD of a host: is it still as fast as it was, and how much life is
// left? Without arguments it serves metrics and a status page; every other thing it can do is a subcommand in a file of its own.
//
// It promises:
//
//   - Every failure is one message that says what happened, where, and what to do, and one of the exit codes of --help.
//   - What is written, and where, is said before the first byte is.
//   - The port is taken before the state folder is touched: when it is in use, nothing was written.
//   - SIGTERM and SIGINT end it within about five seconds, probes included; a second signal ends it at once.
package main
