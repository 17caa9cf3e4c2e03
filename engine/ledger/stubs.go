package ledger

import (
	"time"

	"ssd_exporter/blockdev"
)

type Ledger struct{}

// Open makes dir if needed.
func Open(dir string) (*Ledger, error) { return nil, nil }

// Reserve charges bytes to every disk, all or none, for Probe and Sweep.
func (*Ledger) Reserve(disks []Charge, p Purpose, bytes int64, now time.Time) (*Reservation, error) {
	return nil, nil
}

// ReserveFill charges the fill of one target: at most size once per 30 days and target key.
func (*Ledger) ReserveFill(disks []blockdev.ID, target string, bytes int64, now time.Time) (*Reservation, error) {
	return nil, nil
}

// Settle returns what was not written. written may not exceed the reservation.
func (*Reservation) Settle(written int64, now time.Time) error { return nil }
func (*Ledger) Account(disk blockdev.ID, perDay int64, now time.Time) (Account, error) {
	return Account{}, nil
}
