package main

import (
	"os"

	"ssd_exporter/engine/worker"
)

func main() {
	worker.Hook()
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
