package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"ssd_exporter/blockdev"
	"ssd_exporter/engine"
	"ssd_exporter/engine/ledger"
	"ssd_exporter/engine/probefile"
	"ssd_exporter/engine/worker"
)

// removeDeadline is how long deleting the probe file may take before the command ends without it.
const removeDeadline = 10 * time.Second

// probing is one call of probe. Everything that touches the target happens in children, which can hang alone.
type probing struct {
	app       *app
	flags     *probeFlags
	workloads []engine.Workload
	fs        blockdev.Filesystem
	raw       bool             // the target is a disk, not a folder
	found     *probefile.State // the probe file that was there before; nil: none
	file      *probefile.State // the one that is measured; nil on a raw disk
	made      bool             // this command has written the file, or begun to
	fill      int64            // bytes that still have to be written to it
	account   *writeAccount
	progress  *progress
}

// measured is what became of one workload.
type measured struct {
	workload engine.Workload
	result   *engine.Result // nil when nothing was issued
	partial  bool           // it was interrupted
	err      error
}

// probe is the command.
func (a *app) probe(ctx context.Context, f *probeFlags) error {
	if _, err := f.workloads(false); err != nil { // before anything is touched
		return err
	}
	p := &probing{app: a, flags: f, progress: newProgress(a.stderr, isTerminal(a.stderr))}
	return p.run(ctx)
}

// run does it all. What was measured is shown whatever happened after it.
func (p *probing) run(ctx context.Context) error {
	if err := p.inspect(ctx); err != nil {
		return err
	}
	if err := p.plan(ctx); err != nil {
		return err
	}
	all, err := p.work(ctx)
	err = errors.Join(err, p.account.close())
	if len(all) == 0 {
		return err
	}
	return errors.Join(p.show(all), err)
}

// work prepares the file, measures, and leaves the folder as it was.
func (p *probing) work(ctx context.Context) (all []measured, err error) {
	if !p.raw {
		if p.found == nil && !p.flags.keepFile {
			defer func() {
				if p.made {
					err = errors.Join(err, p.remove(ctx))
				}
			}()
		}
		if err := p.prepare(ctx); err != nil {
			return nil, err
		}
	}
	for _, w := range p.workloads {
		m := p.measure(ctx, w)
		if m.result != nil {
			all = append(all, m)
		}
		if m.err != nil {
			return all, m.err
		}
	}
	return all, nil
}

// do runs a child and shows its progress.
func (p *probing) do(ctx context.Context, r worker.Request, j job) (worker.Reply, error) {
	r.Dir, r.Roots = p.flags.target, p.app.roots
	p.progress.begin(j)
	defer p.progress.end()
	reply, err := worker.Do(ctx, r, p.progress.beat)
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("interrupted: %w", err)
	}
	return reply, err
}

// inspect asks what the target is and what is there already.
func (p *probing) inspect(ctx context.Context) error {
	reply, err := p.do(ctx, worker.Request{Inspect: true}, job{})
	if err != nil {
		return err
	}
	if reply.Filesystem == nil {
		return fmt.Errorf("%s: the child did not say what lies below it; please report this", p.flags.target)
	}
	p.fs, p.found = *reply.Filesystem, reply.File
	p.raw = p.fs.Type == "" && p.fs.Source != "" // as blockdev.Resolve promises
	return nil
}

// prepare makes and fills the file, or finishes one that was begun.
func (p *probing) prepare(ctx context.Context) error {
	charged, err := p.account.reserve(ledger.Fill, p.fill)
	if err != nil {
		return err
	}
	reply, err := p.do(ctx, worker.Request{Prepare: p.spec()}, job{name: "fill", bytes: true})
	written := p.written(err, p.fill)
	if reply.File != nil {
		written = reply.File.Written
		// Only then: a service may have made it since we looked, and needs it.
		p.made = written > 0
	}
	if serr := charged.settle(written); serr != nil {
		err = errors.Join(err, serr)
	}
	switch {
	case err != nil:
		return p.explain(err)
	case reply.File == nil || !reply.File.Filled:
		return fmt.Errorf("%s: the probe file was not filled, and the child did not say why; please report this", p.flags.target)
	}
	p.file = reply.File
	return nil
}

// measure runs one workload.
func (p *probing) measure(ctx context.Context, w engine.Workload) measured {
	m := measured{workload: w}
	charged, err := p.account.reserve(ledger.Probe, w.MaxWritten())
	if err != nil {
		m.err = err
		return m
	}
	reply, err := p.do(ctx, worker.Request{Run: &worker.Run{Workload: w, Backend: p.flags.backend()}},
		job{name: w.Name, duration: w.Stop.MaxTime})
	written := p.written(err, w.MaxWritten())
	if reply.Result != nil {
		written = reply.Result.Written
	}
	m.result, m.partial = reply.Result, err != nil
	m.err = errors.Join(p.explain(err), charged.settle(written))
	return m
}

// written is what a child that answered without a figure has written, of at most so many bytes: what it said last, which is
// nothing when it failed before its first I/O. One that crashed may have written everything.
func (p *probing) written(err error, most int64) int64 {
	if e, ok := errors.AsType[*worker.Error](err); ok && e.Kind != worker.Crashed {
		return p.progress.last.Written
	}
	return most
}

// remove deletes the file that this command made, also after an interrupt.
func (p *probing) remove(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeDeadline)
	defer cancel()
	_, err := p.do(ctx, worker.Request{Remove: true}, job{})
	if e, ok := errors.AsType[*worker.Error](err); ok && e.Kind == worker.Missing {
		return nil // it was never made
	}
	if err != nil {
		return fmt.Errorf("the probe file stays behind: %w", err)
	}
	return nil
}

// explain says what to do where a child cannot know.
func (p *probing) explain(err error) error {
	if e, ok := errors.AsType[*worker.Error](err); ok && e.Kind == worker.Busy {
		return fmt.Errorf("%w; it is the service, or another probe: give another folder on the same disk, or try again in a minute", err)
	}
	return err
}

// probeFileOf is where the probe file of a folder lies.
func probeFileOf(dir string) string { return filepath.Join(dir, probefile.Folder, probefile.DataName) }
