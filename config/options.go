package config

import (
	"fmt"
	"path/filepath"
	"time"

	"ssd_exporter/engine"
	"ssd_exporter/monitor"
)

// Options builds what monitor needs; state is --state.path, where a target without a path lives. Roots, Host and Log are the
// process's and left empty.
func (c *Config) Options(state string) (monitor.Options, error) {
	o := monitor.Options{
		StateDir: state, Quiet: quiet(c.QuietHours),
		Guards: monitor.Guards{
			Utilisation: float64(c.Guards.Utilisation), InFlight: c.Guards.InFlight, ForeignIOPS: c.Guards.ForeignIOPS,
			Window: time.Duration(c.Guards.Window), HotMargin: c.Guards.HotMarginCelsius, MaxTemp: c.Guards.MaxTemperatureCelsius,
			WornWrites: float64(c.Guards.WornRatio), Battery: c.Guards.Battery,
		},
		Smart: monitor.SmartOptions{
			Enabled: c.Smart.Enabled, NVMeInterval: time.Duration(c.Smart.NVMeInterval), Interval: time.Duration(c.Smart.Interval),
			Timeout: time.Duration(c.Smart.Timeout), Files: c.Smart.Files, MaxAge: time.Duration(c.Smart.FilesMaxAge),
			Attributes: c.Smart.Attributes,
		},
	}
	if b := c.Budget.BytesPerDay.Fixed; b != nil {
		o.PerDay = new(int64(*b))
	}
	for _, r := range c.Endurance.Ratings {
		o.Ratings = append(o.Ratings, monitor.Rating{Model: r.Model, Bytes: uint64(r.Bytes), Term: time.Duration(r.Years) * 365 * 24 * time.Hour})
	}
	dirs := map[string]string{}
	for i := range c.Targets {
		t := c.Targets[i].options(state)
		abs, err := filepath.Abs(t.Dir)
		if err != nil {
			return monitor.Options{}, fmt.Errorf("target %q: cannot make %q absolute: %w", t.Name, t.Dir, err)
		}
		if other, twice := dirs[abs]; twice {
			return monitor.Options{}, fmt.Errorf("targets %q and %q both lie in %s; remove one, or change its path", other, t.Name, abs)
		}
		dirs[abs] = t.Name
		t.Dir = abs // as people see it: in a fleet, "data" could be anywhere
		o.Targets = append(o.Targets, t)
	}
	return o, nil
}

func (t *Target) options(state string) monitor.Target {
	m := monitor.Target{
		Name: t.Name, Dir: t.Path, Profile: string(t.Profile), FileSize: int64(t.FileSize),
		FillRate: max(int64(t.FillRate), 0), Backend: t.Engine.backend(), Workloads: workloads(t.Profile),
	}
	if m.Dir == "" {
		m.Dir = state
	}
	for i := range m.Workloads {
		w := &m.Workloads[i]
		s, ok := t.Schedules[w.Name]
		if !ok && t.Schedule != nil {
			s, ok = *t.Schedule, true
		}
		if ok {
			w.Schedule, w.Interval = s.Cron(), s.Gap()
		}
	}
	return m
}

func (e Engine) backend() engine.Backend {
	switch e {
	case URing:
		return engine.URing
	case AIO:
		return engine.AIO
	case Sync:
		return engine.Pread
	}
	return engine.Auto
}

func workloads(p Profile) []monitor.Workload {
	if p == ReadOnly {
		return monitor.ReadOnly()
	}
	return monitor.Light()
}

func workloadNames(p Profile) []string {
	var names []string
	for _, w := range workloads(p) {
		names = append(names, w.Name)
	}
	return names
}
