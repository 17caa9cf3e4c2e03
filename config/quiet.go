package config

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"ssd_exporter/monitor"
)

// QuietPeriod is a time of every day or of some days of every week, in UTC: "22:00-06:00", "Sat 00:00-24:00", "Mon-Fri 08:00-18:00".
// Days are those on which it begins; an end that is not after the beginning is on the next day.
type QuietPeriod string

const acceptedQuiet = "from and to in UTC, after a day or days if not every day, such as 22:00-06:00, Sat 00:00-24:00 or Mon-Fri 08:00-18:00"

var quietPeriod = regexp.MustCompile(`^(?:([A-Za-z]{3})(?:-([A-Za-z]{3}))? )?([0-9]{2}):([0-9]{2})-([0-9]{2}):([0-9]{2})$`)

// weekdays in the order of monitor.QuietPeriod, which counts from Monday.
func weekdays() []string { return []string{"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"} }

// ParseQuietPeriod reads a period; the result is its one spelling.
func ParseQuietPeriod(s string) (QuietPeriod, error) {
	text := strings.Join(strings.Fields(s), " ")
	first, last, begin, end, ok := splitQuiet(text)
	if !ok {
		return "", fmt.Errorf("%q is not a period; accepted: %s", s, acceptedQuiet)
	}
	if begin == end {
		return "", fmt.Errorf("%q is no time at all; accepted: an end other than the beginning; a whole day is 00:00-24:00", s)
	}
	days := ""
	if names := weekdays(); first >= 0 {
		days = names[first] + " "
		if last != first {
			days = names[first] + "-" + names[last] + " "
		}
	}
	return QuietPeriod(days + clock(begin) + "-" + clock(end)), nil
}

// splitQuiet takes a period apart: first and last day, -1 when every day is meant, and minutes since midnight.
func splitQuiet(s string) (first, last, begin, end int, ok bool) {
	m := quietPeriod.FindStringSubmatch(s)
	if m == nil {
		return 0, 0, 0, 0, false
	}
	first, last = -1, -1
	if m[1] != "" {
		first = weekday(m[1])
		last = first
		if m[2] != "" {
			last = weekday(m[2])
		}
		if first < 0 || last < 0 {
			return 0, 0, 0, 0, false
		}
	}
	begin, ok = minutes(m[3], m[4], false)
	if !ok {
		return 0, 0, 0, 0, false
	}
	end, ok = minutes(m[5], m[6], true)
	return first, last, begin, end, ok
}

func weekday(s string) int {
	for i, name := range weekdays() {
		if strings.EqualFold(s, name) {
			return i
		}
	}
	return -1
}

// minutes since midnight; 24:00 is one end of a day.
func minutes(hour, minute string, isEnd bool) (int, bool) {
	h, _ := strconv.Atoi(hour) // two digits each
	m, _ := strconv.Atoi(minute)
	return 60*h + m, m < 60 && (h < 24 || isEnd && h == 24 && m == 0)
}

func clock(minutes int) string { return fmt.Sprintf("%02d:%02d", minutes/60, minutes%60) }

// periods are the same in monitor's terms, one for each day.
func (q QuietPeriod) periods() monitor.Quiet {
	first, last, begin, end, ok := splitQuiet(string(q))
	if !ok {
		return nil // not from ParseQuietPeriod
	}
	if end <= begin {
		end += 24 * 60
	}
	if first < 0 {
		first, last = 0, 6
	}
	if last < first {
		last += 7 // "Sat-Mon"
	}
	var all monitor.Quiet
	for day := first; day <= last; day++ {
		midnight := time.Duration(day%7) * 24 * time.Hour
		all = append(all, monitor.QuietPeriod{
			Begin: midnight + time.Duration(begin)*time.Minute, End: midnight + time.Duration(end)*time.Minute,
		})
	}
	return all
}

func quiet(periods []QuietPeriod) monitor.Quiet {
	var all monitor.Quiet
	for _, p := range periods {
		all = append(all, p.periods()...)
	}
	return all
}

// UnmarshalYAML reads a period.
func (q *QuietPeriod) UnmarshalYAML(n *yaml.Node) error {
	v, err := ParseQuietPeriod(n.Value)
	if err != nil {
		return err
	}
	*q = v
	return nil
}
