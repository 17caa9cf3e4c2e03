package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/prometheus/common/promslog"
	"github.com/prometheus/common/version"
	toolkit "github.com/prometheus/exporter-toolkit/web"
	"github.com/prometheus/exporter-toolkit/web/kingpinflag"

	"ssd_exporter/collector"
	"ssd_exporter/engine/worker"
	"ssd_exporter/monitor"
	"ssd_exporter/web"
)

// Time that ending may take: the monitor aborts its probes, then open requests finish.
const (
	stopMonitor = 4 * time.Second
	stopServer  = time.Second
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
		return err
	}
	defer srv.close()
	announce(a.stdout, rl.options.Load(), *f.web.WebListenAddresses)

	st, err := openState(ctx, a.stateDir)
	if err != nil {
		return err
	}
	err = a.work(ctx, f, rl, srv, st, log)
	return errors.Join(err, within(stopServer, "closing the state folder", st.close))
}

// work runs the monitor behind an open server until ctx ends or one of the two fails.
func (a *app) work(ctx context.Context, f serveFlags, rl *reloader, srv *server, st *state, log *slog.Logger) error {
	mon, err := monitor.New(*rl.options.Load(), st.store, st.ledger, startWorker)
	if err != nil {
		return fmt.Errorf("starting: %w", err)
	}
	notes := &notes{get: mon.Snapshot}
	if st.setAside != "" {
		notes.add(fmt.Sprintf("The history could not be read and was set aside as %s; a new one was begun. Baselines are learned anew.", st.setAside))
		log.Warn("history could not be read and was set aside; a new one was begun", "file", st.setAside)
	}
	rl.apply = mon.Apply
	live := newRegistry(rl, f.noExporterStats)
	var stopping atomic.Bool
	srv.serve(web.Handler(web.Options{
		Snapshot: notes.snapshot, MetricsURL: f.telemetryPath, Version: version.Info(),
		Metrics: collector.Handler(mon.Snapshot, rl.collectorOptions, live),
		Ready:   func() (bool, string) { return ready(mon.Snapshot(), stopping.Load()) },
		Reload:  f.reload(rl),
		Config:  func() []byte { return rl.config.Load().YAML() },
	}))
	log.Info("ssd_exporter is up", "version", version.Info(), "state", a.stateDir, "targets", len(rl.options.Load().Targets))
	stopHUP := reloadOnHangup(rl)
	defer stopHUP()

	monCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- mon.Run(monCtx) }()

	var cause error
	select {
	case <-ctx.Done():
		log.Info("stopping")
	case err := <-srv.failed:
		cause = fmt.Errorf("serving HTTP: %w", err)
	case err := <-ended:
		return errors.Join(errors.New("the monitor ended by itself; please report this"), err, srv.shutdown())
	}
	stopping.Store(true)
	cancel()
	select {
	case err := <-ended:
		cause = errors.Join(cause, err)
	case <-time.After(stopMonitor):
		cause = errors.Join(cause, fmt.Errorf("the monitor did not stop within %v; a disk may hang", stopMonitor))
	}
	return errors.Join(cause, srv.shutdown())
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

func (f *serveFlags) reload(rl *reloader) func() error {
	if !f.lifecycle {
		return nil
	}
	return rl.reload
}

// ready says whether the first look at the host is done, and otherwise what is missing.
func ready(s *monitor.Snapshot, stopping bool) (bool, string) {
	switch {
	case stopping:
		return false, "stopping"
	case s.At.IsZero():
		return false, "looking for disks for the first time"
	}
	return true, ""
}

// startWorker makes a worker a monitor.Child.
func startWorker(ctx context.Context, r worker.Request) (monitor.Child, error) {
	w, err := worker.Start(ctx, r)
	if err != nil {
		return nil, err
	}
	return w, nil
}

func reloadOnHangup(rl *reloader) (stop func()) {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-hup:
				_ = rl.reload() // it has logged what went wrong, and the old configuration stays
			case <-done:
				return
			}
		}
	}()
	return func() { signal.Stop(hup); close(done) }
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
