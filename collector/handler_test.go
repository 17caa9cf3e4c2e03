package collector

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"google.golang.org/protobuf/proto"

	"ssd_exporter/monitor"
)

const (
	acceptOpenMetrics = "application/openmetrics-text;version=1.0.0"
	acceptProtobuf    = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"
)

func scrape(t *testing.T, h http.Handler, header http.Header) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	maps.Copy(r.Header, header)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	return w
}

// live has a family of the process, one that never changes and one of a name that the page has too.
func live() prometheus.Gatherer {
	r := prometheus.NewRegistry()
	g := prometheus.NewGauge(prometheus.GaugeOpts{Name: "process_something", Help: "Something live."})
	g.Set(7)
	twin := prometheus.NewGauge(prometheus.GaugeOpts{Name: "ssd_devices", Help: "A twin."})
	twin.Set(99)
	r.MustRegister(g, twin)
	return r
}

func TestGoldenPages(t *testing.T) {
	for _, c := range []struct {
		file, accept string
		o            Options
	}{
		{"page.txt", "", Options{Attributes: true}},
		{"page.openmetrics", acceptOpenMetrics, Options{Attributes: true, ClassicHistograms: true}},
	} {
		t.Run(c.file, func(t *testing.T) {
			h := Handler(fixture, func() Options { return c.o }, live())
			got := scrape(t, h, http.Header{"Accept": {c.accept}}).Body.String()
			path := filepath.Join("testdata", c.file+".golden")
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("the page changed; when that is meant, run: go test ./collector -update\n%s", diff)
			}
		})
	}
}

// decode reads a page as a server that asked for it would.
func decode(t *testing.T, w *httptest.ResponseRecorder) map[string]*dto.MetricFamily {
	t.Helper()
	families := map[string]*dto.MetricFamily{}
	d := expfmt.NewDecoder(bytes.NewReader(w.Body.Bytes()), expfmt.ResponseFormat(w.Header()))
	for {
		var f dto.MetricFamily
		switch err := d.Decode(&f); {
		case errors.Is(err, io.EOF):
			return families
		case err != nil:
			t.Fatal(err)
		}
		if families[f.GetName()] != nil {
			t.Errorf("%s occurs twice", f.GetName())
		}
		families[f.GetName()] = &f
	}
}

// unzip reads a page as curl does, which stops after one gzip member, and fails on anything left over.
func unzip(t *testing.T, w *httptest.ResponseRecorder) []byte {
	t.Helper()
	if got := w.Header().Get("Content-Encoding"); got != "gzip" {
		t.Fatalf("Content-Encoding %q", got)
	}
	if n, err := strconv.Atoi(w.Header().Get("Content-Length")); err != nil || n != w.Body.Len() {
		t.Errorf("Content-Length %q of %d bytes", w.Header().Get("Content-Length"), w.Body.Len())
	}
	rest := bytes.NewReader(w.Body.Bytes())
	z, err := gzip.NewReader(rest)
	if err != nil {
		t.Fatal(err)
	}
	z.Multistream(false)
	body, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	if rest.Len() > 0 {
		t.Errorf("%d bytes after the gzip member", rest.Len())
	}
	return body
}

func TestAllFormatsTellTheSame(t *testing.T) {
	small := fixture() // the library's OpenMetrics decoder takes seconds for a large page
	small.Targets = small.Targets[1:]
	small.Targets[0].Workloads = small.Targets[0].Workloads[1:2]
	h := Handler(func() *monitor.Snapshot { return small }, func() Options { return Options{ClassicHistograms: true, Attributes: true} }, live())
	wanted := gather(t, small, Options{ClassicHistograms: true, Attributes: true})
	for _, format := range []struct{ name, accept, contentType string }{
		{"text by default", "", "text/plain; version=0.0.4; charset=utf-8; escaping=underscores"},
		{"text with dots", "text/plain;version=1.0.0;escaping=dots", "text/plain; version=1.0.0; charset=utf-8; escaping=dots"},
		{
			"OpenMetrics", acceptOpenMetrics + ";escaping=allow-utf-8",
			"application/openmetrics-text; version=1.0.0; charset=utf-8; escaping=allow-utf-8",
		},
		{
			"protobuf", acceptProtobuf,
			"application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited; escaping=underscores",
		},
		{
			"what Prometheus 2.42 sends",
			acceptProtobuf + ",application/openmetrics-text;version=1.0.0;q=0.8,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
			"application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited; escaping=underscores",
		},
	} {
		t.Run(format.name, func(t *testing.T) {
			plain := scrape(t, h, http.Header{"Accept": {format.accept}})
			if got := plain.Header().Get("Content-Type"); got != format.contentType {
				t.Errorf("Content-Type %q, want %q", got, format.contentType)
			}
			compareFamilies(t, wanted, decode(t, plain), strings.Contains(format.contentType, "protobuf"))
			for range 2 { // the second is served from memory
				zipped := scrape(t, h, http.Header{"Accept": {format.accept}, "Accept-Encoding": {"gzip"}})
				if got := zipped.Header().Get("Content-Type"); got != format.contentType {
					t.Errorf("gzip: Content-Type %q, want %q", got, format.contentType)
				}
				if got := unzip(t, zipped); !bytes.Equal(got, plain.Body.Bytes()) {
					t.Error("the gzipped page is not the plain one")
				}
			}
		})
	}
}

func compareFamilies(t *testing.T, wanted, got map[string]*dto.MetricFamily, native bool) {
	t.Helper()
	if got["process_something"].GetMetric()[0].GetGauge().GetValue() != 7 {
		t.Error("the live families are not there")
	}
	if len(got) != len(wanted)+1 {
		t.Errorf("%d families, want %d and a live one", len(got), len(wanted))
	}
	for name, want := range wanted {
		f := got[name]
		if f == nil { // OpenMetrics names counters without their suffix
			f = got[strings.TrimSuffix(name, "_total")]
		}
		if len(f.GetMetric()) != len(want.GetMetric()) {
			t.Errorf("%s has %d samples, want %d", name, len(f.GetMetric()), len(want.GetMetric()))
			continue
		}
		if native {
			if !proto.Equal(f, want) {
				t.Errorf("%s differs: %s", name, cmp.Diff(want.String(), f.String()))
			}
			continue
		}
		index := map[string]*dto.Metric{}
		for _, m := range f.GetMetric() {
			index[fmt.Sprint(labelsOf(m))] = m
		}
		for _, m := range want.GetMetric() {
			compareMetric(t, name, m, index[fmt.Sprint(labelsOf(m))])
		}
	}
}

// compareMetric compares what a text can tell.
func compareMetric(t *testing.T, name string, want, got *dto.Metric) {
	t.Helper()
	if got == nil {
		t.Errorf("%s has no %v", name, labelsOf(want))
		return
	}
	if g, w := got.GetGauge().GetValue(), want.GetGauge().GetValue(); g != w {
		t.Errorf("%s%v = %v, want %v", name, labelsOf(want), g, w)
	}
	if g, w := got.GetCounter().GetValue(), want.GetCounter().GetValue(); g != w {
		t.Errorf("%s%v = %v, want %v", name, labelsOf(want), g, w)
	}
	g, w := got.GetHistogram(), want.GetHistogram()
	if g.GetSampleCount() != w.GetSampleCount() || g.GetSampleSum() != w.GetSampleSum() {
		t.Errorf("%s%v: %d samples of sum %v, want %d of %v", name, labelsOf(want), g.GetSampleCount(), g.GetSampleSum(), w.GetSampleCount(), w.GetSampleSum())
	}
	for i, b := range w.GetBucket() {
		if !proto.Equal(b, g.GetBucket()[i]) {
			t.Errorf("%s%v: bucket %v, want %v", name, labelsOf(want), g.GetBucket()[i], b)
		}
	}
}

func TestAPageIsMadeOncePerSnapshotOptionsAndFormat(t *testing.T) {
	snapshot, options := fixture(), Options{}
	h := Handler(func() *monitor.Snapshot { return snapshot }, func() Options { return options }, nil)
	first := func(format expfmt.Format, gzip bool) *byte {
		parts, err := h.render(form{format, gzip})
		if err != nil {
			t.Fatal(err)
		}
		if gzip {
			return &parts[1][0]
		}
		return &parts[0][0]
	}
	text, zipped, other := first(expfmt.FmtText, false), first(expfmt.FmtText, true), first(expfmt.FmtOpenMetrics_1_0_0, false)
	if text != first(expfmt.FmtText, false) || zipped != first(expfmt.FmtText, true) || other != first(expfmt.FmtOpenMetrics_1_0_0, false) {
		t.Error("a page was made again though nothing changed")
	}
	options.ClassicHistograms = true
	if changed := first(expfmt.FmtText, false); changed == text {
		t.Error("new options show the old page")
	}
	text = first(expfmt.FmtText, false)
	snapshot = fixture()
	if text == first(expfmt.FmtText, false) {
		t.Error("a new snapshot shows the old page")
	}
}

func TestScrapesWhileSnapshotsChange(t *testing.T) {
	var current atomic.Pointer[monitor.Snapshot]
	current.Store(oneDisk())
	var n atomic.Int64
	h := Handler(current.Load, func() Options { return Options{ClassicHistograms: n.Add(1)%7 == 0} }, live())
	done := make(chan struct{})
	var publisher sync.WaitGroup
	publisher.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				s := oneDisk()
				s.Disks = append(s.Disks, unreadable())
				current.Store(s)
			}
		}
	})
	var scrapers sync.WaitGroup
	for i := range 4 {
		scrapers.Go(func() {
			for range 5 {
				accept := []string{"", acceptOpenMetrics, acceptProtobuf}[i%3]
				w := scrape(t, h, http.Header{"Accept": {accept}, "Accept-Encoding": {"gzip"}})
				page := unzip(t, w)
				if accept == acceptOpenMetrics && !bytes.HasSuffix(page, []byte("# EOF\n")) {
					t.Errorf("the page ends with %q", page[len(page)-20:])
				}
				for _, want := range []string{"ssd_wear_used_ratio", "ssd_probe_latency_seconds", "process_something"} {
					if !bytes.Contains(page, []byte(want)) {
						t.Errorf("the page has no %s", want)
					}
				}
			}
		})
	}
	scrapers.Wait()
	close(done)
	publisher.Wait()
}

func TestMethods(t *testing.T) {
	h := Handler(fixture, defaults, nil)
	for method, want := range map[string]int{
		http.MethodGet: 200, http.MethodHead: 200, http.MethodPost: 405, http.MethodPut: 405, http.MethodDelete: 405, "BREW": 405,
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(method, "/metrics", nil))
		if w.Code != want {
			t.Errorf("%s: %d, want %d", method, w.Code, want)
		}
		if want == 405 && w.Header().Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: Allow %q", method, w.Header().Get("Allow"))
		}
		if method == http.MethodHead && (w.Body.Len() > 0 || w.Header().Get("Content-Length") == "0") {
			t.Errorf("HEAD: %d bytes, Content-Length %s", w.Body.Len(), w.Header().Get("Content-Length"))
		}
	}
}

type failing struct{ prometheus.Gatherer }

func (f failing) Gather() ([]*dto.MetricFamily, error) {
	families, _ := f.Gatherer.Gather()
	return families, errors.New("/proc is gone")
}

func TestWhatLiveHasInSpiteOfAnErrorIsShown(t *testing.T) {
	w := scrape(t, Handler(fixture, defaults, failing{live()}), nil)
	for _, want := range []string{"process_something 7\n", "ssd_devices 3\n"} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("no %q", want)
		}
	}
}

func TestThereIsAPageBeforeTheFirstSnapshot(t *testing.T) {
	w := scrape(t, Handler(func() *monitor.Snapshot { return nil }, defaults, live()), http.Header{"Accept": {acceptOpenMetrics}})
	if got := w.Body.String(); !strings.HasSuffix(got, "# EOF\n") || !strings.Contains(got, "process_something 7") {
		t.Errorf("page %q", got)
	}
}
