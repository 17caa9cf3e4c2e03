package web

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"ssd_exporter/monitor"
)

func metrics() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("metrics are here\n")) })
}

func ask(h http.Handler, method, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, path, nil))
	return w
}

func options(s *monitor.Snapshot) Options {
	return Options{
		Snapshot: func() *monitor.Snapshot { return s }, Metrics: metrics(), MetricsURL: "/metrics", Version: "1.2.3",
		Ready: func() (bool, string) { return true, "" }, Config: func() []byte { return []byte("targets: []\n") },
	}
}

func TestAddresses(t *testing.T) {
	h := Handler(options(healthy()))
	notReady := options(nil)
	notReady.Ready = func() (bool, string) { return false, "the disks were not looked for yet" }
	renamed := options(healthy())
	renamed.MetricsURL = "probe/metrics"
	bare := Handler(Options{})
	for _, c := range []struct {
		story  string
		h      http.Handler
		method string
		path   string
		status int
		body   string
	}{
		{"status page", h, "GET", "/", 200, "<h1>ssd_exporter</h1>"},
		{"metrics", h, "GET", "/metrics", 200, "metrics are here"},
		{"metrics elsewhere", Handler(renamed), "GET", "/probe/metrics", 200, "metrics are here"},
		{"the status page links to metrics elsewhere", Handler(renamed), "GET", "/", 200, `href="./probe/metrics"`},
		{"metrics elsewhere leave their old place", Handler(renamed), "GET", "/metrics", 404, "status page"},
		{"healthy", h, "GET", "/-/healthy", 200, "healthy"},
		{"ready", h, "GET", "/-/ready", 200, "is ready"},
		{"not ready", Handler(notReady), "GET", "/-/ready", 503, "the disks were not looked for yet"},
		{"healthy though not ready", Handler(notReady), "GET", "/-/healthy", 200, "healthy"},
		{"configuration", h, "GET", "/config", 200, "targets: []"},
		{"unknown page", h, "GET", "/nothing", 404, "no such page"},
		{"below the status page", h, "GET", "/index.html", 404, "no such page"},
		{"path tricks", h, "GET", "/-/../metrics", 404, "no such page"},
		{"no writing to the status page", h, "POST", "/", 405, "GET, HEAD"},
		{"no writing to metrics", h, "DELETE", "/metrics", 405, "GET, HEAD"},
		{"no writing to health", h, "PUT", "/-/healthy", 405, "GET, HEAD"},
		{"reload by a link", h, "GET", "/-/reload", 405, "POST, PUT"},
		{"reload that is off", h, "POST", "/-/reload", 403, "--web.enable-lifecycle"},
		{"no options: status page", bare, "GET", "/", 200, "just started"},
		{"no options: metrics", bare, "GET", "/metrics", 404, "no such page"},
		{"no options: configuration", bare, "GET", "/config", 404, "no such page"},
		{"no options: ready", bare, "GET", "/-/ready", 200, "is ready"},
	} {
		t.Run(c.story, func(t *testing.T) {
			w := ask(c.h, c.method, c.path)
			if w.Code != c.status || !strings.Contains(w.Body.String(), c.body) {
				t.Errorf("%s %s: %d %.300q, want %d with %q", c.method, c.path, w.Code, w.Body, c.status, c.body)
			}
			if w.Code == 405 && w.Header().Get("Allow") != c.body {
				t.Errorf("Allow %q, want %q", w.Header().Get("Allow"), c.body)
			}
		})
	}
}

func TestHeadHasNoBody(t *testing.T) {
	for _, path := range []string{"/", "/-/healthy", "/-/ready", "/config"} {
		if w := ask(Handler(options(healthy())), "HEAD", path); w.Code != 200 || w.Body.Len() > 0 || w.Header().Get("Content-Type") == "" {
			t.Errorf("HEAD %s: %d, %d bytes, %q", path, w.Code, w.Body.Len(), w.Header().Get("Content-Type"))
		}
	}
}

func TestReload(t *testing.T) {
	var reloads int
	var failure error
	o := options(healthy())
	o.Reload = func() error { reloads++; return failure }
	h := Handler(o)
	for _, c := range []struct {
		story, method, site string
		failure             error
		status, reloads     int
		body                string
	}{
		{"by hand", "POST", "", nil, 200, 1, "was reloaded"},
		{"with PUT", "PUT", "", nil, 200, 1, "was reloaded"},
		{"from a broken file", "POST", "", errors.New("a.yml:3: unknown key"), 500, 1, "the old one stays: a.yml:3: unknown key"},
		{"from another site's page", "POST", "cross-site", nil, 403, 0, "another site's page"},
		{"from a link", "GET", "", nil, 405, 0, "POST, PUT"},
	} {
		t.Run(c.story, func(t *testing.T) {
			reloads, failure = 0, c.failure
			r := httptest.NewRequest(c.method, "/-/reload", nil)
			if c.site != "" {
				r.Header.Set("Sec-Fetch-Site", c.site)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != c.status || reloads != c.reloads || !strings.Contains(w.Body.String(), c.body) {
				t.Errorf("%d %q and %d reloads, want %d with %q and %d", w.Code, w.Body, reloads, c.status, c.body, c.reloads)
			}
		})
	}
}

func TestEveryAnswerIsLockedDown(t *testing.T) {
	h := Handler(options(healthy()))
	for _, path := range []string{"/", "/metrics", "/-/healthy", "/-/ready", "/-/reload", "/config", "/nothing"} {
		w := ask(h, "GET", path)
		for header, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
			"Cross-Origin-Resource-Policy": "same-origin",
		} {
			if got := w.Header().Get(header); got != want {
				t.Errorf("%s: %s %q, want %q", path, header, got, want)
			}
		}
		policy := w.Header().Get("Content-Security-Policy")
		if !strings.HasPrefix(policy, "default-src 'none'; ") || strings.Contains(policy, "unsafe") || strings.Contains(policy, "script-src") {
			t.Errorf("%s: policy %q", path, policy)
		}
	}
}

func TestThePolicyAllowsTheStyleAndNothingElse(t *testing.T) {
	w := ask(Handler(options(healthy())), "GET", "/")
	page := w.Body.String()
	_, rest, _ := strings.Cut(page, "<style>")
	style, _, found := strings.Cut(rest, "</style>")
	if !found || len(style) < 500 {
		t.Fatalf("no style: %q", style)
	}
	sum := sha256.Sum256([]byte(style))
	if want := "style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"; !strings.Contains(w.Header().Get("Content-Security-Policy"), want) {
		t.Errorf("a browser would refuse the style: policy %q, hash of the page's style %q", w.Header().Get("Content-Security-Policy"), want)
	}
	for _, forbidden := range []string{"<script", "style=", "<link", "<img", "http://", "https://", "javascript:", " onload", " onerror"} {
		if strings.Contains(strings.Replace(page, style, "", 1), forbidden) {
			t.Errorf("the page has %q", forbidden)
		}
	}
}
