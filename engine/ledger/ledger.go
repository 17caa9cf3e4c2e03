package ledger

import (
	"errors"
	"time"

	"ssd_exporter/blockdev"
)

// Purpose is what bytes were written for; the values of the label "purpose" of ssd_probe_written_bytes_total.
type Purpose string

// Purposes, a closed set.
const (
	Probe Purpose = "probe"
	Fill  Purpose = "fill"
	Sweep Purpose = "sweep"
)

// Purposes lists the closed set in a fixed order.
func Purposes() []Purpose { return []Purpose{Probe, Fill, Sweep} }

// ErrBudget says that an allowance does not cover a reservation. Nothing was charged.
var ErrBudget = errors.New("write budget is used up")

// Charge is one disk to be charged.
type Charge struct {
	Disk   blockdev.ID
	PerDay int64 // bytes this disk may be written to in 24 hours; 0 forbids all writing
}

// Account is the state of one disk's record.
type Account struct {
	PerDay    int64             // as it was asked with
	Remaining int64             // bytes available now
	Written   map[Purpose]int64 // bytes since the record began
}

// Reservation is bytes set aside on every charged disk.
type Reservation struct {
	l       *Ledger
	charges []Charge
	purpose Purpose
	bytes   int64
	key     string
	at      time.Time
}
