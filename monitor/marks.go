package monitor

import (
	"maps"

	"ssd_exporter/monitor/history"
	"ssd_exporter/smart"
)

// Names of the counters that are held at their high-water marks: keys of history.Marks and values of the label "counter" of
// ssd_smart_corrections_total.
const (
	counterHostWritten  = "host_written"
	counterHostRead     = "host_read"
	counterMediaWritten = "media_written"
)

// marks hold the byte counters of one disk, so that a rate over them never shows bytes that nobody wrote:
//
//   - a counter that slips back is held where it was until it has caught up; when it stays far behind for several polls it is
//     counted on from there;
//   - one whose source changes (another attribute, another unit) is counted on from where it was;
//   - one that is near zero again was truly reset (a new controller, a firmware update) and passes.
type marks struct {
	history.Marks
	held map[string]int // polls in a row that a counter was behind; not kept over restarts
}

const (
	nearZero = 100 // of the mark: a hundredth or less of it is a reset
	farOff   = 10  // of the mark: a tenth of it behind is more than slipping …
	patient  = 6   // … once so many polls in a row say so
)

func newMarks(m history.Marks) *marks {
	clone := func(c map[string]uint64) map[string]uint64 {
		if c == nil {
			return map[string]uint64{}
		}
		return maps.Clone(c)
	}
	n := &marks{held: map[string]int{}, Marks: history.Marks{
		High: clone(m.High), Corrections: clone(m.Corrections), Source: maps.Clone(m.Source), Offset: maps.Clone(m.Offset),
	}}
	if n.Source == nil {
		n.Source = map[string]string{}
	}
	if n.Offset == nil {
		n.Offset = map[string]int64{}
	}
	return n
}

// hold is h with its counters as they are to be published. h itself is not changed.
func (m *marks) hold(h *smart.Health) *smart.Health {
	held := *h
	for _, c := range []struct {
		name   string
		value  **uint64
		source string
	}{
		{counterHostWritten, &held.HostWritten, h.HostWrittenSource},
		{counterHostRead, &held.HostRead, h.HostWrittenSource}, // units are proven for both together
		{counterMediaWritten, &held.MediaWritten, ""},
	} {
		if *c.value != nil {
			published := m.observe(c.name, **c.value, c.source)
			*c.value = &published
		}
	}
	return &held
}

// observe takes a counter as the disk says it and returns it as it is to be published.
func (m *marks) observe(name string, raw uint64, source string) uint64 {
	high, known := m.High[name]
	if !known {
		m.High[name], m.Source[name] = raw, source
		return raw
	}
	if source != m.Source[name] {
		m.Source[name] = source
		return m.countOn(name, raw)
	}
	value := raw + uint64(m.Offset[name]) // two's complement: a negative offset subtracts
	last := high - uint64(m.Offset[name]) // what the disk itself said at the mark
	switch {
	case value >= high && value-high < 1<<62:
		m.held[name] = 0
		m.High[name] = value
	case raw <= last/nearZero:
		m.held[name] = 0
		m.High[name] = raw
		m.Offset[name] = 0
	default:
		m.held[name]++
		if m.held[name] == 1 {
			m.Corrections[name]++
		}
		if behind := high - value; behind > high/farOff && m.held[name] >= patient {
			m.held[name] = 0
			m.Offset[name] = int64(high - raw)
		}
	}
	return m.High[name]
}

// countOn continues at the mark with the increments of another source.
func (m *marks) countOn(name string, raw uint64) uint64 {
	m.Corrections[name]++
	m.held[name] = 0
	m.Offset[name] = int64(m.High[name] - raw)
	return m.High[name]
}

// saved is a copy for the store.
func (m *marks) saved() history.Marks { return newMarks(m.Marks).Marks }
