package worker

import (
	"context"
	"time"
)

// Hook turns this process into a worker when it was started as one, and returns otherwise.
func Hook() {}

type Worker struct{}

// Start starts a child. ctx ends it (Abort, then kill after a grace time).
func Start(ctx context.Context, r Request) (*Worker, error) { return nil, nil }

// Replies is closed after the final reply; a crash is a final Reply with Kind Crashed.
func (*Worker) Replies() <-chan Reply { return nil }

// Abort asks the child to stop issuing and to answer with what it has.
func (*Worker) Abort() {}

// Kill ends the child; it may linger in state D.
func (*Worker) Kill() {}

// Done is closed when the process is gone. Never wait for it unconditionally.
func (*Worker) Done() <-chan struct{} { return nil }
func (*Worker) LastBeat() time.Time   { return time.Time{} }

// Do runs a request to its end and returns the final reply: for commands. beat may be nil.
func Do(ctx context.Context, r Request, beat func(Beat)) (Reply, error) { return Reply{}, nil }
