package monitor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"ssd_exporter/blockdev"
	"ssd_exporter/monitor/history"
	"ssd_exporter/smart"
)

// pollLoop reads disks apart from all probing: every disk on a goroutine of its own, one read in flight per disk.
func (m *Monitor) pollLoop(ctx context.Context) {
	for {
		every := m.poll(ctx)
		t := time.NewTimer(every)
		select {
		case <-t.C:
		case <-m.wakePolls:
			t.Stop()
		case <-ctx.Done():
			t.Stop()
			return
		}
	}
}

// poll looks for disks, reads those that are due, and reads the files. It returns when to come again.
func (m *Monitor) poll(ctx context.Context) time.Duration {
	o := m.currentOptions()
	s := o.Smart
	now := time.Now()
	found, err := blockdev.Disks(o.Roots)
	pollable := map[string]bool{}
	if err == nil && s.Enabled {
		var withSmart []blockdev.Disk
		if withSmart, err = smart.Find(o.Roots); err == nil {
			for _, d := range withSmart {
				pollable[d.Kernel] = true
			}
		}
	}
	var due []dueDisk
	m.change(func() {
		m.note("disks", problem("the disks of this host cannot be listed", err))
		if err == nil {
			m.scan(found)
		}
		if !s.Enabled {
			m.unread()
		}
		due = m.dueForPoll(s, pollable, now)
	})
	var reads sync.WaitGroup
	for _, d := range due {
		reads.Go(func() { m.read(ctx, o, d) })
	}
	if s.Enabled {
		m.pollFiles(ctx, o)
	}
	m.change(func() { m.remark("smart", m.nothingToRead(s, pollable)) })
	m.announceFirstPoll(&reads)
	m.refreshAccounts()
	return min(s.NVMeInterval, s.Interval)
}

// unread ends what was read of disks, since nobody will read them again: a reload turned that off. Monitor.mu is held.
func (m *Monitor) unread() {
	for key, d := range m.disks {
		if d.kernel == nil {
			delete(m.disks, key)
			continue
		}
		d.native, d.file, d.polled = source{}, nil, time.Time{}
		d.refresh()
	}
	m.note("files", "")
}

func problem(what string, err error) string {
	if err == nil {
		return ""
	}
	return what + ": " + err.Error()
}

func (m *Monitor) nothingToRead(s SmartOptions, pollable map[string]bool) string {
	switch {
	case !s.Enabled:
		return "S.M.A.R.T. is turned off (smart.enabled)"
	case len(pollable) > 0 || slices.ContainsFunc(m.sortedDisks(), func(d *disk) bool { return d.file != nil }):
		return ""
	default:
		return "no disk with S.M.A.R.T. found: virtual disks have none; reports of other hosts can be shown with smart.files"
	}
}

// dueDisk is a disk to be read, and where the kernel had it when that was decided: a scan may meanwhile have changed it.
type dueDisk struct {
	*disk
	at blockdev.Disk
}

// dueForPoll marks and returns the disks to be read now.
func (m *Monitor) dueForPoll(s SmartOptions, pollable map[string]bool, now time.Time) []dueDisk {
	var due []dueDisk
	for _, d := range m.sortedDisks() {
		if d.kernel == nil || d.polling {
			continue
		}
		if !pollable[d.kernel.Kernel] {
			if !d.native.Polled && d.native.health != nil { // remembered from an earlier start, and no longer read
				d.native = source{}
				m.published(d)
			}
			continue
		}
		every := s.Interval
		if strings.HasPrefix(d.kernel.Kernel, "nvme") {
			every = s.NVMeInterval
		}
		// Half the shortest step of slack: timers that fire a moment early must not make a disk wait a whole step more.
		if !d.polled.IsZero() && now.Sub(d.polled) < every-min(s.NVMeInterval, s.Interval)/2 {
			continue
		}
		if d.native.Idle = m.idle(d); d.native.Idle {
			continue
		}
		d.polled, d.polling = now, true
		due = append(due, dueDisk{d, *d.kernel})
	}
	return due
}

// announceFirstPoll tells the targets, who would rather know how worn a disk is before they fill a file on it.
func (m *Monitor) announceFirstPoll(reads *sync.WaitGroup) {
	m.background.Go(func() {
		reads.Wait() // each read is bounded by its deadlines
		m.firstPollOnce.Do(func() { close(m.firstPoll) })
	})
}

// read reads one disk when its turn comes, with a deadline. A reader that does not come back keeps the disk's gate, so that
// nothing else is sent to it, and costs nobody else anything.
func (m *Monitor) read(ctx context.Context, o Options, due dueDisk) {
	d, s := due.disk, o.Smart
	turn, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	p, err := m.gates.acquire(turn, "a S.M.A.R.T. read of "+d.key, commandGate(d.key))
	if err != nil {
		m.noTurn(d, err)
		return
	}
	began := time.Now()
	limit, stop := context.WithTimeout(ctx, s.Timeout)
	done := make(chan readResult, 1)
	go func() {
		defer stop()
		r := m.readOnce(limit, s.Reader, o.Roots, due.at)
		p.release()
		done <- r
	}()
	grace := time.NewTimer(s.Timeout + time.Second) // a reader that keeps to its context has answered by then
	defer grace.Stop()
	select {
	case r := <-done:
		m.take(d, r, time.Since(began))
	case <-grace.C:
		p.markStuck()
		m.take(d, readResult{lingers: true, err: &smart.ReadError{
			Disk: d.key, Reason: smart.Timeout, Err: fmt.Errorf("no answer within %v", s.Timeout),
		}}, time.Since(began))
		go func() {
			<-done
			m.change(func() { d.polling = false })
		}()
	case <-ctx.Done():
	}
}

// noTurn skips a poll: a disk that is being probed is no failure, one that hangs is.
func (m *Monitor) noTurn(d *disk, err error) {
	if errors.Is(err, errStuck) {
		m.take(d, readResult{err: &smart.ReadError{Disk: d.key, Reason: smart.Timeout, Err: err}}, 0)
		return
	}
	m.change(func() { d.polling, d.polled = false, time.Time{} })
}

type readResult struct {
	reading *smart.Reading
	health  *smart.Health
	err     error
	lingers bool // the reader has still not come back
}

// readOnce reads and interprets; a panic on what a disk says is a failed read.
func (m *Monitor) readOnce(ctx context.Context, reader smart.Reader, roots blockdev.Roots, k blockdev.Disk) (r readResult) {
	defer func() {
		if p := recover(); p != nil {
			r = readResult{err: &smart.ReadError{Disk: k.Device, Reason: smart.Other, Err: fmt.Errorf("panic: %v", p)}}
		}
	}()
	if reader == nil {
		reader = smart.Native{Roots: roots}
	}
	reading, err := reader.Read(ctx, k)
	if err == nil && reading == nil {
		err = errors.New("the reader said nothing")
	}
	if err != nil {
		return readResult{err: err}
	}
	return readResult{reading: reading, health: smart.Interpret(reading)}
}

func (m *Monitor) take(d *disk, r readResult, took time.Duration) {
	m.change(func() {
		before := d.native.Reason
		d.polling = r.lingers
		if !m.options.Smart.Enabled { // a reload turned it off meanwhile
			return
		}
		switch {
		case r.err != nil:
			reason := smart.Other
			if re := (*smart.ReadError)(nil); errors.As(r.err, &re) {
				reason = re.Reason
			} else if errors.Is(r.err, context.DeadlineExceeded) {
				reason = smart.Timeout
			}
			d.fail(&d.native, reason, r.err.Error(), took)
		case r.health == nil:
			d.fail(&d.native, smart.Parse, d.key+": what the disk said has no meaning", took)
		case asleep(r.reading):
			d.native.sleep(took)
		default:
			d.said = r.health.Identity
			d.native.succeed(r.health, cmpTime(r.reading.At, time.Now()), took)
		}
		d.native.Idle, d.afterRead = false, m.counters(d.kernel)
		m.published(d)
		m.logChange(readLevel(cmp.Or(d.native.Reason, before)), "reading S.M.A.R.T.", d.key, string(before), string(d.native.Reason), d.native.Problem)
	})
}

// published refreshes what is shown of disks and stores what is new.
func (m *Monitor) published(disks ...*disk) {
	m.identify() // first, since the marks of an earlier start are found by ID
	var fresh []*disk
	for _, d := range disks {
		if d.refresh() {
			fresh = append(fresh, d)
		}
	}
	m.identify()
	for _, d := range fresh {
		m.record(history.Commit{
			Samples: []history.Sample{{At: d.inForce().LastRead, Disk: d.id, Health: d.health}},
			Marks:   map[blockdev.ID]history.Marks{d.id: d.marks.saved()},
		})
	}
}

func asleep(r *smart.Reading) bool { return r.PowerState == "standby" || r.PowerState == "sleep" }

func cmpTime(t, or time.Time) time.Time {
	if t.IsZero() {
		return or
	}
	return t
}
