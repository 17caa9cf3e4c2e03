package monitor

import (
	"context"
	"time"

	"ssd_exporter/engine/worker"
)

// Starter starts a worker child; worker.Start through a small wrapper outside of tests.
type Starter func(ctx context.Context, r worker.Request) (Child, error)

// patience is how long a child may take.
type patience struct {
	open time.Duration // until it works on the disk: opening, proving and repairing the file
	work time.Duration // from then on; 0: without limit as long as it makes progress
	idle time.Duration // without progress, when work is 0
}

// Bounds on children that do not come back.
const (
	killAfterAbort    = 5 * time.Second
	killAfterShutdown = 3 * time.Second
	goneAfterKill     = time.Second
	goneAfterAnswer   = 5 * time.Second
)

// answer is what became of a child.
type answer struct {
	reply worker.Reply  // the final one; Final is false when there was none
	beat  *worker.Beat  // the last sign of life, nil when there was none
	cause Abort         // why we ended it, "" when we did not
	stuck bool          // it did not end when it was killed
	gone  chan struct{} // stuck only: closed once it has ended after all
}

// orderly says that the child itself told how it ended.
func (a answer) orderly() bool {
	return a.reply.Final && (a.reply.Error == nil || a.reply.Error.Kind != worker.Crashed)
}

// lastWritten is what the child's last sign of life says it had written, nothing when there was none: it failed before its first
// I/O then.
func (a answer) lastWritten() int64 {
	if a.beat == nil {
		return 0
	}
	return a.beat.Written
}

// supervise stays with a child until it has answered and is gone, or until it is past all help. It never waits without limit.
func supervise(ctx context.Context, c Child, p patience, onBeat func(worker.Beat)) answer {
	s := supervision{child: c, patience: p, onBeat: onBeat, limit: time.NewTimer(p.open)}
	defer s.limit.Stop()
	s.listen(ctx)
	if !s.stuck {
		s.stuck = !s.gone()
	}
	return s.answer
}

type supervision struct {
	answer
	child    Child
	patience patience
	onBeat   func(worker.Beat)
	limit    *time.Timer // what runs out next: patience, then the grace after Abort, then that after Kill
	working  bool
	killed   bool
}

func (s *supervision) listen(ctx context.Context) {
	shutdown := ctx.Done()
	for {
		select {
		case r, ok := <-s.child.Replies():
			if !ok {
				return
			}
			s.take(r)
		case <-shutdown:
			shutdown = nil
			s.abort(AbortShutdown, killAfterShutdown)
		case <-s.limit.C:
			switch {
			case s.cause == "":
				s.abort(AbortTimeout, killAfterAbort)
			case !s.killed:
				s.killed = true
				s.child.Kill()
				s.limit.Reset(goneAfterKill)
			default:
				s.stuck = true
				return
			}
		}
	}
}

func (s *supervision) take(r worker.Reply) {
	if r.Final {
		s.reply = r
		return
	}
	if r.Beat == nil {
		return
	}
	b := *r.Beat
	s.beat = &b
	if s.onBeat != nil {
		s.onBeat(b)
	}
	switch {
	case s.cause != "":
	case s.patience.work == 0:
		if b.Idle < s.patience.idle {
			s.limit.Reset(s.patience.idle - b.Idle)
		}
	case !s.working && b.Phase != "open":
		s.working = true
		s.limit.Reset(s.patience.work)
	}
}

func (s *supervision) abort(cause Abort, grace time.Duration) {
	if s.cause == "" {
		s.cause = cause
	}
	if s.killed {
		return
	}
	s.child.Abort()
	s.limit.Reset(grace)
}

// gone waits for the process after its last word.
func (s *supervision) gone() bool {
	t := time.NewTimer(goneAfterAnswer)
	defer t.Stop()
	select {
	case <-s.child.Done():
		return true
	case <-t.C:
	}
	s.child.Kill()
	t.Reset(goneAfterKill)
	select {
	case <-s.child.Done():
		return true
	case <-t.C:
		return false
	}
}
