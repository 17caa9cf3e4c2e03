package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"ssd_exporter/engine/ledger"
	"ssd_exporter/monitor/history"
)

// historyFile is the history's file in the state folder.
const historyFile = "history.db"

// stateDeadline is how long the state folder may take to open: its disk may be the sick one.
const stateDeadline = 30 * time.Second

// state is what survives restarts, opened.
type state struct {
	store    *history.Store
	ledger   *ledger.Ledger
	setAside string // where a damaged history file went; "" when there was none
}

// openState creates and opens the state folder. Every error ends the program with exitState.
func openState(ctx context.Context, dir string) (*state, error) {
	type opened struct {
		s   *state
		err error
	}
	c := make(chan opened, 1)
	go func() {
		s, err := openStateNow(dir)
		c <- opened{s, err}
	}()
	ctx, cancel := context.WithTimeout(ctx, stateDeadline)
	defer cancel()
	select {
	case o := <-c:
		if o.err != nil {
			return nil, &exitError{exitState, o.err}
		}
		return o.s, nil
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return nil, exitf(exitState, "the state folder %s did not answer within %v; its disk may hang: choose another with --state.path", dir, stateDeadline)
		}
		return nil, ctx.Err()
	}
}

func openStateNow(dir string) (*state, error) {
	if err := makeFolder(dir); err != nil {
		return nil, err
	}
	store, setAside, err := history.Open(filepath.Join(dir, historyFile))
	switch {
	case errors.Is(err, history.ErrLocked):
		return nil, fmt.Errorf("the state folder %s is in use: %w; stop that one, or choose another folder with --state.path", dir, err)
	case err != nil:
		return nil, unusable(dir, err)
	}
	l, err := ledger.Open(filepath.Join(dir, "ledger"))
	if err != nil {
		return nil, errors.Join(unusable(dir, err), store.Close())
	}
	return &state{store: store, ledger: l, setAside: setAside}, nil
}

// makeFolder creates dir but not its parents: a mistyped or unmounted path must not become a folder on the root file system.
func makeFolder(dir string) error {
	err := os.Mkdir(dir, 0o750)
	switch {
	case errors.Is(err, fs.ErrExist):
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("cannot create the state folder %s: its parent %s does not exist; create or mount that, or choose another with --state.path", dir, filepath.Dir(filepath.Clean(dir)))
	case err != nil:
		return fmt.Errorf("cannot create the state folder: %w; make %s writable for %s, or choose another with --state.path", err, filepath.Dir(filepath.Clean(dir)), user())
	}
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("cannot use the state folder: %w; choose another with --state.path", err)
	}
	if !info.IsDir() {
		return fmt.Errorf("the state folder %s is not a folder; move that file away, or choose another with --state.path", dir)
	}
	return nil
}

// unusable is for errors of those who keep their files there; they say what to do.
func unusable(dir string, err error) error {
	return fmt.Errorf("cannot use the state folder %s as %s: %w", dir, user(), err)
}

func user() string { return fmt.Sprintf("user %d", os.Geteuid()) }

func (s *state) close() error {
	if err := s.store.Close(); err != nil {
		return fmt.Errorf("closing the history: %w", err)
	}
	return nil
}
