package smart

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// number is a figure as some tool printed it: an integer of any size, a float, a string, or an object with a "value"
// (nvme-cli prints critical_warning in all four ways). The text is kept, so that integers above 2^53 stay exact. "" is
// absent. A figure that cannot be understood is absent too: one odd field must not cost the rest of a report.
type number string

// UnmarshalJSON implements json.Unmarshaler. It never fails.
func (n *number) UnmarshalJSON(b []byte) error {
	*n = ""
	switch {
	case len(b) == 0:
	case b[0] == '"':
		var s string
		if json.Unmarshal(b, &s) == nil {
			s = strings.TrimSpace(s)
			if _, err := strconv.ParseFloat(s, 64); err == nil {
				*n = number(s)
			}
		}
	case b[0] == '{':
		var o struct {
			Value number `json:"value"`
		}
		if json.Unmarshal(b, &o) == nil {
			*n = o.Value
		}
	case b[0] == '-' || b[0] >= '0' && b[0] <= '9':
		*n = number(b)
	}
	return nil
}

// MarshalJSON implements json.Marshaler. Use it with omitempty: "" has no JSON.
func (n number) MarshalJSON() ([]byte, error) {
	if n == "" {
		return []byte("null"), nil
	}
	return []byte(n), nil
}

// uint is a count: nil when absent or negative; what does not fit is the largest value, and a fraction is cut off.
func (n number) uint() *uint64 {
	if n == "" {
		return nil
	}
	if u, err := strconv.ParseUint(string(n), 10, 64); err == nil {
		return &u
	}
	f := n.float()
	if f == nil || *f < 0 {
		return nil
	}
	u := uint64(math.MaxUint64)
	if *f < math.MaxUint64 {
		u = uint64(*f)
	}
	return &u
}

// bits are the 64 bits of an integer that may be negative; 0 when absent.
func (n number) bits() uint64 {
	if i, err := strconv.ParseInt(string(n), 10, 64); err == nil {
		return uint64(i)
	}
	if u := n.uint(); u != nil {
		return *u
	}
	return 0
}

// int is a small integer, rounded; nil when absent or beyond 32 bits.
func (n number) int() *int {
	f := n.float()
	if f == nil || math.Abs(*f) > math.MaxInt32 {
		return nil
	}
	i := int(math.Round(*f))
	return &i
}

// float is nil when absent.
func (n number) float() *float64 {
	if n == "" {
		return nil
	}
	f, err := strconv.ParseFloat(string(n), 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return nil
	}
	return &f
}

// numberOf makes a number of an optional integer.
func numberOf[T int | uint64](v *T) number {
	if v == nil {
		return ""
	}
	return intNumber(*v)
}

func intNumber[T int | uint64 | int64](v T) number {
	if v >= 0 {
		return number(strconv.FormatUint(uint64(v), 10))
	}
	return number(strconv.FormatInt(int64(v), 10))
}

func floatNumber(v float64) number {
	return number(strconv.FormatFloat(v, 'g', -1, 64))
}
