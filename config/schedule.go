package config

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
	"go.yaml.in/yaml/v3"

	"ssd_exporter/monitor"
)

// Schedule is when something is due, in UTC: five cron fields, "@hourly" and its kin, or "@every 15m", which counts from the
// epoch. It always has a next time.
type Schedule struct {
	spec string
	cron cron.Schedule
	gap  time.Duration
}

const acceptedSchedule = "five cron fields (UTC) such as \"*/15 * * * *\", @hourly, @daily, @weekly, @monthly, or @every 15m"

// field is one element of a comma-separated cron field. cron itself would take "*-5" and ignore the 5, and loop for long over ",".
var cronElement = regexp.MustCompile(`^(\*|\?|(\d{1,2}|[A-Za-z]{3})(-(\d{1,2}|[A-Za-z]{3}))?)(/\d{1,4})?$`)

// ParseSchedule reads a schedule.
func ParseSchedule(spec string) (Schedule, error) {
	s := Schedule{spec: strings.Join(strings.Fields(spec), " ")}
	err := s.parse()
	if err != nil {
		return Schedule{}, fmt.Errorf("%q is not a schedule: %w; accepted: %s", spec, err, acceptedSchedule)
	}
	return s, nil
}

func (s *Schedule) parse() error {
	if strings.HasPrefix(s.spec, "TZ=") || strings.HasPrefix(s.spec, "CRON_TZ=") {
		return errors.New("time zones have hours that come twice or never, so all schedules are in UTC")
	}
	if every, ok := strings.CutPrefix(s.spec, "@every "); ok {
		return s.parseEvery(every)
	}
	if !strings.HasPrefix(s.spec, "@") {
		for f := range strings.FieldsSeq(s.spec) {
			for e := range strings.SplitSeq(f, ",") {
				if !cronElement.MatchString(e) {
					return fmt.Errorf("field %q cannot be read", f)
				}
			}
		}
	}
	c, err := cron.ParseStandard(s.spec)
	if err != nil {
		return err
	}
	if spec, ok := c.(*cron.SpecSchedule); ok {
		spec.Location = time.UTC
	}
	s.cron, s.gap = c, longestGap(c)
	if s.gap == 0 {
		return errors.New("no such day ever comes")
	}
	return nil
}

func (s *Schedule) parseEvery(every string) error {
	d, err := parseDuration(every)
	if err != nil {
		return fmt.Errorf("%q is not a duration", every)
	}
	s.gap = time.Duration(d)
	if s.gap < time.Second || s.gap%time.Second != 0 {
		return errors.New("the period must be whole seconds, at least 1s")
	}
	s.spec = "@every " + d.String()
	s.cron = monitor.Every(s.gap)
	return nil
}

// Cron tells the times.
func (s Schedule) Cron() cron.Schedule { return s.cron }

// Gap is the longest time between two that follow each other, over a year.
func (s Schedule) Gap() time.Duration { return s.gap }

func (s Schedule) String() string { return s.spec }

// Equal says whether two schedules are written alike.
func (s Schedule) Equal(o Schedule) bool { return s.spec == o.spec }

// UnmarshalYAML reads a schedule.
func (s *Schedule) UnmarshalYAML(n *yaml.Node) error {
	v, err := ParseSchedule(n.Value)
	if err != nil {
		return err
	}
	*s = v
	return nil
}

// MarshalYAML writes what UnmarshalYAML reads.
func (s Schedule) MarshalYAML() (any, error) { return s.spec, nil }

// longestGap looks at one leap year day by day: in UTC a schedule has the same times on each of its days, so the times of one day
// and the days of a year say all. 0 when there is no time at all.
func longestGap(c cron.Schedule) time.Duration {
	const day = 24 * time.Hour
	begin := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	first := c.Next(begin.Add(-time.Second))
	if first.IsZero() {
		return 0
	}
	today := first.Truncate(day)
	var gap time.Duration
	last := first
	for t := c.Next(last); !t.IsZero() && t.Before(today.Add(day)); t = c.Next(last) {
		gap = max(gap, t.Sub(last))
		last = t
	}
	lastOfDay := last.Sub(today)
	for today.Sub(first) < 366*day {
		next := c.Next(today.Add(day - time.Second))
		if next.IsZero() {
			break
		}
		gap = max(gap, next.Sub(today.Add(lastOfDay)))
		today = next.Truncate(day)
	}
	return gap
}
