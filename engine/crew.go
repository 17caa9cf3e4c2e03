package engine

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"
)

// crew is all threads of a run, and the one who waits for them. The threads stay for both phases.
type crew struct {
	lanes []*lane
	slots int // over all lanes
	jobs  []chan job
	done  chan int // index of a lane that has done its job
	gone  chan int // index of a lane whose thread has ended
	lost  map[int]bool

	current atomic.Pointer[phase] // under way or just ended; nil before the first
}

// job is one lane's part of one phase.
type job struct {
	p  *phase
	st *stats
}

// opener opens a backend; tests put others in its place.
type opener func(Backend, backendConfig) (backend, error)

func openBackend(kind Backend, c backendConfig) (backend, error) {
	switch kind {
	case URing:
		return openURing(c)
	case AIO:
		return openAIO(c)
	case Pread:
		return openSync(c)
	}
	return nil, fmt.Errorf("backend %q is not known; accepted: %q, %q, %q", kind, URing, AIO, Pread)
}

// assemble starts the threads of a run with one backend each. An error means that this backend does not work here; no
// I/O was issued, and no thread is left.
func assemble(pl *plan, kind Backend, open opener) (*crew, error) {
	total := 0
	for _, s := range pl.Streams {
		n, _ := pl.threads(kind, s)
		total += n
	}
	if total > maxThreads {
		return nil, fmt.Errorf("%d threads would be needed, at most %d are started: use a smaller depth or fewer workers", total, maxThreads)
	}
	c := &crew{done: make(chan int, total), gone: make(chan int, total), lost: make(map[int]bool)}
	if err := c.recruit(pl, kind, total); err != nil {
		return nil, err
	}
	opened := make(chan error, total)
	for i, l := range c.lanes {
		config := backendConfig{
			fd: pl.target.FD, depth: l.depth, memory: l.memory.mem,
			// A raw system call keeps its processor; when all did, nothing else could run.
			blocking:  total >= runtime.GOMAXPROCS(0),
			fdatasync: pl.Streams[l.stream].Sync == Fdatasync,
		}
		go c.work(i, kind, open, config, opened)
	}
	var failed error
	for range c.lanes {
		if err := <-opened; err != nil && failed == nil {
			failed = err
		}
	}
	if failed != nil {
		c.dismiss()
		return nil, failed
	}
	return c, nil
}

// recruit makes the lanes and their buffers.
func (c *crew) recruit(pl *plan, kind Backend, total int) error {
	pool := max(writePool/total, minWritePool)
	for i, s := range pl.Streams {
		threads, depth := pl.threads(kind, s)
		for range threads {
			l, err := newLane(s, depth, pl.chunk(depth), pool, pl.target.Codec, pl.Seed, len(c.lanes), i)
			if err != nil {
				for _, l := range c.lanes {
					l.close()
				}
				return err
			}
			l.firstSlot = c.slots
			c.slots += depth
			c.lanes = append(c.lanes, l)
			c.jobs = append(c.jobs, make(chan job, 1))
		}
	}
	return nil
}

// work is the life of one thread.
func (c *crew) work(i int, kind Backend, open opener, config backendConfig, opened chan<- error) {
	// Never unlocked: the thread ends with this goroutine, and with it what was set for the thread alone.
	runtime.LockOSThread()
	adoptIOPriority()
	l := c.lanes[i]
	be, err := open(kind, config)
	l.be = be
	opened <- err
	leave := err == nil
	for j := range c.jobs[i] {
		if abandoned := l.run(j.p, j.st); abandoned {
			return // the bookkeeping, and the decision about the buffers, are no longer ours
		}
		leave = j.st.abandoned == 0
		c.done <- i
	}
	if leave || err != nil {
		l.close()
	}
	c.gone <- i
}

// phase runs one phase to its end and returns what each lane measured.
func (c *crew) phase(ctx context.Context, p *phase) []*stats {
	all := make([]*stats, len(c.lanes))
	for i, l := range c.lanes {
		all[i] = newStats(p.sources[l.stream], p.steps)
	}
	p.start()
	c.current.Store(p)
	unwatch := context.AfterFunc(ctx, func() { p.halt(p.now(), ending{why: StoppedCancelled}) })
	defer unwatch()
	for i := range c.lanes {
		c.jobs[i] <- job{p, all[i]}
	}
	working := make(map[int]bool, len(c.lanes))
	for i := range c.lanes {
		working[i] = true
	}
	check := time.NewTicker(tick)
	defer check.Stop()
	for len(working) > 0 {
		select {
		case i := <-c.done:
			delete(working, i)
		case <-check.C:
			c.giveUpHung(p, working)
		}
	}
	for i, src := range p.sources {
		src.censorRest(p, c.firstOf(i, all))
	}
	return all
}

// firstOf returns the figures of the first lane of a stream.
func (c *crew) firstOf(stream int, all []*stats) *stats {
	for i, l := range c.lanes {
		if l.stream == stream {
			return all[i]
		}
	}
	return nil
}

// giveUpHung books the I/Os of threads that hang in the kernel long after the stop, and goes on without them.
func (c *crew) giveUpHung(p *phase, working map[int]bool) {
	now := p.now()
	if !p.stopped(now) || time.Duration(now-max(p.stopAt.Load(), p.lastDone.Load())) < drainPatience {
		return
	}
	for i := range working {
		l := c.lanes[i]
		if s, ok := l.be.(stuckable); ok && s.abandon() {
			l.bookAbandoned(now)
			c.lost[i] = true
			delete(working, i)
		}
	}
}

// dismiss ends the threads and waits for those that are not lost.
func (c *crew) dismiss() {
	for _, j := range c.jobs {
		close(j)
	}
	for range len(c.lanes) - len(c.lost) {
		<-c.gone
	}
}
