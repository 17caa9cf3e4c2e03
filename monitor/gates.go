package monitor

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// gates keep things apart that must not meet on one physical disk. A key is a disk and a purpose: probeGate is held by a target
// through its pass and by a fill, commandGate by one run or one S.M.A.R.T. read, so that polls take their turn between the
// runs of a pass.
type gates struct {
	mu      sync.Mutex
	held    map[string]*permit
	changed chan struct{} // closed and replaced at every change
}

// errStuck says that a disk does not answer whoever holds its gate: waiting would be in vain.
var errStuck = errors.New("an earlier request does not come back")

func newGates() *gates { return &gates{held: map[string]*permit{}, changed: make(chan struct{})} }

func probeGate(kernel string) string   { return "probe:" + kernel }
func commandGate(kernel string) string { return "command:" + kernel }

// permit is the right to be behind some gates.
type permit struct {
	g     *gates
	keys  []string
	who   string
	stuck bool
	kept  bool // release does nothing
}

// acquire takes all keys or none. It waits for other holders, but not for one that is stuck: that is errStuck.
func (g *gates) acquire(ctx context.Context, who string, keys ...string) (*permit, error) {
	p := &permit{g: g, keys: keys, who: who}
	for {
		g.mu.Lock()
		holder, stuck := g.holder(keys)
		changed := g.changed
		if holder == nil {
			for _, k := range keys {
				g.held[k] = p
			}
		}
		g.mu.Unlock()
		switch {
		case holder == nil:
			return p, nil
		case stuck:
			return nil, fmt.Errorf("%s: %w", holder.who, errStuck)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for %s: %w", holder.who, ctx.Err())
		}
	}
}

// stuck says whether one of the gates is held by something that does not come back.
func (g *gates) stuck(keys ...string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if holder, stuck := g.holder(keys); stuck {
		return fmt.Errorf("%s: %w", holder.who, errStuck)
	}
	return nil
}

// holder is who holds one of the keys; a stuck one first.
func (g *gates) holder(keys []string) (holder *permit, stuck bool) {
	for _, k := range keys {
		if h := g.held[k]; h != nil {
			if h.stuck {
				return h, true
			}
			holder = h
		}
	}
	return holder, false
}

// markStuck tells those who wait that the holder may never come back.
func (p *permit) markStuck() {
	p.g.mu.Lock()
	defer p.g.mu.Unlock()
	p.stuck = true
	p.g.wake()
}

// keep holds the gates past release, for a holder that does not come back; giveBack ends it.
func (p *permit) keep() {
	p.g.mu.Lock()
	defer p.g.mu.Unlock()
	p.stuck, p.kept = true, true
	p.g.wake()
}

func (p *permit) giveBack() {
	p.g.mu.Lock()
	p.kept = false
	p.g.mu.Unlock()
	p.release()
}

// release gives the gates back; more than once does nothing.
func (p *permit) release() {
	p.g.mu.Lock()
	defer p.g.mu.Unlock()
	if p.kept {
		return
	}
	for _, k := range p.keys {
		if p.g.held[k] == p {
			delete(p.g.held, k)
		}
	}
	p.g.wake()
}

func (g *gates) wake() {
	close(g.changed)
	g.changed = make(chan struct{})
}
