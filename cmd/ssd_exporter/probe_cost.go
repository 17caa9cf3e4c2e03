package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"ssd_exporter/blockdev"
	"ssd_exporter/engine"
	"ssd_exporter/engine/ledger"
	"ssd_exporter/engine/probefile"
	"ssd_exporter/monitor"
	"ssd_exporter/smart"
)

// Deadlines of what the cost depends on.
const (
	healthDeadline = 5 * time.Second // per disk
	ledgerDeadline = 5 * time.Second // per call: the state folder's disk may hang
)

// plan decides what will be written, says it, and refuses what nobody agreed to.
func (p *probing) plan(ctx context.Context) (err error) {
	if p.workloads, err = p.flags.workloads(p.raw); err != nil || p.raw {
		return err
	}
	if err := p.planFile(); err != nil {
		return err
	}
	if err := p.limitWrites(); err != nil {
		return err
	}
	if p.fill+p.measuredWrites() == 0 {
		return nil
	}
	note, err := p.openAccount(ctx)
	if err != nil {
		return err
	}
	p.announce(note)
	return nil
}

// spec is the probe file that is wanted. A size that was asked for is not lowered.
func (p *probing) spec() *probefile.Spec {
	s := &probefile.Spec{Dir: p.flags.target, Size: int64(p.flags.fileSize)}
	if p.flags.fileSizeGiven {
		s.MinSize = s.Size
	}
	return s
}

// planFile finds out how much of the file is still to be written.
func (p *probing) planFile() error {
	if f := p.found; f != nil {
		if want := int64(p.flags.fileSize); p.flags.fileSizeGiven && f.Size < want {
			return exitf(exitUsage, "%s holds a probe file of %s, and --file-size=%s asks for more; leave that out, or delete the folder if no service uses it",
				filepath.Join(p.flags.target, probefile.Folder), humanize.IBytes(uint64(f.Size)), p.flags.fileSize.String())
		}
		if !f.Filled {
			p.fill = f.Size - f.Position
		}
		return nil
	}
	if p.fs.Memory || p.fs.Network {
		return nil // the child refuses it in better words
	}
	s := p.spec()
	size, err := probefile.PlannedSize(s.Size, s.MinSize, p.fs)
	if err != nil {
		return fmt.Errorf("%s: planning the probe file: %w", p.flags.target, err)
	}
	p.fill = size
	return nil
}

// limitWrites gives a single workload what is agreed to and not needed for the file. How fast a disk is, and so how much a
// closed loop writes in its time, is what is to be found out: it ends early when it has written that much. The writes of an
// open loop are known.
func (p *probing) limitWrites() error {
	rest := p.flags.agreed() - p.fill
	if p.flags.single() && p.workloads[0].Writes() {
		w := &p.workloads[0]
		w.Stop.MaxWriteBytes = max(rest, int64(w.Streams[0].BlockSize))
		if s := w.Streams[0]; s.Arrival != engine.Closed {
			w.Stop.MaxWriteBytes = writesAtRate(*w)
		}
	}
	if need := p.measuredWrites(); need > rest || rest < 0 {
		total := p.fill + need
		return exitf(exitUsage, "%s: this writes up to %s (%s of it the probe file), and %s is agreed to; agree to more with --yes-write=%s",
			p.flags.target, humanize.Bytes(uint64(total)), humanize.Bytes(uint64(p.fill)), humanize.Bytes(uint64(p.flags.agreed())), roundUp(total))
	}
	return nil
}

// writesAtRate bounds what an open loop writes in its time.
func writesAtRate(w engine.Workload) int64 {
	w.Stop.MaxIOs = int64(math.Ceil(w.Streams[0].Rate*w.Stop.MaxTime.Seconds())) + 1
	w.Stop.MaxWriteBytes = math.MaxInt64
	return w.MaxWritten()
}

// roundUp is a size to be typed, in GB.
func roundUp(n int64) string { return fmt.Sprintf("%dGB", (n+1e9-1)/1e9) }

func (p *probing) measuredWrites() int64 {
	n := int64(0)
	for _, w := range p.workloads {
		n += w.MaxWritten()
	}
	return n
}

// announce says on standard error what will be written.
func (p *probing) announce(note string) {
	var parts []string
	file := probeFileOf(p.flags.target)
	if p.fill > 0 {
		parts = append(parts, fmt.Sprintf("%s to fill %s", humanize.Bytes(uint64(p.fill)), file))
	}
	if n := p.measuredWrites(); n > 0 {
		parts = append(parts, fmt.Sprintf("at most %s while measuring", humanize.Bytes(uint64(n))))
	}
	after := "the file is deleted afterwards"
	switch {
	case p.found != nil:
		after = "the file was there before and stays"
	case p.flags.keepFile:
		after = "the file stays"
	}
	fmt.Fprintf(p.app.stderr, "Writes to %s: %s; %s. %s\n", diskNames(p.fs), strings.Join(parts, ", then "), after, note)
}

// diskNames are the disks below, for people.
func diskNames(fs blockdev.Filesystem) string {
	if len(fs.Leaves) == 0 {
		return "unknown disks"
	}
	return strings.Join(fs.Leaves, ", ")
}

// openAccount finds the disks that will be written to and the ledger that is charged, when the service has one. note says
// how that went.
func (p *probing) openAccount(ctx context.Context) (note string, err error) {
	o, err := p.options()
	if err != nil {
		return "", err
	}
	if o.PerDay != nil && *o.PerDay == 0 {
		return "", fmt.Errorf("%s: budget.bytes_per_day is 0 in %s, so nothing is written; to measure reads alone, give the disk's node in place of the folder",
			p.flags.target, p.app.configFile)
	}
	charges, err := monitor.Charges(&p.fs, o, func(d blockdev.Disk) *smart.Health { return p.health(ctx, d) })
	if err != nil {
		return fmt.Sprintf("Charged to no disk's account: %v.", err), nil
	}
	if i := slices.IndexFunc(charges, func(c ledger.Charge) bool { return c.PerDay == 0 }); i >= 0 {
		return "", fmt.Errorf("%s: the disk %s is never written to: it is an eMMC or SD card, or worn out; "+
			"to measure reads alone, give its node in place of the folder", p.flags.target, charges[i].Disk)
	}
	dir := filepath.Join(p.app.stateDir, "ledger")
	switch info, err := os.Stat(dir); {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Sprintf("Charged to no disk's account: no service keeps its state in %s (--state.path).", p.app.stateDir), nil
	case err != nil:
		return "", exitf(exitState, "looking for the accounts of written bytes: %w; give the service's folder with --state.path", err)
	case !info.IsDir():
		return "", exitf(exitState, "%s is not a folder; give the service's folder with --state.path", dir)
	}
	p.account = &writeAccount{charges: charges}
	if err := p.account.open(dir); err != nil {
		return "", &exitError{exitState, err}
	}
	return fmt.Sprintf("Charged to the disk's account in %s.", dir), nil
}

// options are the service's, for its rules of what may be written.
func (p *probing) options() (monitor.Options, error) {
	c, err := p.app.loadConfig(p.app.configFile)
	if err != nil {
		return monitor.Options{}, err
	}
	o, err := c.Options(p.app.stateDir)
	if err != nil {
		return o, exitf(exitUsage, "%s: %w", orDefault(p.app.configFile), err)
	}
	o.Roots = p.app.roots
	return o, nil
}

// health is what a disk says of itself; nil when it says nothing, or not to us.
func (p *probing) health(ctx context.Context, d blockdev.Disk) *smart.Health {
	ctx, cancel := context.WithTimeout(ctx, healthDeadline)
	defer cancel()
	r, err := smart.NewNative(p.app.roots).Read(ctx, d)
	return understand(d.Device, r, err).health
}

// writeAccount is the ledger and the disks to be charged. Nil charges nobody.
type writeAccount struct {
	ledger  *ledger.Ledger
	charges []ledger.Charge
}

func (w *writeAccount) open(dir string) error {
	return within(ledgerDeadline, "opening the accounts of written bytes", func() (err error) {
		w.ledger, err = ledger.Open(dir)
		return err
	})
}

// reserve charges bytes before they are written. What cannot be charged must not be written.
func (w *writeAccount) reserve(p ledger.Purpose, bytes int64) (*booking, error) {
	if w == nil || bytes == 0 {
		return nil, nil
	}
	b := &booking{}
	err := within(ledgerDeadline, "charging the disk's account of written bytes", func() (err error) {
		b.reservation, err = w.ledger.ReserveAgreed(w.charges, p, bytes, time.Now())
		return err
	})
	if err != nil {
		return nil, exitf(exitState, "nothing is written that cannot be charged: %w", err)
	}
	return b, nil
}

func (w *writeAccount) close() error {
	if w == nil {
		return nil
	}
	return within(ledgerDeadline, "closing the accounts of written bytes", w.ledger.Close)
}

// booking is a charge to be settled. Nil is none.
type booking struct{ reservation *ledger.Reservation }

// settle gives back what was not written.
func (b *booking) settle(written int64) error {
	if b == nil {
		return nil
	}
	return within(ledgerDeadline, "settling the disk's account of written bytes, which stays charged in full", func() error {
		return b.reservation.Settle(written, time.Now())
	})
}
