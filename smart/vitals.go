package smart

import (
	"math"
	"time"
)

// Sentinels that counters carry where there is nothing to count.
const (
	ones16 = 1<<16 - 1
	ones32 = 1<<32 - 1
	ones48 = 1<<48 - 1
)

// counted drops what is no count: all ones in 64 or 48 bits.
func counted(v *uint64) *uint64 {
	if v == nil || *v == math.MaxUint64 || *v == ones48 {
		return nil
	}
	return v
}

// dataUnits turns units of 1,000 × 512 bytes into bytes. 0 is "not reported" (NVMe base specification, log page 02h).
func dataUnits(v *uint64) *uint64 {
	const unit = 512_000
	if v == nil || *v == 0 || *v > math.MaxUint64/unit {
		return nil
	}
	b := *v * unit
	return &b
}

// wholeBytes drops 0 and what does not fit.
func wholeBytes(v *float64) *uint64 {
	if v == nil || *v <= 0 || *v >= 1<<63 {
		return nil
	}
	b := uint64(math.Round(*v))
	return &b
}

// percent turns 0..100 into a ratio.
func percent(v *int) *float64 {
	if v == nil || *v < 0 || *v > 100 {
		return nil
	}
	p := float64(*v) / 100
	return &p
}

// plausible is the range of temperatures in degrees Celsius that a working drive can have. It leaves out 0 K and 65535 K.
func plausible(c float64) bool { return c > -60 && c < 150 }

// nvmeTemperatures publishes degrees Celsius with the zero point of whoever converted them last: what smartctl printed as
// 26 stays 26, and what the drive said in Kelvin is exact.
func (h *Health) nvmeTemperatures(r *Reading) {
	l := r.NVMe
	zero := 273.15
	if l.Temperature != nil && r.TemperatureC != nil && float64(*l.Temperature)-*r.TemperatureC == kelvin {
		zero = kelvin
	}
	put := func(m *map[string]float64, key string, k *int) {
		if k == nil || *k <= 0 || !plausible(float64(*k)-zero) {
			return
		}
		if *m == nil {
			*m = make(map[string]float64, 4)
		}
		(*m)[key] = math.Round((float64(*k)-zero)*100) / 100
	}
	put(&h.Temperatures, "composite", l.Temperature)
	for i := range l.Sensors {
		if i < 8 {
			put(&h.Temperatures, sensorName(i), &l.Sensors[i])
		}
	}
	put(&h.TemperatureLimits, "warning", l.WarningTemp)
	put(&h.TemperatureLimits, "critical", l.CriticalTemp)
	throttle := func(level string, v *uint64, unit uint64) {
		if v == nil || *v > math.MaxUint32 {
			return
		}
		if h.ThrottleSeconds == nil {
			h.ThrottleSeconds = make(map[string]uint64, 4)
		}
		h.ThrottleSeconds[level] = *v * unit
	}
	throttle("1", l.ThrottleSeconds[0], 1)
	throttle("2", l.ThrottleSeconds[1], 1)
	throttle("warning", l.WarningTempMinutes, 60)
	throttle("critical", l.CriticalTempMinutes, 60)
}

// sensorName counts from 1, as the specification does.
func sensorName(i int) string { return "12345678"[i : i+1] }

// Further entries of the ATA Device Statistics log (ACS-4, 9.5).
var (
	statReallocated   = Stat{3, 0x20} // Number of Reallocated Logical Sectors
	statUncorrectable = Stat{4, 0x08} // Number of Reported Uncorrectable Errors
	statTemperature   = Stat{5, 0x08} // Current Temperature, a signed byte
)

// ataCounts takes error counters from the attributes that have the meaning in this family, and from Device Statistics,
// where it is fixed, for the rest.
func (h *Health) ataCounts(c counts, r *Reading) {
	h.Reallocated = errorCount(r, c.reallocated)
	h.ProgramFailures = errorCount(r, c.program)
	h.EraseFailures = errorCount(r, c.erase)
	h.MediaErrors = errorCount(r, c.media)
	h.PendingSectors = errorCount(r, c.pending)
	h.UnsafeShutdowns = errorCount(r, c.unsafe)
	if v, ok := r.Statistics[statReallocated]; ok && h.Reallocated == nil && v < ones32 {
		h.Reallocated = &v
	}
	if v, ok := r.Statistics[statUncorrectable]; ok && h.MediaErrors == nil && v < ones32 {
		h.MediaErrors = &v
	}
}

// errorCount reads an attribute that counts events. The count is the leading number as printed; without a printed form it
// is the low 32 bits, since vendors keep other things above.
func errorCount(r *Reading, id uint8) *uint64 {
	if id == 0 {
		return nil
	}
	a := r.attribute(id)
	if a == nil {
		return nil
	}
	n := a.Raw & ones32
	if a.RawString != "" {
		v, ok := leading(a)
		if !ok || v < 0 {
			return nil
		}
		n = uint64(v)
	}
	if n == ones16 || n >= ones32 {
		return nil
	}
	return &n
}

func (h *Health) ataSpare(id uint8, r *Reading) {
	if id == 0 {
		return
	}
	a := r.attribute(id)
	if a == nil || a.Value < 1 || a.Value > 100 { // 0 is not filled in
		return
	}
	h.SpareAvailable = percent(&a.Value)
	if a.Threshold > 0 {
		h.SpareThreshold = percent(&a.Threshold)
	}
}

// ataVitals takes temperature, hours and cycles. f is nil when the meaning of attributes is not known.
func (h *Health) ataVitals(r *Reading) {
	if c, ok := ataTemperature(r); ok {
		h.Temperatures = map[string]float64{"composite": c}
	}
	h.PowerOn = ataPowerOn(r)
	h.PowerCycles = counted(r.PowerCycles)
	if h.PowerCycles == nil {
		h.PowerCycles = errorCount(r, 12)
	}
}

// ataTemperature prefers what the reader found (SCT status), then attribute 194, 190, and Device Statistics. Of the raw
// value only the low byte is the temperature now; the rest is minimum and maximum. The normalised value is never one. 0 is
// what drives without a sensor say.
func ataTemperature(r *Reading) (float64, bool) {
	if t := r.TemperatureC; t != nil && *t != 0 && plausible(*t) {
		return *t, true
	}
	for _, id := range [...]uint8{194, 190} {
		if a := r.attribute(id); a != nil {
			if c := float64(int8(a.Raw & 0xff)); c != 0 && plausible(c) {
				return c, true
			}
		}
	}
	if v, ok := r.Statistics[statTemperature]; ok {
		if c := float64(int8(v & 0xff)); c != 0 && plausible(c) {
			return c, true
		}
	}
	return 0, false
}

// ataPowerOn prefers what the reader found, then Device Statistics, then attribute 9, whose low 32 bits are hours wherever
// minutes or milliseconds stand above. Attribute 9 of hard disks may count other units, but smartctl converts these.
func ataPowerOn(r *Reading) *time.Duration {
	if r.PowerOnHours != nil {
		if d := powerOn(*r.PowerOnHours); d != nil {
			return d
		}
	}
	if v, ok := r.Statistics[StatPowerOnHours]; ok {
		if d := powerOn(float64(v)); d != nil {
			return d
		}
	}
	if a := r.attribute(9); a != nil && r.PowerOnHours == nil {
		return powerOn(float64(a.Raw & ones32))
	}
	return nil
}
