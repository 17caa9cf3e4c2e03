package config

import (
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// minFileSize is probefile.MinSize, which config does not import.
const minFileSize Bytes = 256 << 20

// leastFree is what must be left of a week, in a row, beside quiet hours: a pass waits, looks and measures for some minutes.
const leastFree = time.Hour

var targetName = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)

// validate says what is wrong with values that are well-formed each for itself.
func (c *checker) validate(cfg *Config, t tree) {
	c.targets(cfg.Targets, t)
	if free := quiet(cfg.QuietHours).Free(); free < leastFree {
		c.errorf(t.line("quiet_hours"), "quiet_hours: they leave probes %d minutes in a row at most; accepted: an hour or more at least once a week, or targets: [] to probe nothing", free/time.Minute)
	}
	c.guards(&cfg.Guards, t)
	c.smart(&cfg.Smart, t)
	c.ratings(cfg.Endurance.Ratings, t)
}

func (c *checker) targets(ts []Target, t tree) {
	names, paths := map[string]int{}, map[string]int{}
	for i := range ts {
		c.target(i, &ts[i], t)
		line := t.line("targets", i, "name")
		if first, twice := names[ts[i].Name]; twice && ts[i].Name != "" {
			c.errorf(line, "targets[%d].name: %q is taken by the target on line %d; every target needs a name of its own", i, ts[i].Name, first)
		} else {
			names[ts[i].Name] = line
		}
		place, words := "", "the state folder (no path is given)"
		if ts[i].Path != "" {
			place = filepath.Clean(ts[i].Path)
			words = fmt.Sprintf("%q", ts[i].Path)
		}
		line = t.line("targets", i, "path")
		if first, twice := paths[place]; twice {
			c.errorf(line, "targets[%d].path: %s is already probed by the target on line %d; remove one of the two", i, words, first)
		} else {
			paths[place] = line
		}
	}
}

func (c *checker) target(i int, tg *Target, t tree) {
	at := func(key string) int { return t.line("targets", i, key) }
	switch {
	case tg.Name == "" && !t.has("targets", i, "name"):
		c.errorf(at("name"), "targets[%d]: name is missing; accepted: 1 to 64 of a-z A-Z 0-9 _ . -", i)
	case !targetName.MatchString(tg.Name):
		c.errorf(at("name"), "targets[%d].name: %q is not a name; accepted: 1 to 64 of a-z A-Z 0-9 _ . -", i, tg.Name)
	}
	if tg.Path == "" && t.has("targets", i, "path") {
		c.errorf(at("path"), "targets[%d].path: the path is empty; accepted: a folder, a block device, or no such key for the state folder", i)
	}
	if strings.ContainsRune(tg.Path, 0) {
		c.errorf(at("path"), "targets[%d].path: %q holds a zero byte; accepted: a folder or a block device", i, tg.Path)
	}
	if IsDevice(tg.Path) && tg.Profile != ReadOnly {
		c.errorf(at("profile"), "targets[%d]: %s is a device, which is never written to; accepted: profile: read_only, or a folder as path", i, tg.Path)
	}
	if tg.FileSize < minFileSize {
		c.errorf(at("file_size"), "targets[%d].file_size: %s says too little about a disk; accepted: %s or more", i, tg.FileSize, minFileSize)
	}
	known := workloadNames(tg.Profile)
	for w := range tg.Schedules {
		if !slices.Contains(known, w) {
			c.errorf(t.line("targets", i, "schedules", w), "targets[%d].schedules: profile %s has no workload %q; accepted: %s", i, tg.Profile, w, strings.Join(known, ", "))
		}
	}
}

func (c *checker) guards(g *Guards, t tree) {
	within(c, t, float64(g.InFlight), 1, 1e6, "guards", "in_flight")
	within(c, t, g.ForeignIOPS, 1, 1e9, "guards", "foreign_iops")
	within(c, t, g.HotMarginCelsius, 0.1, 50, "guards", "hot_margin_celsius")
	within(c, t, g.MaxTemperatureCelsius, 20, 120, "guards", "max_temperature_celsius")
	between(c, t, g.Window, 100*time.Millisecond, time.Minute, "guards", "window")
}

func (c *checker) smart(s *Smart, t tree) {
	between(c, t, s.NVMeInterval, time.Second, 24*time.Hour, "smart", "nvme_interval")
	between(c, t, s.Interval, time.Second, 24*time.Hour, "smart", "interval")
	between(c, t, s.Timeout, time.Second, 5*time.Minute, "smart", "timeout")
	between(c, t, s.FilesMaxAge, time.Minute, 365*24*time.Hour, "smart", "files_max_age")
	for i, f := range s.Files {
		if _, err := filepath.Match(f, ""); err != nil || f == "" {
			c.errorf(t.line("smart", "files", i), "smart.files[%d]: %q is not a pattern; accepted: a path with * ? or [a-z], such as /var/lib/smartctl/*.json", i, f)
		}
	}
}

func (c *checker) ratings(rs []Rating, t tree) {
	for i, r := range rs {
		line := func(key string) int { return t.line("endurance", "ratings", i, key) }
		if _, err := path.Match(r.Model, ""); err != nil || r.Model == "" {
			c.errorf(line("model"), "endurance.ratings[%d].model: %q is not a pattern; accepted: a model with * ? or [a-z], such as \"INTEL SSDSC2BB240*\"", i, r.Model)
		}
		if r.Bytes == 0 {
			c.errorf(line("bytes"), "endurance.ratings[%d]: bytes is missing; accepted: the published endurance, such as 140TB", i)
		}
		if t.has("endurance", "ratings", i, "years") && (r.Years < 1 || r.Years > 30) {
			c.errorf(line("years"), "endurance.ratings[%d].years: %d is out of range; accepted: 1 to 30, or no such key when unknown", i, r.Years)
		}
	}
}

func within(c *checker, t tree, v, low, high float64, section, key string) {
	if !(v >= low && v <= high) { // NaN is refused
		c.errorf(t.line(section, key), "%s.%s: %v is out of range; accepted: %s to %s", section, key, plain(v), plain(low), plain(high))
	}
}

func between(c *checker, t tree, v Duration, low, high time.Duration, section, key string) {
	if d := time.Duration(v); d < low || d > high {
		c.errorf(t.line(section, key), "%s.%s: %s is out of range; accepted: %s to %s", section, key, v, Duration(low), Duration(high))
	}
}

// IsDevice says whether a target is a block device. It tells by the name alone: the path of a target is only ever touched in the
// worker child, since touching it can hang.
func IsDevice(p string) bool {
	p = filepath.Clean(p)
	return strings.HasPrefix(p, "/dev/") && p != "/dev/shm" && !strings.HasPrefix(p, "/dev/shm/")
}

func plain(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
