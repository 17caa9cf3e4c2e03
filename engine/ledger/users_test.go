package ledger

import (
	"testing"

	"ssd_exporter/blockdev"
)

// What Prometheus sees as a counter must not fall when a run wrote less than it had reserved: increase() would take
// the fall for a reset and invent the disk's whole history.
func TestWrittenNeverFalls(t *testing.T) {
	l := open(t)
	before := account(t, l)
	r, err := l.Reserve(disk("d", 1000), Probe, 200, at(0))
	if err != nil {
		t.Fatal(err)
	}
	fill, err := l.ReserveFill([]blockdev.ID{"d"}, "data", 1<<20, at(0))
	if err != nil {
		t.Fatal(err)
	}
	during := account(t, l)
	if during.Written[Probe] != before.Written[Probe] || during.Written[Fill] != 0 {
		t.Errorf("unsettled reservations count as written: %v", during.Written)
	}
	if during.Reserved[Probe] != 200 || during.Reserved[Fill] != 1<<20 {
		t.Errorf("reserved: %v, want 200 and 1 MiB", during.Reserved)
	}
	if err := r.Settle(50, at(0)); err != nil {
		t.Fatal(err)
	}
	if err := fill.Settle(1<<20, at(0)); err != nil {
		t.Fatal(err)
	}
	after := account(t, l)
	if after.Written[Probe] != 50 || after.Written[Fill] != 1<<20 || after.Reserved[Probe] != 0 || after.Reserved[Fill] != 0 {
		t.Errorf("after settling: written %v, reserved %v", after.Written, after.Reserved)
	}
}

// The service was killed in the middle of a run: nobody knows what it wrote, so all of it counts, from the next start
// on. A command that runs beside a living service books nothing: the service will settle.
func TestWhatTheDeadReservedIsBookedByTheNextAloneUser(t *testing.T) {
	service := open(t)
	if _, err := service.Reserve(disk("d", 1000), Probe, 200, at(0)); err != nil {
		t.Fatal(err)
	}
	command, err := Open(service.dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := account(t, command).Written[Probe]; got != 0 {
		t.Errorf("beside a living service %d bytes were booked", got)
	}
	if err := command.Close(); err != nil {
		t.Fatal(err)
	}
	if err := service.Close(); err != nil { // as its death does
		t.Fatal(err)
	}
	next, err := Open(service.dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = next.Close() })
	a := account(t, next)
	if a.Written[Probe] != 200 || a.Reserved[Probe] != 0 {
		t.Errorf("after the death: written %v, reserved %v; want all 200 written", a.Written, a.Reserved)
	}
}

func account(t *testing.T, l *Ledger) Account {
	t.Helper()
	a, err := l.Account("d", 1000, at(0))
	if err != nil {
		t.Fatal(err)
	}
	return a
}
