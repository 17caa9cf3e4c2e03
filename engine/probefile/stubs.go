package probefile

import (
	"context"

	"ssd_exporter/blockdev"
	"ssd_exporter/engine"
)

type File struct{}

func (e *SpaceError) Error() string { return "" }

// Prepare opens the probe file, creating and filling it where it is missing or unfinished.
func Prepare(ctx context.Context, s Spec, fs blockdev.Filesystem, beat func(done, total int64)) (State, error) {
	return State{}, nil
}

// Open proves and opens an existing, filled file.
func Open(dir string, write bool, fs blockdev.Filesystem) (*File, error) { return nil, nil }

// OpenRaw opens a block device read-only.
func OpenRaw(path string, fs blockdev.Filesystem) (*File, error) { return nil, nil }
func (*File) Target() engine.Target                              { return engine.Target{} }
func (*File) State() State                                       { return State{} }
func (*File) Close() error                                       { return nil }

// Stat tells the state without opening the data.
func Stat(dir string) (State, error) { return State{}, nil }

// Remove deletes the file and its folder after proof.
func Remove(dir string) error { return nil }
