package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kingpin/v2"

	"ssd_exporter/config"
)

// Exit codes, as --help lists them.
const (
	exitOK        = 0
	exitFailure   = 1
	exitUsage     = 2 // or configuration
	exitRegressed = 3
	exitPort      = 4
	exitState     = 5
)

// exitError is an error that ends the program with a code of its own.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

func exitf(code int, format string, a ...any) error {
	return &exitError{code, fmt.Errorf(format, a...)}
}

// command is one subcommand, ready to run.
type command struct {
	clause *kingpin.CmdClause
	run    func(context.Context) error
}

// run is the whole program: it parses args, runs one command and returns the exit code.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := newApp(stdin, stdout, stderr)
	ended := false
	a.kingpin.Terminate(func(int) { ended = true }) // after --help and --version; errors come back from Parse
	selected, err := a.kingpin.Parse(joinDash(args))
	switch {
	case ended:
		return exitOK
	case err != nil:
		a.complain(fmt.Errorf("%w; see ssd_exporter --help", err))
		return exitUsage
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	a.letGo = stop
	context.AfterFunc(ctx, stop) // the second signal is the default one: it ends the process
	for _, c := range a.commands {
		if c.clause.FullCommand() == selected {
			return a.finish(c.run(ctx))
		}
	}
	a.complain(fmt.Errorf("command %q is not built in", selected))
	return exitFailure
}

// joinDash makes "--from -" one word, since kingpin takes a lone dash for an empty one.
func joinDash(args []string) []string {
	var out []string
	for i := 0; i < len(args); i++ {
		if args[i] == "--from" && i+1 < len(args) && args[i+1] == "-" {
			out = append(out, "--from=-")
			i++
			continue
		}
		out = append(out, args[i])
	}
	return out
}

// finish tells an error and turns it into an exit code.
func (a *app) finish(err error) int {
	if err == nil {
		return exitOK
	}
	a.complain(err)
	if e, ok := errors.AsType[*exitError](err); ok {
		return e.code
	}
	return exitFailure
}

// complain prints an error. Those of a configuration file begin with file:line, which editors follow.
func (a *app) complain(err error) {
	if es, ok := errors.AsType[config.Errors](err); ok {
		fmt.Fprintln(a.stderr, es)
		return
	}
	fmt.Fprintln(a.stderr, "ssd_exporter:", err)
}
