package web

import (
	"net/http"

	"ssd_exporter/monitor"
)

// Options are the parts that the process supplies.
type Options struct {
	Snapshot   func() *monitor.Snapshot
	Metrics    http.Handler
	MetricsURL string                // --web.telemetry-path
	Ready      func() (bool, string) // why not, in words
	Reload     func() error          // nil: /-/reload answers 403 and says which flag enables it
	Config     func() []byte         // the effective configuration as YAML, for /config
	Version    string
}

func Handler(o Options) http.Handler { return nil }
