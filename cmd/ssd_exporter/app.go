package main

import (
	"context"
	"io"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/common/promslog/flag"
	"github.com/prometheus/common/version"

	"ssd_exporter/blockdev"
	"ssd_exporter/config"
)

// app is the command line: what is common to all commands, and the commands.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	kingpin        *kingpin.Application
	commands       []command
	letGo          func() // from here on a signal ends the process at once, and the context of the command is done

	configFile string
	stateDir   string
	roots      blockdev.Roots
	log        promslog.Config
}

func newApp(stdin io.Reader, stdout, stderr io.Writer) *app {
	a := &app{stdin: stdin, stdout: stdout, stderr: stderr, letGo: func() {}}
	k := kingpin.New("ssd_exporter", "Tells Prometheus whether every SSD of this host is still as fast as it was, and how much life is left.")
	k.UsageWriter(stdout).ErrorWriter(stderr).UsageTemplate(usage).Version(version.Print("ssd_exporter"))
	k.HelpFlag.Short('h')
	a.kingpin = k

	k.Flag("config.file", "Configuration file; without one the defaults are complete.").PlaceHolder("FILE").StringVar(&a.configFile)
	k.Flag("state.path", "Folder that survives restarts: history, write ledger, and the probe file of a target without a path. It is created when its parent exists.").
		Default("data").PlaceHolder("data").StringVar(&a.stateDir)
	k.Flag("path.sysfs", "Where sysfs is mounted.").Default("/sys").StringVar(&a.roots.Sysfs)
	k.Flag("path.procfs", "Where procfs is mounted.").Default("/proc").StringVar(&a.roots.Procfs)
	k.Flag("path.dev", "Where device nodes are.").Default("/dev").StringVar(&a.roots.Dev)
	flag.AddFlags(k, &a.log)
	a.log.Writer = stderr

	a.addServe()
	a.addProbe()
	a.addSmart()
	a.addConfig()
	a.addBaseline()
	a.addPause()
	a.addAssets()
	return a
}

func (a *app) add(c *kingpin.CmdClause, r func(context.Context) error) {
	a.commands = append(a.commands, command{c, r})
}

// loadConfig reads --config.file. Whatever is wrong with it is the caller's usage.
func (a *app) loadConfig(file string) (*config.Config, error) {
	c, err := config.Load(file)
	if err != nil {
		return nil, &exitError{exitUsage, err}
	}
	return c, nil
}

// usage lists the flags of the default command beside the common ones, since nobody types "serve".
const usage = `{{define "commands"}}{{range .}}{{if not .Hidden}}  {{.FullCommand}}{{if .Default}}*{{end}}{{range .Args}} {{if not .Required}}[{{end}}{{if .PlaceHolder}}{{.PlaceHolder}}{{else}}<{{.Name}}>{{end}}{{if .Value|IsCumulative}}...{{end}}{{if not .Required}}]{{end}}{{end}}
{{.Help|Wrap 4}}{{end}}{{end}}{{end -}}
{{if .Context.SelectedCommand -}}
usage: {{.App.Name}} {{.Context.SelectedCommand.FullCommand}} [flags]{{range .Context.SelectedCommand.Args}} {{if not .Required}}[{{end}}{{if .PlaceHolder}}{{.PlaceHolder}}{{else}}<{{.Name}}>{{end}}{{if .Value|IsCumulative}}...{{end}}{{if not .Required}}]{{end}}{{end}}

{{.Context.SelectedCommand.Help|Wrap 0}}
{{else -}}
usage: {{.App.Name}} [flags] [command]

{{.App.Help|Wrap 0}}
{{end -}}
{{if .Context.Flags}}Flags:
{{.Context.Flags|FlagsToTwoColumns|FormatTwoColumns}}
{{end -}}
{{if .Context.SelectedCommand -}}
{{if .Context.Args}}Args:
{{.Context.Args|ArgsToTwoColumns|FormatTwoColumns}}
{{end -}}
{{if .Context.SelectedCommand.Commands}}Commands:
{{template "commands" .Context.SelectedCommand.FlattenedCommands}}
{{end -}}
{{else -}}
{{range .App.Commands}}{{if .Default}}Flags of {{.Name}}, the command when none is given:
{{.Flags|FlagsToTwoColumns|FormatTwoColumns}}
{{end}}{{end -}}
Commands (* when none is given):
{{template "commands" .App.FlattenedCommands}}
{{end -}}
Exit codes:
  0 ok   1 failure   2 usage or configuration   3 regressed
  4 port in use      5 state folder unusable
`
