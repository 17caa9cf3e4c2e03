package worker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"

	"ssd_exporter/blockdev"
	"ssd_exporter/engine"
	"ssd_exporter/engine/probefile"
)

// smallFiles is the largest file that a task may write which writes no probe file (records and notes), in bytes.
const smallFiles = 1 << 20

// fillStep is how many bytes Prepare writes between two calls of its beat.
const fillStep = 1 << 20

// task is one request being answered in the child.
type task struct {
	req   Request
	c     *child
	fsys  blockdev.Filesystem
	raw   bool // Dir is a block device
	reply Reply
}

// handle answers a request.
func handle(ctx context.Context, req Request, c *child) Reply {
	t := &task{req: req, c: c}
	if err := t.do(ctx); err != nil {
		t.reply.Error = describe(req.Dir, err)
	}
	return t.reply
}

func (t *task) do(ctx context.Context) error {
	if err := t.req.check(); err != nil {
		return err
	}
	fi, err := os.Stat(t.req.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w; create the folder or correct the path", err)
	}
	if err != nil {
		return err
	}
	t.raw = fi.Mode()&os.ModeDevice != 0
	if t.raw && fi.Mode()&os.ModeCharDevice != 0 || !t.raw && !fi.IsDir() {
		return fmt.Errorf("%s: %w: neither a folder nor a disk", t.req.Dir, probefile.ErrUnsupported)
	}
	if t.fsys, err = blockdev.Resolve(t.req.Roots, t.req.Dir); err != nil {
		return err
	}
	t.reply.Filesystem = &t.fsys
	if t.fsys.Cached != "" && !t.req.Remove {
		// The disk's own counters cannot tell either: others' I/Os may hide that ours never got there.
		return fmt.Errorf("%s: %w: %s", t.req.Dir, probefile.ErrUnsupported, t.fsys.Cached)
	}
	switch {
	case t.req.Inspect:
		return t.inspect()
	case t.req.Prepare != nil:
		return t.prepare(ctx)
	case t.req.Run != nil:
		return t.run(ctx)
	default:
		return t.remove()
	}
}

func (t *task) inspect() error {
	if err := limitFileSize(smallFiles); err != nil || t.raw {
		return err
	}
	st, err := probefile.Stat(t.req.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	t.reply.File = &st
	return nil
}

func (t *task) prepare(ctx context.Context) error {
	if t.raw {
		return fmt.Errorf("%s: %w: a raw disk is only read and holds no probe file", t.req.Dir, probefile.ErrUnsupported)
	}
	spec := *t.req.Prepare
	spec.Dir = t.req.Dir
	limit := spec.Size
	if limit == 0 {
		limit = probefile.DefaultSize
	}
	// A file made under an older configuration may be larger.
	if st, err := probefile.Stat(spec.Dir); err == nil {
		limit = max(limit, st.Size)
	}
	if err := limitFileSize(max(limit, smallFiles)); err != nil {
		return err
	}
	start := int64(-1)
	st, err := probefile.Prepare(ctx, spec, t.fsys, func(done, total int64) {
		if start < 0 {
			start = done - fillStep
		}
		t.c.moveTo(Beat{Phase: "fill", Done: done, Total: total, Written: done - start})
	})
	t.reply.File = &st // with an error too: what was written until then must be charged
	return err
}

func (t *task) run(ctx context.Context) error {
	r := t.req.Run
	if err := r.Workload.Validate(); err != nil {
		return err
	}
	f, err := t.open(r.Workload)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // what was written was synced or is of no consequence
	st := f.State()
	t.reply.File = &st
	runtime.GOMAXPROCS(processors(r.Workload))

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	g := newGuard(r.Abort, r.Workload, t.req.Roots, t.fsys, cancel)
	res, err := engine.Run(ctx, r.Workload, f.Target(), engine.Options{
		Backend:   r.Backend,
		Roots:     t.req.Roots,
		BeatEvery: g.every(),
		Beat: func(p engine.Progress) {
			g.look(p)
			t.c.moveTo(Beat{Phase: p.Phase, Done: p.IOs, Total: r.Workload.Stop.MaxIOs, Written: p.Written})
		},
	})
	t.reply.Result = res
	if err == nil && ctx.Err() != nil && res.Stopped == engine.StoppedCancelled {
		err = fmt.Errorf("workload %q was stopped: %w", r.Workload.Name, context.Cause(ctx))
	}
	return err
}

// open opens the target of a workload, for writing only when it writes.
func (t *task) open(w engine.Workload) (*probefile.File, error) {
	if t.raw {
		if w.Writes() {
			return nil, fmt.Errorf("%s: %w: a raw disk is only read, and workload %s writes", t.req.Dir, probefile.ErrUnsupported, w.Name)
		}
		if err := limitFileSize(smallFiles); err != nil {
			return nil, err
		}
		return probefile.OpenRaw(t.req.Dir, t.fsys)
	}
	st, err := probefile.Stat(t.req.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w; prepare it first", err)
	}
	if err != nil {
		return nil, err
	}
	if err := limitFileSize(max(st.Size, smallFiles)); err != nil {
		return nil, err
	}
	return probefile.Open(t.req.Dir, w.Writes(), t.fsys)
}

func (t *task) remove() error {
	if t.raw {
		return fmt.Errorf("%s: %w: a raw disk holds no probe file", t.req.Dir, probefile.ErrUnsupported)
	}
	if err := limitFileSize(smallFiles); err != nil {
		return err
	}
	return probefile.Remove(t.req.Dir)
}

// processors is GOMAXPROCS for a workload: each worker of the engine may sit in a raw system call, which keeps its
// processor, and the heartbeat and the guard need one as well.
func processors(w engine.Workload) int {
	n := 2
	for _, s := range w.Streams {
		n += max(1, s.Workers)
	}
	return max(n, runtime.NumCPU())
}

// check holds that exactly one thing is asked for.
func (r Request) check() error {
	n := 0
	for _, set := range []bool{r.Inspect, r.Prepare != nil, r.Run != nil, r.Remove} {
		if set {
			n++
		}
	}
	if n != 1 {
		return fmt.Errorf("a request asks for exactly one of Inspect, Prepare, Run and Remove, this one for %d", n)
	}
	if r.Dir == "" {
		return errors.New("a request needs a folder or a disk")
	}
	return nil
}
