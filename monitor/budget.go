package monitor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ssd_exporter/blockdev"
	"ssd_exporter/engine/ledger"
)

// The computed allowance of written bytes per disk and day: the smallest of these.
const (
	allowanceMost       = 2_000_000_000 // bytes
	allowanceOfCapacity = 200           // 0.5 %
	allowanceOfRating   = 50            // 2 % of the rated endurance …
	ratingDays          = 1826          // … over five years
)

// ledgerWait bounds calls of the ledger, whose files may lie on a disk that hangs. The ledger itself waits two seconds for locks.
const ledgerWait = 5 * time.Second

// allowance is how many bytes a disk may be written to in a day. eMMC and worn disks are never written to, whatever perDay says,
// which replaces the computed figure otherwise.
func allowance(d leafDisk, rated *Rating, g Guards, perDay *int64) int64 {
	switch {
	case d.mmc, d.known != nil && d.known.Wear.Used != nil && *d.known.Wear.Used >= g.WornWrites:
		return 0
	case perDay != nil:
		return max(0, *perDay)
	}
	a := int64(allowanceMost)
	if d.info != nil && d.info.Capacity > 0 {
		a = min(a, d.info.Capacity/allowanceOfCapacity)
	}
	if rated != nil && rated.Bytes > 0 {
		a = min(a, int64(rated.Bytes/allowanceOfRating/ratingDays))
	}
	return a
}

// ratingOf is the published endurance of a leaf.
func (m *Monitor) ratingOf(l leafDisk) *Rating {
	m.mu.Lock()
	defer m.mu.Unlock()
	if d := m.disks[l.kernel]; d != nil {
		return rating(m.options.Ratings, d.identity.Model)
	}
	return nil
}

// refreshAccounts asks for the accounts to be read again soon.
func (m *Monitor) refreshAccounts() { wake(m.accountsDue) }

// accountLoop reads the accounts of all disks when asked, apart from everything else: the ledger's files may lie on a disk that
// hangs. Also what commands run by hand wrote shows that way.
func (m *Monitor) accountLoop(ctx context.Context) {
	for {
		select {
		case <-m.accountsDue:
		case <-ctx.Done():
			return
		}
		if m.accounts == nil {
			continue
		}
		done := make(chan error, 1)
		go func() { done <- m.readAccounts() }()
		select {
		case err := <-done:
			m.change(func() { m.note("ledger", problem("the write ledger cannot be read", err)) })
		case <-ctx.Done():
			return
		}
	}
}

func (m *Monitor) readAccounts() error {
	type question struct {
		d      *disk
		id     blockdev.ID
		perDay int64
	}
	var ask []question
	m.mu.Lock()
	for _, d := range m.sortedDisks() {
		if d.kernel != nil {
			l := m.leaf(d.kernel.Kernel)
			ask = append(ask, question{d, d.id, allowance(l, rating(m.options.Ratings, d.identity.Model), m.options.Guards, m.options.PerDay)})
		}
	}
	m.mu.Unlock()
	var errs []error
	for _, q := range ask {
		a, err := m.accounts.account(q.id, q.perDay, time.Now())
		if err != nil {
			errs = append(errs, err)
			continue
		}
		m.mu.Lock()
		if q.d.id == q.id {
			q.d.account = &a
		}
		m.mu.Unlock()
	}
	return errors.Join(errs...)
}

// accounts is the ledger as monitor uses it; *ledger.Ledger through ledgerAccounts, a fake in tests.
type accounts interface {
	reserve(disks []ledger.Charge, bytes int64, now time.Time) (reservation, error)
	reserveFill(disks []blockdev.ID, target string, bytes int64, now time.Time) (reservation, error)
	account(disk blockdev.ID, perDay int64, now time.Time) (ledger.Account, error)
}

// reservation is bytes set aside; *ledger.Reservation is one.
type reservation interface {
	Settle(written int64, now time.Time) error
}

type ledgerAccounts struct{ *ledger.Ledger }

func (l ledgerAccounts) reserve(disks []ledger.Charge, bytes int64, now time.Time) (reservation, error) {
	r, err := l.Reserve(disks, ledger.Probe, bytes, now)
	if err != nil {
		return nil, err // a nil *Reservation in the interface would not be nil
	}
	return r, nil
}

func (l ledgerAccounts) reserveFill(disks []blockdev.ID, target string, bytes int64, now time.Time) (reservation, error) {
	r, err := l.ReserveFill(disks, target, bytes, now)
	if err != nil {
		return nil, err
	}
	return r, nil
}

func (l ledgerAccounts) account(disk blockdev.ID, perDay int64, now time.Time) (ledger.Account, error) {
	return l.Account(disk, perDay, now)
}

// errNoLedger forbids writing: what cannot be charged is not written.
var errNoLedger = errors.New("there is no write ledger")

// reserveInTime reserves with a deadline. A reservation that comes too late is given back.
func reserveInTime(ctx context.Context, reserve func() (reservation, error)) (reservation, error) {
	type result struct {
		r   reservation
		err error
	}
	done := make(chan result, 1)
	go func() {
		r, err := reserve()
		done <- result{r, err}
	}()
	late := func(why error) (reservation, error) {
		go func() {
			if x := <-done; x.r != nil {
				_ = x.r.Settle(0, time.Now()) // too late to tell anyone; the charge stays when it fails
			}
		}()
		return nil, why
	}
	t := time.NewTimer(ledgerWait)
	defer t.Stop()
	select {
	case x := <-done:
		return x.r, x.err
	case <-t.C:
		return late(fmt.Errorf("the write ledger did not answer within %v: is the disk under --state.path in order?", ledgerWait))
	case <-ctx.Done():
		return late(ctx.Err())
	}
}

// settle gives back what was not written. A child that hangs may still write: it keeps the whole reservation until it is gone, and
// then most is booked. When settling fails the disk stays charged, which errs on the safe side.
func (m *Monitor) settle(a answer, r reservation, written, most int64, about ...any) {
	if a.stuck {
		go func() {
			<-a.gone
			m.settle(answer{}, r, most, most, about...)
		}()
		return
	}
	done := make(chan error, 1)
	go func() { done <- r.Settle(written, time.Now()) }()
	t := time.NewTimer(ledgerWait)
	defer t.Stop()
	var err error
	select {
	case err = <-done:
	case <-t.C:
		err = fmt.Errorf("the write ledger did not answer within %v", ledgerWait)
	}
	m.change(func() {
		if err != nil {
			m.log.Debug("writes stay charged in full", append(about, "err", err)...)
		}
		m.note("charge", problem("what probes wrote stays charged in full", err))
	})
	m.refreshAccounts()
}
