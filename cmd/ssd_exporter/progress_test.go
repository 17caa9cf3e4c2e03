package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"ssd_exporter/engine/worker"
)

func TestProgressIsShownOnATerminalAfterTwoSeconds(t *testing.T) {
	for _, c := range []struct {
		name     string
		terminal bool
		job      job
		beat     worker.Beat
		after    time.Duration
		want     string
	}{
		{"a fill", true, job{name: "fill", bytes: true}, worker.Beat{Phase: "fill", Done: 1 << 29, Total: 1 << 30}, 3 * time.Second, "fill  [############            ]  512 MiB of 1.0 GiB"},
		{"a run", true, job{name: "read_4k_q1", duration: 12 * time.Second}, worker.Beat{Phase: "run", Done: 12345}, 3 * time.Second, "read_4k_q1  [######                  ]  3 of 12s  12,345 I/Os"},
		{"a warm-up", true, job{name: "read_4k_q1", duration: 12 * time.Second}, worker.Beat{Phase: "warm-up", Done: 5}, 3 * time.Second, "read_4k_q1  warm-up  5 I/Os"},
		{"not before", true, job{name: "fill", bytes: true}, worker.Beat{Phase: "fill", Total: 9}, time.Second, ""},
		{"not for what has no name", true, job{}, worker.Beat{Phase: "open"}, time.Minute, ""},
		{"not in a log", false, job{name: "fill", bytes: true}, worker.Beat{Phase: "fill", Total: 9}, time.Minute, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b bytes.Buffer
			now := time.Unix(0, 0)
			p := newProgress(&b, c.terminal)
			p.now = func() time.Time { return now }
			p.begin(c.job)
			p.beat(worker.Beat{Phase: c.beat.Phase})
			now = now.Add(c.after)
			p.beat(c.beat)
			if got := strings.TrimPrefix(b.String(), "\r\x1b[K"); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
			b.Reset()
			p.end()
			if erased := b.String() == "\r\x1b[K"; erased != (c.want != "") {
				t.Errorf("at the end %q", &b)
			}
		})
	}
}

func TestADiskThatDoesNotAnswerIsToldOnce(t *testing.T) {
	var b bytes.Buffer
	p := newProgress(&b, false)
	p.begin(job{name: "fill"})
	for range 3 {
		p.beat(worker.Beat{Phase: "fill", Idle: 11 * time.Second})
	}
	if want := "The disk has not answered for 10s; Ctrl-C gives up.\n"; b.String() != want {
		t.Errorf("%q, want %q once", &b, want)
	}
}
