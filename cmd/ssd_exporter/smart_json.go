package main

import (
	"bufio"
	"encoding/json"
	"io"
	"math"

	"ssd_exporter/smart"
)

// line is one report as a program reads it: the keys and their order are a promise, unknown is null.
type line struct {
	DeviceID           *string  `json:"device_id"`
	Model              *string  `json:"model"`
	Firmware           *string  `json:"firmware"`
	Family             *string  `json:"family"`
	Wear               lineWear `json:"wear"`
	HostWritten        *uint64  `json:"host_written_bytes"`
	HostRead           *uint64  `json:"host_read_bytes"`
	MediaWritten       *uint64  `json:"media_written_bytes"`
	WriteAmplification *float64 `json:"write_amplification_ratio"`
	PowerOn            *float64 `json:"power_on_seconds"`
	Temperature        *float64 `json:"temperature_celsius"`
	Rotational         *bool    `json:"rotational"`
	Errors             []string `json:"errors"`
}

type lineWear struct {
	Used    *float64           `json:"used_ratio"`
	Source  *string            `json:"source"`
	Sources map[string]float64 `json:"sources"`
}

func lineOf(r report) line {
	l := line{Errors: []string{}, Wear: lineWear{Sources: map[string]float64{}}}
	if r.reading != nil {
		id := r.reading.Identity
		l.DeviceID, l.Model, l.Firmware = known(string(id.ID())), known(id.Model), known(id.Firmware)
	}
	if h := r.health; h != nil {
		l.health(h)
	}
	if r.err != nil {
		l.Errors = append(l.Errors, r.err.Error())
	}
	return l
}

func (l *line) health(h *smart.Health) {
	l.DeviceID, l.Model, l.Firmware = known(string(h.Identity.ID())), known(h.Identity.Model), known(h.Identity.Firmware)
	l.Family = known(h.Family)
	l.Wear.Used, l.Wear.Source = finite(h.Wear.Used), known(h.Wear.Source)
	for name, v := range h.Wear.Sources {
		if finite(&v) != nil {
			l.Wear.Sources[name] = v
		}
	}
	l.HostWritten, l.HostRead, l.MediaWritten = h.HostWritten, h.HostRead, h.MediaWritten
	l.WriteAmplification = finite(h.WriteAmplification)
	if h.PowerOn != nil {
		l.PowerOn = new(h.PowerOn.Seconds())
	}
	if t, ok := h.Temperatures["composite"]; ok {
		l.Temperature = finite(&t)
	}
	l.Rotational = h.Rotational
	l.Errors = append(l.Errors, h.Errors...)
}

// known is nil for "".
func known(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// finite is nil for what JSON cannot say.
func finite(f *float64) *float64 {
	if f == nil || math.IsNaN(*f) || math.IsInf(*f, 0) {
		return nil
	}
	return f
}

// jsonLinesPrinter writes one line per report, as they come.
type jsonLinesPrinter struct {
	buf *bufio.Writer
	enc *json.Encoder
}

func newJSONLinesPrinter(w io.Writer) *jsonLinesPrinter {
	buf := bufio.NewWriter(w)
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	return &jsonLinesPrinter{buf, enc}
}

func (p *jsonLinesPrinter) print(r report) error { return p.enc.Encode(lineOf(r)) }
func (p *jsonLinesPrinter) close() error         { return p.buf.Flush() }

// jsonPrinter writes one array, for people with jq.
type jsonPrinter struct {
	w     io.Writer
	lines []line
}

func (p *jsonPrinter) print(r report) error {
	p.lines = append(p.lines, lineOf(r))
	return nil
}

func (p *jsonPrinter) close() error {
	enc := json.NewEncoder(p.w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if p.lines == nil {
		p.lines = []line{}
	}
	return enc.Encode(p.lines)
}
