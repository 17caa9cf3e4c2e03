package main

import (
	"os"
	"runtime/debug"

	"github.com/prometheus/common/version"

	"ssd_exporter/engine/worker"
)

func main() {
	worker.Hook()
	nameVersion()
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// nameVersion fills in what the linker was not told: `go build` and `go install` know the version too.
func nameVersion() {
	if version.Version != "" {
		return
	}
	version.Version = "unreleased"
	if b, ok := debug.ReadBuildInfo(); ok && b.Main.Version != "" && b.Main.Version != "(devel)" {
		version.Version = b.Main.Version
	}
}
