package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/prometheus/common/promslog"
	toolkit "github.com/prometheus/exporter-toolkit/web"
	"github.com/prometheus/exporter-toolkit/web/kingpinflag"
)

// serveFlags are the flags of serve.
type serveFlags struct {
	web             *toolkit.FlagConfig
	telemetryPath   string
	lifecycle       bool
	noExporterStats bool
}

func (a *app) addServe() {
	c := a.kingpin.Command("serve", "Serve metrics and a status page, read all disks, and probe the targets on schedule.").Default()
	f := serveFlags{web: kingpinflag.AddFlags(c, ":10055")}
	c.Flag("web.telemetry-path", "Path under which metrics are served.").Default("/metrics").StringVar(&f.telemetryPath)
	c.Flag("web.enable-lifecycle", "Reload the configuration on POST /-/reload.").BoolVar(&f.lifecycle)
	c.Flag("web.disable-exporter-metrics", "Leave out metrics about this process (process_*, go_*).").BoolVar(&f.noExporterStats)
	a.add(c, func(ctx context.Context) error { return a.serve(ctx, f) })
}

// serve runs until ctx ends.
func (a *app) serve(ctx context.Context, f serveFlags) error {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP) // from the start: unheard, it would end the process
	defer signal.Stop(hup)
	log := promslog.New(&a.log)
	if err := f.validate(); err != nil {
		return err
	}
	rl, err := newReloader(a, log)
	if err != nil {
		return err
	}
	srv := newServer(f.web, log)
	if err := srv.listen(ctx); err != nil {
		return unlessStopped(ctx, err)
	}
	defer srv.close()
	announce(a.stdout, rl.options.Load(), *f.web.WebListenAddresses)

	st, err := openState(ctx, a.stateDir)
	if err != nil {
		return unlessStopped(ctx, err)
	}
	s := &service{flags: f, log: log, reloader: rl, server: srv}
	err = s.run(ctx, st, hup)
	return errors.Join(err, within(stopServer, "closing the state folder", st.close))
}

func (f *serveFlags) validate() error {
	if p := f.telemetryPath; len(p) < 2 || p[0] != '/' {
		return exitf(exitUsage, "--web.telemetry-path=%q is not a path; accepted: one that begins with / and is not the status page itself, such as /metrics", p)
	}
	if err := toolkit.Validate(*f.web.WebConfigFile); err != nil {
		return exitf(exitUsage, "--web.config.file=%s: %w; see the exporter-toolkit's web configuration", *f.web.WebConfigFile, err)
	}
	return nil
}

// reloadOn reloads at each signal until done.
func reloadOn(hup <-chan os.Signal, rl *reloader, done <-chan struct{}) {
	for {
		select {
		case <-hup:
			_ = rl.reload() // it has logged what went wrong, and the old configuration stays
		case <-done:
			return
		}
	}
}

// unlessStopped is nil when err only says that somebody ended the program while it was starting.
func unlessStopped(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// within runs f but waits no longer than d for it: the state folder's disk may hang.
func within(d time.Duration, what string, f func() error) error {
	c := make(chan error, 1)
	go func() { c <- f() }()
	select {
	case err := <-c:
		return err
	case <-time.After(d):
		return fmt.Errorf("%s took longer than %v; its disk may hang", what, d)
	}
}
