package main

import (
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	versioncollector "github.com/prometheus/client_golang/prometheus/collectors/version"

	"ssd_exporter/collector"
	"ssd_exporter/config"
	"ssd_exporter/monitor"
)

// reloader holds the configuration in force and replaces it. A bad file changes nothing.
type reloader struct {
	app   *app
	log   *slog.Logger
	apply func(monitor.Options) error

	mu      sync.Mutex // one reload at a time
	config  atomic.Pointer[config.Config]
	options atomic.Pointer[monitor.Options]
	success prometheus.Gauge
	last    prometheus.Gauge
}

// newReloader reads the configuration for the first time.
func newReloader(a *app, log *slog.Logger) (*reloader, error) {
	r := &reloader{
		app: a, log: log,
		success: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "ssd_exporter_config_last_reload_successful",
			Help: "Whether the last attempt to load the configuration succeeded.",
		}),
		last: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "ssd_exporter_config_last_reload_success_timestamp_seconds",
			Help: "When the configuration was last loaded with success.",
		}),
	}
	c, o, err := r.read()
	if err != nil {
		return nil, err
	}
	r.accept(c, o)
	return r, nil
}

// reload reads the file again and applies it. It logs what goes wrong.
func (r *reloader) reload() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	c, o, err := r.read()
	if err == nil {
		err = r.apply(o)
	}
	if err != nil {
		r.success.Set(0)
		r.refuse(err)
		return err
	}
	r.accept(c, o)
	r.log.Info("configuration reloaded", "file", r.app.configFile, "targets", len(o.Targets))
	return nil
}

func (r *reloader) read() (*config.Config, monitor.Options, error) {
	c, err := r.app.loadConfig(r.app.configFile)
	if err != nil {
		return nil, monitor.Options{}, err
	}
	o, err := c.Options(r.app.stateDir)
	if err != nil {
		return nil, monitor.Options{}, exitf(exitUsage, "%s: %w", orDefault(r.app.configFile), err)
	}
	o.Roots, o.Log = r.app.roots, r.log
	return c, o, nil
}

func (r *reloader) accept(c *config.Config, o monitor.Options) {
	r.config.Store(c)
	r.options.Store(&o)
	r.success.Set(1)
	r.last.SetToCurrentTime()
}

// refuse logs each error by itself, so that file:line stands at the front of each.
func (r *reloader) refuse(err error) {
	const msg = "configuration not reloaded; the old one stays in force"
	es, ok := errors.AsType[config.Errors](err)
	if !ok {
		r.log.Error(msg, "err", err)
		return
	}
	for _, e := range es {
		r.log.Error(msg, "err", e)
	}
}

// collectorOptions are those of the configuration in force.
func (r *reloader) collectorOptions() collector.Options {
	c := r.config.Load()
	return collector.Options{ClassicHistograms: c.Metrics.ClassicHistograms, Attributes: c.Smart.Attributes, Log: r.log}
}

// newRegistry holds the few metrics that are about this process and therefore in no snapshot.
func newRegistry(r *reloader, withoutProcess bool) *prometheus.Registry {
	reg := prometheus.NewRegistry()
	reg.MustRegister(versioncollector.NewCollector("ssd_exporter"), r.success, r.last)
	if !withoutProcess {
		reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	}
	return reg
}
