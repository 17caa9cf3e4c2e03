package main

import (
	"slices"
	"sync"

	"ssd_exporter/monitor"
)

// notes puts what the process has to say to people before the notes of each snapshot.
type notes struct {
	get func() *monitor.Snapshot

	mu    sync.Mutex
	lines []string
	from  *monitor.Snapshot // the snapshot that to was made of
	to    *monitor.Snapshot
}

func (n *notes) add(line string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines = append(n.lines, line)
	n.from = nil
}

// snapshot is the current one with all notes. Equal snapshots stay equal pointers.
func (n *notes) snapshot() *monitor.Snapshot {
	s := n.get()
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.lines) == 0 {
		return s
	}
	if s != n.from {
		c := *s
		c.Notes = slices.Concat(n.lines, s.Notes)
		n.from, n.to = s, &c
	}
	return n.to
}
