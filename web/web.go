package web

import (
	"bytes"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"time"

	"ssd_exporter/monitor"
)

// Options are the parts that the process supplies.
type Options struct {
	Snapshot   func() *monitor.Snapshot
	Metrics    http.Handler
	MetricsURL string                // --web.telemetry-path; "" is /metrics
	Ready      func() (bool, string) // why not, in words; nil is always ready
	Reload     func() error          // nil: /-/reload answers 403 and says which flag enables it
	Config     func() []byte         // the effective configuration as YAML, for /config; nil: there is no such page
	Version    string
}

// Handler serves everything: the status page at /, the metrics, /config, and the health, readiness and lifecycle endpoints under
// /-/. Every answer carries the security headers. Should MetricsURL be the path of another page, the metrics win.
func Handler(o Options) http.Handler {
	if o.MetricsURL == "" {
		o.MetricsURL = "/metrics"
	}
	if !strings.HasPrefix(o.MetricsURL, "/") {
		o.MetricsURL = "/" + o.MetricsURL
	}
	style := readStyle()
	return &site{
		Options: o, template: readTemplate(), style: style, policy: contentPolicy(style),
		origin: http.NewCrossOriginProtection(), now: time.Now,
	}
}

type site struct {
	Options
	template *template.Template
	style    template.CSS
	policy   string
	origin   *http.CrossOriginProtection
	now      func() time.Time
}

// ServeHTTP routes by exact path: whatever is not listed is not there.
func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.secure(w.Header())
	if r.URL.Path == "/-/reload" {
		s.reload(w, r)
		return
	}
	answer := s.route(r.URL.Path)
	if answer == nil {
		http.Error(w, "there is no such page; the status page is at /", http.StatusNotFound)
		return
	}
	if !allowed(w, r, http.MethodGet, http.MethodHead) {
		return
	}
	answer(w, r)
}

// route is what answers a path that is only read, or nil.
func (s *site) route(path string) http.HandlerFunc {
	switch path {
	case s.MetricsURL:
		if s.Metrics == nil {
			return nil
		}
		return s.Metrics.ServeHTTP
	case "/":
		return s.status
	case "/-/healthy":
		return func(w http.ResponseWriter, r *http.Request) { text(w, r, http.StatusOK, "ssd_exporter is healthy.\n") }
	case "/-/ready":
		return s.ready
	case "/config":
		if s.Config == nil {
			return nil
		}
		return func(w http.ResponseWriter, r *http.Request) { text(w, r, http.StatusOK, string(s.Config())) }
	default:
		return nil
	}
}

func (s *site) status(w http.ResponseWriter, r *http.Request) {
	v := s.view(r)
	var b bytes.Buffer
	if err := s.template.Execute(&b, v); err != nil {
		http.Error(w, "the status page cannot be shown: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	send(w, r, http.StatusOK, b.Bytes())
}

func (s *site) ready(w http.ResponseWriter, r *http.Request) {
	if s.Ready != nil {
		if ok, why := s.Ready(); !ok {
			text(w, r, http.StatusServiceUnavailable, "ssd_exporter is not ready: "+why+"\n")
			return
		}
	}
	text(w, r, http.StatusOK, "ssd_exporter is ready.\n")
}

// reload changes state, so it is not for links, and not for other sites' pages in somebody's browser.
func (s *site) reload(w http.ResponseWriter, r *http.Request) {
	if !allowed(w, r, http.MethodPost, http.MethodPut) {
		return
	}
	if s.Reload == nil {
		text(w, r, http.StatusForbidden,
			"reloading over HTTP is off; start with --web.enable-lifecycle to allow it, or send the process SIGHUP\n")
		return
	}
	if err := s.origin.Check(r); err != nil {
		text(w, r, http.StatusForbidden, "another site's page may not reload this one: "+err.Error()+"\n")
		return
	}
	if err := s.Reload(); err != nil {
		text(w, r, http.StatusInternalServerError, "the configuration was not reloaded, the old one stays: "+err.Error()+"\n")
		return
	}
	text(w, r, http.StatusOK, "the configuration was reloaded\n")
}

// secure sets the headers that keep a browser from doing anything with a page but show it.
func (s *site) secure(h http.Header) {
	h.Set("Content-Security-Policy", s.policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// allowed answers 405 unless the method is one of methods.
func allowed(w http.ResponseWriter, r *http.Request, methods ...string) bool {
	if slices.Contains(methods, r.Method) {
		return true
	}
	list := strings.Join(methods, ", ")
	w.Header().Set("Allow", list)
	http.Error(w, "this address only answers "+list, http.StatusMethodNotAllowed)
	return false
}

func text(w http.ResponseWriter, r *http.Request, status int, body string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	send(w, r, status, []byte(body))
}

func send(w http.ResponseWriter, r *http.Request, status int, body []byte) {
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // an error means that the client has gone
	}
}
