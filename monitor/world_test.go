package monitor

import (
	"context"
	"fmt"
	"sync"
	"time"

	"ssd_exporter/blockdev"
	"ssd_exporter/engine"
	"ssd_exporter/engine/probefile"
	"ssd_exporter/engine/worker"
)

// world is what children find: places with disks and probe files. It keeps a log of all they were asked.
type world struct {
	mu      sync.Mutex
	places  map[string]*place
	log     []event
	free    chan struct{}                               // closed: hung children end
	silent  bool                                        // children do not come so far as to write
	answer  func(r worker.Request) (worker.Reply, bool) // in place of the usual answer, when true
	took    func(w engine.Workload) time.Duration       // of a run
	shape   func(w engine.Workload, res *engine.Result) // changes a result
	hang    func(r worker.Request) bool                 // the child ignores everything until release
	refuse  func(r worker.Request) error                // Start fails
	results map[string]engine.Result                    // by workload
}

type place struct {
	fs   blockdev.Filesystem
	file *probefile.State
}

// event is one run of a child.
type event struct {
	begin, end time.Time
	dir        string
	what       string // "inspect", "prepare", or the workload
	request    worker.Request
}

func newWorld() *world {
	return &world{places: map[string]*place{}, free: make(chan struct{}), results: map[string]engine.Result{}}
}

func (w *world) place(dir string, leaves ...string) *place {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := &place{fs: blockdev.Filesystem{
		Type: "ext4", MountPoint: "/", Source: "/dev/" + fmt.Sprint(leaves), Leaves: leaves, Stack: leaves,
		SizeBytes: terabyte, FreeBytes: terabyte / 2, DirectMem: 512, DirectOffset: 512,
	}}
	w.places[dir] = p
	return p
}

func (w *world) change(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

func (w *world) release() {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-w.free:
	default:
		close(w.free)
	}
}

// ran are the events of one kind, "" for every run of a workload.
func (w *world) ran(what string) []event {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []event
	for _, e := range w.log {
		if e.what == what || what == "" && e.request.Run != nil {
			all = append(all, e)
		}
	}
	return all
}

func (w *world) names(from int) []string {
	var names []string
	for _, e := range w.ran("")[from:] {
		names = append(names, e.what)
	}
	return names
}

// fakeChild is a child that answers after some time.
type fakeChild struct {
	replies chan worker.Reply
	done    chan struct{}
	aborted chan struct{}
	killed  chan struct{}
	once    [2]sync.Once
}

func (c *fakeChild) Replies() <-chan worker.Reply { return c.replies }
func (c *fakeChild) Done() <-chan struct{}        { return c.done }
func (c *fakeChild) Abort()                       { c.once[0].Do(func() { close(c.aborted) }) }
func (c *fakeChild) Kill()                        { c.once[1].Do(func() { close(c.killed) }) }

func (w *world) start(_ context.Context, r worker.Request) (Child, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.refuse != nil {
		if err := w.refuse(r); err != nil {
			return nil, err
		}
	}
	c := &fakeChild{replies: make(chan worker.Reply, 8), done: make(chan struct{}), aborted: make(chan struct{}), killed: make(chan struct{})}
	hangs := w.hang != nil && w.hang(r)
	i := len(w.log)
	w.log = append(w.log, event{begin: time.Now(), dir: r.Dir, what: what(r), request: r})
	go func() {
		defer close(c.done)
		defer close(c.replies)
		defer w.change(func() { w.log[i].end = time.Now() })
		if hangs {
			c.replies <- worker.Reply{Beat: &worker.Beat{Phase: "run", Idle: time.Second}}
			<-w.free
			return
		}
		if reply, said := w.live(c, r); said {
			reply.Final = true
			c.replies <- reply
		}
	}()
	return c, nil
}

func what(r worker.Request) string {
	switch {
	case r.Inspect:
		return "inspect"
	case r.Prepare != nil:
		return "prepare"
	default:
		return r.Run.Workload.Name
	}
}

// live is a child's life; it ends early when it is aborted or killed.
func (w *world) live(c *fakeChild, r worker.Request) (worker.Reply, bool) {
	w.mu.Lock()
	answer, took, p, silent := w.answer, w.took, w.places[r.Dir], w.silent
	w.mu.Unlock()
	if p == nil {
		return worker.Reply{Error: &worker.Error{Kind: worker.Missing, Message: r.Dir + ": no such folder"}}, true
	}
	length := 10 * time.Millisecond
	switch {
	case r.Prepare != nil:
		length = 5 * time.Second
		c.replies <- worker.Reply{Beat: &worker.Beat{Phase: "fill", Done: r.Prepare.Size / 2, Total: r.Prepare.Size, Written: r.Prepare.Size / 2}}
	case r.Run != nil:
		length = time.Second
		if took != nil {
			length = took(r.Run.Workload)
		}
		beat := worker.Beat{Phase: "run", Written: r.Run.Workload.MaxWritten() / 2}
		if silent {
			beat = worker.Beat{Phase: "open"}
		}
		c.replies <- worker.Reply{Beat: &beat}
	}
	select {
	case <-time.After(length):
	case <-c.aborted:
		return w.cutShort(r), true
	case <-c.killed:
		return worker.Reply{}, false
	}
	if answer != nil {
		if reply, ok := answer(r); ok {
			return reply, true
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	fs := p.fs
	reply := worker.Reply{Filesystem: &fs}
	switch {
	case r.Prepare != nil:
		p.file = &probefile.State{Dir: r.Dir, UUID: "u", Size: r.Prepare.Size, Created: time.Now().Unix(), Filled: true, Written: r.Prepare.Size}
	case r.Run != nil:
		reply.Result = w.result(r.Run.Workload)
	}
	if p.file != nil {
		file := *p.file
		reply.File = &file
	}
	return reply, true
}

// cutShort is the answer of an aborted child: half of it was done.
func (w *world) cutShort(r worker.Request) worker.Reply {
	reply := worker.Reply{Error: &worker.Error{Kind: worker.Aborted, Message: "stopped on request"}}
	if r.Run != nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		reply.Result = w.result(r.Run.Workload)
		reply.Result.Written /= 2
	}
	return reply
}

// latency of every fake I/O.
const latency = 100 * time.Microsecond

// result is what a workload measures on a quiet disk.
func (w *world) result(load engine.Workload) *engine.Result {
	res, ok := w.results[load.Name]
	if !ok {
		s := load.Streams[0]
		res = engine.Result{
			Workload: load.Name, Elapsed: time.Second, Total: time.Second, Written: load.MaxWritten(),
			Fingerprint: engine.Fingerprint{Engine: engine.Pread, Chunk: 4}, Valid: true,
		}
		for op, share := range []int64{int64(s.ReadPermille), int64(1000 - s.ReadPermille)} {
			n := load.Stop.MaxIOs * share / 1000
			for range n {
				res.Ops[op].Response.Record(latency)
			}
			res.Ops[op].IOs, res.Ops[op].Rated = n, n
			res.Ops[op].Bytes, res.Ops[op].RatedBytes = n*int64(s.BlockSize), n*int64(s.BlockSize)
		}
		w.results[load.Name] = res
	}
	res.Start = time.Now()
	res.ForeignIOs, res.ForeignIOPS = new(int64(0)), new(0.0)
	if w.shape != nil {
		w.shape(load, &res)
	}
	return &res
}
