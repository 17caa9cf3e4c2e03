package collector

import (
	"context"
	"time"
)

const (
	// freshEvery is how often KeepFresh looks for a new snapshot, and so how old a page may be that is sent although there is one.
	freshEvery = time.Second
	// freshShare is how many times longer than it works KeepFresh rests: many snapshots of many disks must not cost a whole CPU.
	freshShare = 4
	// forgetAfter is when a form of the page is no longer made ahead for a client that has stopped asking.
	forgetAfter = 10 * time.Minute
)

// KeepFresh makes the pages of each new snapshot ahead, in the forms that were asked for lately, until ctx ends. A scrape then
// costs no more than sending what is there, however many disks there are: without it, the first scrape after each snapshot, and
// with the usual intervals that is every scrape, has to wait for its page.
func (h *Endpoint) KeepFresh(ctx context.Context) {
	h.keep(true)
	defer h.keep(false)
	t := time.NewTimer(freshEvery)
	defer t.Stop()
	for {
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
		start := time.Now()
		h.refresh(start)
		t.Reset(max(freshEvery, freshShare*time.Since(start)))
	}
}

func (h *Endpoint) keep(on bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.keeping = on
}

// refresh makes the edition of the snapshot as it is now and puts it in place of the one before.
func (h *Endpoint) refresh(now time.Time) {
	before, next, forms := h.next(now)
	for _, f := range forms {
		next.make(f)
	}
	h.replace(before, next)
}

// next is the edition in place, the one to come, and the forms in which it will be asked for.
func (h *Endpoint) next(now time.Time) (before, next *edition, forms []form) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for f, at := range h.asked {
		if now.Sub(at) > forgetAfter {
			delete(h.asked, f)
			continue
		}
		forms = append(forms, f)
	}
	before = h.current
	switch s, o := h.get(), h.options(); {
	case len(forms) == 0:
		// Nobody asks: nothing is kept, and nothing old is sent to who comes back.
	case before.is(s, o):
		next = before
	default:
		next = newEdition(s, o)
	}
	return before, next, forms
}

// replace puts next in place of before, unless a scrape has put a newer one there meanwhile: no counter may go back.
func (h *Endpoint) replace(before, next *edition) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.current == before {
		h.current = next
	}
}

// make makes the page in one form. An error is found again, and told, by who asks for it.
func (e *edition) make(f form) {
	if e.has(f) {
		return
	}
	p := e.page(f.format)
	if f.gzip {
		_, _ = p.deflated()
	} else {
		_, _ = p.plain()
	}
	e.mu.Lock()
	e.ready[f] = true
	e.mu.Unlock()
}

// has says whether the page is there in that form.
func (e *edition) has(f form) bool {
	if e == nil {
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.ready[f]
}
