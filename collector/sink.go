package collector

import (
	"maps"
	"slices"
	"time"

	"ssd_exporter/engine"
)

// sink takes the samples of one row about one subject. Its methods turn "unknown" into no sample at all, so that no row has to.
type sink struct {
	add func(sample)
}

// sample is one value, or one histogram when hist is set.
type sample struct {
	value  float64
	hist   *engine.Hist
	since  time.Time // of hist
	labels []string  // values of Row.Labels
}

func (o sink) value(v float64, labels ...string) { o.add(sample{value: v, labels: labels}) }

func (o sink) ratio(v *float64, labels ...string) {
	if v != nil {
		o.value(*v, labels...)
	}
}

func (o sink) count(v *uint64, labels ...string) {
	if v != nil {
		o.value(float64(*v), labels...)
	}
}

func (o sink) positive(v int64, labels ...string) {
	if v > 0 {
		o.value(float64(v), labels...)
	}
}

func (o sink) flag(v bool, labels ...string) {
	if v {
		o.value(1, labels...)
	} else {
		o.value(0, labels...)
	}
}

func (o sink) maybe(v *bool, labels ...string) {
	if v != nil {
		o.flag(*v, labels...)
	}
}

// seconds takes a duration; 0 is unknown.
func (o sink) seconds(v time.Duration, labels ...string) {
	if v > 0 {
		o.value(v.Seconds(), labels...)
	}
}

// unix takes a moment; the zero time is unknown.
func (o sink) unix(v time.Time, labels ...string) {
	if !v.IsZero() {
		o.value(float64(v.UnixMilli())/1e3, labels...)
	}
}

func (o sink) histogram(h *engine.Hist, since time.Time, labels ...string) {
	if h != nil {
		o.add(sample{hist: h, since: since, labels: labels})
	}
}

// each yields the values of a map by its keys, sorted.
func each[K ~string, V float64 | uint64 | int64](o sink, m map[K]V) {
	for _, k := range slices.Sorted(maps.Keys(m)) {
		o.value(float64(m[k]), string(k))
	}
}

// tally yields a closed set of counters, every one of them from 0 on; what does not belong to the set counts as other, the set's
// last member.
func tally[K ~string](o sink, m map[K]uint64, set []K) {
	counts := make([]uint64, len(set))
	for k, n := range m {
		i := slices.Index(set, k)
		if i < 0 {
			i = len(set) - 1
		}
		counts[i] += n
	}
	for i, k := range set {
		o.value(float64(counts[i]), string(k))
	}
}

// texts are the values of a closed set as label values.
func texts[K ~string](set []K) []string {
	s := make([]string, len(set))
	for i, k := range set {
		s[i] = string(k)
	}
	return s
}
