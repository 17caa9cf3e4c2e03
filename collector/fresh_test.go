package collector

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ssd_exporter/blockdev"
	"ssd_exporter/monitor"
)

// counted is a sequence of snapshots with n disks each.
type counted struct {
	current atomic.Pointer[monitor.Snapshot]
}

func (c *counted) publish(disks int) {
	s := &monitor.Snapshot{At: noon()}
	for i := range disks {
		d := unreadable()
		d.ID = blockdev.ID(fmt.Sprint("disk", i))
		s.Disks = append(s.Disks, d)
	}
	c.current.Store(s)
}

func devices(t *testing.T, h http.Handler, header http.Header) string {
	t.Helper()
	w := scrape(t, h, header)
	body := w.Body.String()
	if header.Get("Accept-Encoding") == "gzip" {
		body = string(unzip(t, w))
	}
	for line := range strings.Lines(body) {
		if v, ok := strings.CutPrefix(line, "ssd_devices "); ok {
			return strings.TrimSpace(v)
		}
	}
	return "none"
}

func TestPagesAreMadeAheadForWhoAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c counted
		c.publish(1)
		h := Handler(c.current.Load, defaults, nil)
		ctx, cancel := context.WithCancel(t.Context())
		go h.KeepFresh(ctx)
		synctest.Wait()
		want := func(when string, header http.Header, want int) {
			t.Helper()
			if got := devices(t, h, header); got != fmt.Sprint(want) {
				t.Errorf("%s: %s disks, want %d", when, got, want)
			}
		}
		want("first scrape", nil, 1)
		time.Sleep(freshEvery)
		synctest.Wait()
		c.publish(2)
		want("a new snapshot whose page is not made yet: the one before, at once", nil, 1)
		want("a form that nobody asked for before: made now", http.Header{"Accept-Encoding": {"gzip"}}, 2)
		want("and no step back from there", nil, 2)
		c.publish(3)
		time.Sleep(freshEvery)
		synctest.Wait()
		want("made ahead", nil, 3)
		want("made ahead, gzip", http.Header{"Accept-Encoding": {"gzip"}}, 3)

		time.Sleep(forgetAfter + freshEvery)
		synctest.Wait()
		if h.current != nil || len(h.asked) > 0 {
			t.Errorf("kept for nobody: %v, %v", h.current, h.asked)
		}
		c.publish(4)
		want("who comes back gets nothing old", nil, 4)

		cancel()
		synctest.Wait()
		c.publish(5)
		want("nobody makes pages ahead any more", nil, 5)
	})
}

func TestNoPageIsReplacedByAnOlderOne(t *testing.T) {
	var c counted
	c.publish(1)
	h := Handler(c.current.Load, defaults, nil)
	h.keep(true)
	devices(t, h, nil)
	c.publish(2)
	before, next, forms := h.next(time.Now())
	c.publish(3)
	devices(t, h, http.Header{"Accept-Encoding": {"gzip"}}) // in a form that nobody has asked for before
	for _, f := range forms {
		next.make(f)
	}
	h.replace(before, next)
	for _, encoding := range []string{"gzip", ""} {
		if got := devices(t, h, http.Header{"Accept-Encoding": {encoding}}); got != "3" {
			t.Errorf("%q: %s disks, want 3", encoding, got)
		}
	}
}

func TestScrapesAndSnapshotsMeetAtAnyTime(t *testing.T) {
	var c counted
	c.publish(1)
	h := Handler(c.current.Load, defaults, live())
	h.keep(true)
	var wg sync.WaitGroup
	for _, encoding := range []string{"", "gzip"} {
		wg.Go(func() {
			last := 0
			for range 30 {
				n, err := strconv.Atoi(devices(t, h, http.Header{"Accept-Encoding": {encoding}}))
				if err != nil || n < last {
					t.Errorf("%d disks after %d (%v)", n, last, err)
				}
				last = n
			}
		})
	}
	for i := range 30 {
		c.publish(i + 1)
		h.refresh(time.Now())
	}
	wg.Wait()
}
