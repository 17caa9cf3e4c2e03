package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"ssd_exporter/engine/worker"
)

func TestMain(m *testing.M) {
	worker.Hook() // the command under test starts itself as a worker
	testscript.Main(m, map[string]func(){
		"ssd_exporter": func() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
	})
}
