package config

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/prometheus/common/model"
	"go.yaml.in/yaml/v3"
)

// Bytes is a size above 0, written as "1GiB" (powers of 1,024) or "512MB" (powers of 1,000).
type Bytes int64

const acceptedBytes = "a number and a unit, such as 512MiB, 1GiB or 2GB"

// size leaves out what go-humanize would guess at: bare numbers, "1G" (10^9 or 2^30?), commas, white space before digits.
var size = regexp.MustCompile(`^[0-9]{1,19}(\.[0-9]{1,9})? ?(B|[kKMGTPE]B|[KMGTPE]iB?)$`)

func parseBytes(s string) (Bytes, error) {
	if !size.MatchString(s) {
		return 0, fmt.Errorf("%q is not a size; accepted: %s", s, acceptedBytes)
	}
	n, err := humanize.ParseBytes(s)
	if err != nil || n > math.MaxInt64 {
		return 0, fmt.Errorf("%q is too large; accepted: less than 8EiB", s)
	}
	return Bytes(n), nil
}

// UnmarshalYAML reads a size.
func (b *Bytes) UnmarshalYAML(n *yaml.Node) error {
	v, err := parseBytes(n.Value)
	if err != nil {
		return err
	}
	if v == 0 {
		return fmt.Errorf("%q is no size at all; accepted: more than 0, such as 1GiB", n.Value)
	}
	*b = v
	return nil
}

// String is the shortest exact spelling.
func (b Bytes) String() string {
	best := strconv.FormatInt(int64(b), 10) + "B"
	if b <= 0 {
		return best
	}
	least := int64(b)
	for _, base := range []int64{1024, 1000} {
		v := int64(b)
		for i := range "KMGTPE" {
			if v%base != 0 {
				break
			}
			v /= base
			if v < least {
				least = v
				best = strconv.FormatInt(v, 10) + unitName(base, i)
			}
		}
	}
	return best
}

func unitName(base int64, i int) string {
	if base == 1024 {
		return "KMGTPE"[i:i+1] + "iB"
	}
	return "kMGTPE"[i:i+1] + "B"
}

// MarshalYAML writes what UnmarshalYAML reads.
func (b Bytes) MarshalYAML() (any, error) { return b.String(), nil }

// Rate is bytes per second, or Unlimited.
type Rate int64

// Unlimited is the Rate "unlimited".
const Unlimited Rate = -1

// UnmarshalYAML reads a size or "unlimited".
func (r *Rate) UnmarshalYAML(n *yaml.Node) error {
	if n.Value == "unlimited" {
		*r = Unlimited
		return nil
	}
	b, err := parseBytes(n.Value)
	switch {
	case err != nil:
		return fmt.Errorf("%q is not a rate; accepted: bytes per second, such as 100MB, or unlimited", n.Value)
	case b < 1e6:
		return fmt.Errorf("%q a second is too slow; accepted: 1MB or more, or unlimited", n.Value)
	}
	*r = Rate(b)
	return nil
}

// MarshalYAML writes what UnmarshalYAML reads.
func (r Rate) MarshalYAML() (any, error) {
	if r == Unlimited {
		return "unlimited", nil
	}
	return Bytes(r).String(), nil
}

// Allowance is written bytes per day and disk.
type Allowance struct {
	Fixed *Bytes // nil is "auto": computed from the disk's capacity and endurance. 0 forbids writing.
}

// UnmarshalYAML reads a size, "0" or "auto".
func (a *Allowance) UnmarshalYAML(n *yaml.Node) error {
	if n.Value == "auto" {
		a.Fixed = nil
		return nil
	}
	if n.Value == "0" {
		a.Fixed = new(Bytes)
		return nil
	}
	b, err := parseBytes(n.Value)
	if err != nil {
		return fmt.Errorf("%q is not an allowance; accepted: auto, 0 (write nothing), or a size such as 2GB", n.Value)
	}
	a.Fixed = &b
	return nil
}

// MarshalYAML writes what UnmarshalYAML reads.
func (a Allowance) MarshalYAML() (any, error) {
	if a.Fixed == nil {
		return "auto", nil
	}
	return a.Fixed.String(), nil
}

// Duration is a time above 0, written as in Prometheus: "15m", "7d", "1h30m". A bare number has no meaning.
type Duration time.Duration

const acceptedDuration = "numbers and units from large to small, such as 15m, 1h30m or 7d"

func parseDuration(s string) (Duration, error) {
	d, err := model.ParseDuration(s)
	if err != nil || s == "0" {
		return 0, fmt.Errorf("%q is not a duration; accepted: %s", s, acceptedDuration)
	}
	if d <= 0 {
		return 0, fmt.Errorf("%q is no time at all; accepted: more than 0, such as 15m", s)
	}
	return Duration(d), nil
}

// UnmarshalYAML reads a duration.
func (d *Duration) UnmarshalYAML(n *yaml.Node) error {
	v, err := parseDuration(n.Value)
	if err != nil {
		return err
	}
	*d = v
	return nil
}

// String is as it is written in the file.
func (d Duration) String() string { return model.Duration(d).String() }

// MarshalYAML writes what UnmarshalYAML reads.
func (d Duration) MarshalYAML() (any, error) { return d.String(), nil }

// Ratio is a share above 0 and up to 1.
type Ratio float64

// UnmarshalYAML reads a number.
func (r *Ratio) UnmarshalYAML(n *yaml.Node) error {
	v, err := strconv.ParseFloat(n.Value, 64)
	if err != nil || !(v > 0 && v <= 1) { // not De Morgan's form: NaN must be refused
		return fmt.Errorf("%q is not a ratio; accepted: above 0 and up to 1, such as 0.3 for 30 percent", n.Value)
	}
	*r = Ratio(v)
	return nil
}

// Profile names a set of workloads.
type Profile string

// Profiles.
const (
	Light    Profile = "light"     // reads every 15 minutes, small writes every hour
	ReadOnly Profile = "read_only" // the reads alone
)

// UnmarshalYAML reads a name.
func (p *Profile) UnmarshalYAML(n *yaml.Node) error {
	return word(p, n, "profile", Light, ReadOnly)
}

// Engine names an I/O engine.
type Engine string

// Engines.
const (
	Auto  Engine = "auto" // the best that works on the target
	URing Engine = "uring"
	AIO   Engine = "aio"
	Sync  Engine = "sync" // pread and pwrite on threads
)

// UnmarshalYAML reads a name.
func (e *Engine) UnmarshalYAML(n *yaml.Node) error {
	return word(e, n, "engine", Auto, URing, AIO, Sync)
}

func word[T ~string](to *T, n *yaml.Node, what string, accepted ...T) error {
	if v := T(n.Value); slices.Contains(accepted, v) {
		*to = v
		return nil
	}
	words := make([]string, len(accepted))
	for i, a := range accepted {
		words[i] = string(a)
	}
	return fmt.Errorf("%q is not a known %s; accepted: %s", n.Value, what, strings.Join(words, ", "))
}
