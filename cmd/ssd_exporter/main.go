// Command ssd_exporter keeps two questions answered for every SSD of a host: is it still as fast as it was, and how much life is left?
package main

import (
	"os"

	"ssd_exporter/engine/worker"
)

func main() {
	worker.Hook()
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
