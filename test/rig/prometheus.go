package rig

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Prometheus is a running Debian prometheus.
type Prometheus struct {
	*Process
	address string
}

// Job is one scrape job on an address, with extra lines for its scrape_config.
type Job struct {
	Name, Address string
}

// StartPrometheus scrapes the jobs every second, with native histograms on.
func StartPrometheus(t testing.TB, jobs []Job, ruleFiles ...string) *Prometheus {
	t.Helper()
	program := Need(t, "prometheus")
	dir := t.TempDir()
	var b strings.Builder
	fmt.Fprintf(&b, "global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}\nrule_files: [%s]\nscrape_configs:\n", strings.Join(ruleFiles, ", "))
	for _, j := range jobs {
		fmt.Fprintf(&b, "- job_name: %s\n  static_configs: [{targets: ['%s'], labels: {instance: host}}]\n", j.Name, j.Address)
	}
	file := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	p := &Prometheus{address: FreeAddress(t)}
	p.Process = Start(t, program, "--config.file="+file, "--storage.tsdb.path="+filepath.Join(dir, "tsdb"),
		"--web.listen-address="+p.address, "--enable-feature=native-histograms", "--log.level=warn")
	p.Eventually(30*time.Second, "prometheus is ready", func() error {
		_, _, err := Get(context.Background(), "http://"+p.address+"/-/ready")
		return err
	})
	return p
}

// Address is where its API is.
func (p *Prometheus) Address() string { return p.address }

// Sample is one element of an instant vector.
type Sample struct {
	Labels map[string]string
	Value  float64
}

// Query runs an instant query.
func (p *Prometheus) Query(expr string) ([]Sample, error) {
	body, _, err := Get(context.Background(), "http://"+p.address+"/api/v1/query?query="+url.QueryEscape(expr))
	if err != nil {
		return nil, fmt.Errorf("query %s: %w", expr, err)
	}
	var answer struct {
		Data struct {
			Result []struct {
				Metric map[string]string `json:"metric"`
				Value  [2]any            `json:"value"`
			} `json:"result"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, fmt.Errorf("query %s: %w: %s", expr, err, body)
	}
	var samples []Sample
	for _, r := range answer.Data.Result {
		text, _ := r.Value[1].(string)
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, fmt.Errorf("query %s: value %v: %w", expr, r.Value[1], err)
		}
		samples = append(samples, Sample{r.Metric, v})
	}
	return samples, nil
}

// Scalar runs a query that must give exactly one sample.
func (p *Prometheus) Scalar(expr string) (float64, error) {
	s, err := p.Query(expr)
	if err != nil {
		return 0, err
	}
	if len(s) != 1 {
		return 0, fmt.Errorf("query %s: %d samples, want 1: %v", expr, len(s), s)
	}
	return s[0].Value, nil
}

// ForceAccept is a loopback proxy that asks for one format whatever the client asked for, and keeps a note of the
// Content-Type and Content-Encoding that came back.
func ForceAccept(t testing.TB, backend, accept string) (address string, last func() (contentType, encoding string)) {
	t.Helper()
	target := &url.URL{Scheme: "http", Host: backend}
	var got lockedBuffer
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			if accept != "" {
				r.Out.Header.Set("Accept", accept)
			}
		},
		ModifyResponse: func(r *http.Response) error {
			_, err := fmt.Fprintf(&got, "%s\t%s\n", r.Header.Get("Content-Type"), r.Header.Get("Content-Encoding"))
			return err
		},
	}
	s := httptest.NewServer(proxy)
	t.Cleanup(s.Close)
	host, port, err := net.SplitHostPort(s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return net.JoinHostPort(host, port), func() (string, string) {
		lines := strings.Split(strings.TrimSpace(got.tail(4096)), "\n")
		contentType, encoding, _ := strings.Cut(lines[len(lines)-1], "\t")
		return contentType, encoding
	}
}
