package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"ssd_exporter/engine/worker"
)

const (
	quietFor  = 2 * time.Second  // what takes less long shows no progress
	silentFor = 10 * time.Second // after so long without an answer of the disk, people are told
)

// job is one thing that takes time.
type job struct {
	name     string        // "" is never shown
	bytes    bool          // what is done is bytes, not I/Os
	duration time.Duration // how long it takes at most; 0 unknown
}

// progress shows on a terminal how far a job has come, in one line that is erased afterwards. Elsewhere it is silent, but for
// a disk that does not answer.
type progress struct {
	w        io.Writer
	terminal bool
	now      func() time.Time

	job     job
	began   time.Time
	drawn   bool
	told    bool // that the disk does not answer
	last    worker.Beat
	phase   string // of the last beat
	entered time.Time
}

func newProgress(w io.Writer, terminal bool) *progress {
	return &progress{w: w, terminal: terminal, now: time.Now}
}

func (p *progress) begin(j job) {
	p.job, p.began, p.last, p.phase, p.told = j, p.now(), worker.Beat{}, "", false
}

// beat is called about every 100 ms.
func (p *progress) beat(b worker.Beat) {
	p.last = b
	now := p.now()
	if b.Phase != p.phase {
		p.phase, p.entered = b.Phase, now
	}
	if b.Idle >= silentFor && !p.told {
		p.told = true
		p.erase()
		fmt.Fprintf(p.w, "The disk has not answered for %v; Ctrl-C gives up.\n", silentFor)
	}
	if p.terminal && p.job.name != "" && now.Sub(p.began) >= quietFor {
		fmt.Fprintf(p.w, "\r\x1b[K%s", p.line(b, now))
		p.drawn = true
	}
}

func (p *progress) line(b worker.Beat, now time.Time) string {
	parts := []string{p.job.name}
	if p.job.bytes {
		if b.Total > 0 {
			parts = append(parts, bar(float64(b.Done)/float64(b.Total)), humanize.IBytes(uint64(b.Done))+" of "+humanize.IBytes(uint64(b.Total)))
		}
		return strings.Join(parts, "  ")
	}
	if b.Phase == "run" && p.job.duration > 0 {
		done := now.Sub(p.entered)
		parts = append(parts, bar(done.Seconds()/p.job.duration.Seconds()), fmt.Sprintf("%.0f of %v", done.Seconds(), p.job.duration))
	} else {
		parts = append(parts, b.Phase)
	}
	return strings.Join(append(parts, humanize.Comma(b.Done)+" I/Os"), "  ")
}

// bar is share, 0 to 1, as a bar.
func bar(share float64) string {
	const width = 24
	n := int(min(max(share, 0), 1) * width)
	return "[" + strings.Repeat("#", n) + strings.Repeat(" ", width-n) + "]"
}

// end erases the line.
func (p *progress) end() { p.erase() }

func (p *progress) erase() {
	if p.drawn {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.drawn = false
	}
}
