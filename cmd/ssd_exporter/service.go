package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/prometheus/common/version"

	"ssd_exporter/collector"
	"ssd_exporter/engine/worker"
	"ssd_exporter/monitor"
	"ssd_exporter/web"
)

// Time that ending may take: the monitor aborts its probes (it gives up on a hung one after four seconds), then open
// requests finish.
const (
	stopMonitor = 6 * time.Second
	stopServer  = time.Second
)

// service is the monitor behind an open server.
type service struct {
	flags    serveFlags
	log      *slog.Logger
	reloader *reloader
	server   *server
	monitor  *monitor.Monitor
	notes    notes
	stopping atomic.Bool
}

// run works until ctx ends, or the monitor or the server fails; hup reloads.
func (s *service) run(ctx context.Context, st *state, hup <-chan os.Signal) error {
	o := s.reloader.options.Load()
	var err error
	if s.monitor, err = monitor.New(*o, st.store, st.ledger, startWorker); err != nil {
		return fmt.Errorf("starting: %w", err)
	}
	s.reloader.apply = s.monitor.Apply
	s.notes.get = s.monitor.Snapshot
	if st.setAside != "" {
		s.notes.add(fmt.Sprintf("The history could not be read and was set aside as %s; a new one was begun. Baselines are learned anew.", st.setAside))
		s.log.Warn("history could not be read and was set aside; a new one was begun", "file", st.setAside)
	}
	h, metrics := s.handler()
	s.server.serve(h)
	go metrics.KeepFresh(ctx)
	s.log.Info("ssd_exporter is up", "version", version.Version, "state", o.StateDir, "targets", len(o.Targets))
	defer s.openControl(o.StateDir)()
	go reloadOn(hup, s.reloader, ctx.Done())

	monCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- s.monitor.Run(monCtx) }()
	select {
	case <-ctx.Done():
		s.log.Info("stopping")
		return s.stop(cancel, ended)
	case err := <-s.server.failed:
		return errors.Join(fmt.Errorf("serving HTTP: %w", err), s.stop(cancel, ended))
	case err := <-ended:
		return errors.Join(errors.New("the monitor ended by itself; please report this"), err, s.server.shutdown())
	}
}

// stop ends the monitor, with its probes, and then the server, so that the last scrape still sees everything.
func (s *service) stop(cancel context.CancelFunc, ended <-chan error) error {
	s.stopping.Store(true)
	cancel()
	var err error
	select {
	case err = <-ended:
	case <-time.After(stopMonitor):
		err = fmt.Errorf("the monitor did not stop within %v; a disk may hang", stopMonitor)
	}
	return errors.Join(err, s.server.shutdown())
}

// handler is everything that is served, and of it the metrics.
func (s *service) handler() (http.Handler, *collector.Endpoint) {
	metrics := collector.Handler(s.monitor.Snapshot, s.reloader.collectorOptions, newRegistry(s.reloader, s.flags.noExporterStats))
	o := web.Options{
		Snapshot:   s.notes.snapshot,
		Metrics:    metrics,
		MetricsURL: s.flags.telemetryPath,
		Ready:      s.ready,
		Config:     func() []byte { return s.reloader.config.Load().YAML() },
		Version:    version.Version,
	}
	if s.flags.lifecycle {
		o.Reload = s.reloader.reload
	}
	return web.Handler(o), metrics
}

// ready says whether the first look at the host is done, and otherwise what is missing.
func (s *service) ready() (bool, string) {
	switch {
	case s.stopping.Load():
		return false, "stopping"
	case s.monitor.Snapshot().At.IsZero():
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
