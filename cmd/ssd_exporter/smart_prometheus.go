package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"

	"ssd_exporter/blockdev"
	"ssd_exporter/collector"
	"ssd_exporter/monitor"
	"ssd_exporter/smart"
)

// prometheusPrinter writes the text format, for the node_exporter's textfile collector and for tests of rules.
type prometheusPrinter struct {
	w        io.Writer
	complain func(error)
	disks    map[blockdev.ID]monitor.DiskState
}

func (p *prometheusPrinter) print(r report) error {
	if r.err != nil {
		p.complain(errors.New(r.problem()))
	}
	d := diskState(r)
	if d.ID == "" {
		if r.err == nil {
			p.complain(fmt.Errorf("%s: the report names neither model nor serial, so it has no metrics", r.source))
		}
		return nil
	}
	if old, twice := p.disks[d.ID]; twice {
		p.complain(fmt.Errorf("%s: disk %s is there more than once; its latest report counts", r.source, d.ID))
		if old.Smart.LastRead.After(d.Smart.LastRead) {
			return nil
		}
	}
	if p.disks == nil {
		p.disks = map[blockdev.ID]monitor.DiskState{}
	}
	p.disks[d.ID] = d
	return nil
}

func (p *prometheusPrinter) close() error {
	now := time.Now()
	s := &monitor.Snapshot{At: now, Started: now}
	for _, id := range slices.Sorted(maps.Keys(p.disks)) {
		s.Disks = append(s.Disks, p.disks[id])
	}
	reg := prometheus.NewRegistry()
	if err := reg.Register(collector.New(func() *monitor.Snapshot { return s }, collector.Options{})); err != nil {
		return fmt.Errorf("collecting: %w", err)
	}
	families, err := reg.Gather()
	enc := expfmt.NewEncoder(p.w, expfmt.NewFormat(expfmt.TypeTextPlain))
	for _, f := range families {
		if eerr := enc.Encode(f); eerr != nil {
			return errors.Join(err, eerr)
		}
	}
	return err
}

// diskState is a disk that is known from one report only.
func diskState(r report) monitor.DiskState {
	d := monitor.DiskState{Smart: monitor.SmartState{Polled: true, Success: r.err == nil, Duration: r.took}}
	if r.reading != nil {
		d.Identity = r.reading.Identity
	}
	if r.err != nil {
		d.Smart.Failures = map[smart.Reason]uint64{reasonOf(r.err): 1}
	}
	if h := r.health; h != nil {
		d.Identity, d.Health = h.Identity, h
		d.Smart.LastRead, d.Smart.Source = h.At, h.Source
		if bytes, years, _, ok := smart.RatedBytes(h.Identity.Model); ok {
			d.Rated = &monitor.Rating{Model: h.Identity.Model, Bytes: uint64(bytes), Term: time.Duration(years) * 365 * 24 * time.Hour}
		}
	}
	d.ID = d.Identity.ID()
	return d
}

func reasonOf(err error) smart.Reason {
	if e, ok := errors.AsType[*smart.ReadError](err); ok {
		return e.Reason
	}
	return smart.Other
}
