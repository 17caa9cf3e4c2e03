package collector

import (
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"ssd_exporter/monitor"
)

// Handler serves /metrics: the encoded page of the snapshot, and the families of live appended at each scrape. live may be nil; a
// family of its that has the name of one of ours is left out.
func Handler(get func() *monitor.Snapshot, o func() Options, live prometheus.Gatherer) *Endpoint {
	return &Endpoint{get: get, options: o, live: live, asked: map[form]time.Time{}}
}

// Endpoint is /metrics. By itself it makes the pages of a snapshot when they are first asked for; KeepFresh makes them before.
type Endpoint struct {
	get     func() *monitor.Snapshot // does not block
	options func() Options           // does not block
	live    prometheus.Gatherer

	mu      sync.Mutex // of what follows; held for comparisons, never while a page is made or sent
	current *edition
	keeping bool               // KeepFresh is at work
	asked   map[form]time.Time // when a page was last asked for in this form
}

// form is what a client wants a page to look like.
type form struct {
	format expfmt.Format
	gzip   bool
}

// ServeHTTP answers one scrape.
func (h *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "only GET and HEAD are answered here", http.StatusMethodNotAllowed)
		return
	}
	f := form{expfmt.NegotiateAccept(r.Header, expfmt.DefaultOpenMetricsAcceptedFormats()...), acceptsGzip(r.Header)}
	parts, err := h.render(f)
	if err != nil {
		http.Error(w, "the metrics cannot be shown: "+err.Error(), http.StatusInternalServerError)
		return
	}
	length := 0
	for _, part := range parts {
		length += len(part)
	}
	header := w.Header()
	header.Set("Content-Type", string(f.format))
	header.Set("Content-Length", strconv.Itoa(length))
	header.Add("Vary", "Accept, Accept-Encoding")
	if f.gzip {
		header.Set("Content-Encoding", "gzip")
	}
	if r.Method == http.MethodGet {
		write(w, parts)
	}
}

// render makes a whole page, in parts to be sent one after the other.
func (h *Endpoint) render(f form) ([][]byte, error) {
	e := h.edition(f, time.Now())
	live, err := encode(h.gatherLive(e), f.format, true)
	if err != nil {
		return nil, err
	}
	p := e.page(f.format)
	if f.gzip {
		return p.gzipped(live)
	}
	plain, err := p.plain()
	return [][]byte{plain, live}, err
}

// gatherLive are the families of the process itself. What a gatherer has in spite of an error is shown.
func (h *Endpoint) gatherLive(e *edition) []*dto.MetricFamily {
	if h.live == nil {
		return nil
	}
	families, err := h.live.Gather()
	if log := e.options.Log; err != nil && log != nil {
		log.Error("some metrics of the process were left out", "err", err)
	}
	ours := e.names()
	kept := make([]*dto.MetricFamily, 0, len(families))
	for _, f := range families {
		if !ours[f.GetName()] {
			kept = append(kept, f)
		}
	}
	return kept
}

// edition is the one of the snapshot and the options as they are now. While KeepFresh makes that one, the one before is still
// good for whoever can have it at once.
func (h *Endpoint) edition(f form, now time.Time) *edition {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked[f] = now
	s, o := h.get(), h.options() // under the lock, so that no older snapshot follows a newer one
	if !h.current.is(s, o) && (!h.keeping || !h.current.has(f)) {
		h.current = newEdition(s, o)
	}
	return h.current
}

// edition is all pages of one snapshot with one set of options.
type edition struct {
	snapshot *monitor.Snapshot
	options  Options
	families func() []*dto.MetricFamily
	names    func() map[string]bool

	mu    sync.Mutex
	ready map[form]bool           // made by KeepFresh
	pages map[expfmt.Format]*page // a format includes its escaping; a client can only choose among a few dozen
}

// newEdition promises to gather; nothing is done before somebody asks.
func newEdition(s *monitor.Snapshot, o Options) *edition {
	e := &edition{snapshot: s, options: o, pages: map[expfmt.Format]*page{}, ready: map[form]bool{}}
	e.families = sync.OnceValue(func() []*dto.MetricFamily {
		r := prometheus.NewRegistry()
		err := r.Register(New(func() *monitor.Snapshot { return s }, o))
		var families []*dto.MetricFamily
		if err == nil {
			families, err = r.Gather() // the good ones come in spite of an error
		}
		if err != nil && o.Log != nil {
			o.Log.Error("some metrics were left out; please report this", "err", err)
		}
		return families
	})
	e.names = sync.OnceValue(func() map[string]bool {
		names := map[string]bool{}
		for _, f := range e.families() {
			names[f.GetName()] = true
		}
		return names
	})
	return e
}

// is says whether e is the edition of this snapshot with these options.
func (e *edition) is(s *monitor.Snapshot, o Options) bool {
	return e != nil && e.snapshot == s && e.options == o
}

func (e *edition) page(format expfmt.Format) *page {
	families := e.families() // outside the lock: gathering takes its time
	e.mu.Lock()
	defer e.mu.Unlock()
	p := e.pages[format]
	if p == nil {
		p = newPage(families, format)
		e.pages[format] = p
	}
	return p
}
