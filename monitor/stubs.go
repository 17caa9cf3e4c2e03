package monitor

import (
	"context"
	"time"

	"github.com/robfig/cron/v3"

	"ssd_exporter/engine/ledger"
	"ssd_exporter/engine/worker"
	"ssd_exporter/monitor/history"
)

// Profile is a named set of workloads with the periods of their default schedules.
func Light() []Workload    { return nil }
func ReadOnly() []Workload { return nil }

// Workload is an entry of a profile: what and how often.
type Workload = Scheduled

// Every is a schedule aligned to the epoch: due at every multiple of period. Period at least 1 s.
func Every(period time.Duration) cron.Schedule { return nil }

// Starter starts a worker child; worker.Start through a small wrapper outside of tests.
type Starter func(ctx context.Context, r worker.Request) (Child, error)

type Monitor struct{}

func New(o Options, s *history.Store, l *ledger.Ledger, start Starter) (*Monitor, error) {
	return nil, nil
}

// Run works until ctx ends, then aborts what runs, stores, and returns.
func (*Monitor) Run(ctx context.Context) error { return nil }

// Apply replaces the options without losing state.
func (*Monitor) Apply(o Options) error { return nil }

// Snapshot never blocks and is never nil.
func (*Monitor) Snapshot() *Snapshot { return nil }
