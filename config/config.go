package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"go.yaml.in/yaml/v3"
)

// Config is the whole file. Parse and Load make one that is complete: every key that the file leaves out has its default.
type Config struct {
	Targets    []Target      `yaml:"targets"`     // none: disks are read, nothing is probed
	QuietHours []QuietPeriod `yaml:"quiet_hours"` // no probe starts in these hours, or would last into them
	Guards     Guards        `yaml:"guards"`
	Budget     Budget        `yaml:"budget"`
	Smart      Smart         `yaml:"smart"`
	Endurance  Endurance     `yaml:"endurance"`
	Metrics    Metrics       `yaml:"metrics"`
}

// Target is one place to probe.
type Target struct {
	Name      string              `yaml:"name"`           // label "target": 1 to 64 of [a-zA-Z0-9_.-], unique
	Path      string              `yaml:"path,omitempty"` // folder, or block device (reads only); "" is the state folder
	Profile   Profile             `yaml:"profile"`
	FileSize  Bytes               `yaml:"file_size"` // of the probe file, from 256MiB on; less is taken on small file systems
	FillRate  Rate                `yaml:"fill_rate"` // while the probe file is filled, once
	Engine    Engine              `yaml:"engine"`
	Schedule  *Schedule           `yaml:"schedule,omitempty"`  // of all workloads; nil: the profile's own
	Schedules map[string]Schedule `yaml:"schedules,omitempty"` // by workload, before Schedule
}

// Guards are the limits above which a disk is left alone.
type Guards struct {
	Utilisation           Ratio    `yaml:"utilisation"`             // busy share of Window, above 0 up to 1
	InFlight              int      `yaml:"in_flight"`               // other people's requests in flight, 1 to 1000000
	ForeignIOPS           float64  `yaml:"foreign_iops"`            // other people's I/Os per second, 1 to 1e9
	Window                Duration `yaml:"window"`                  // 100ms to 1m
	HotMarginCelsius      float64  `yaml:"hot_margin_celsius"`      // below the drive's own warning limit, 0.1 to 50
	MaxTemperatureCelsius float64  `yaml:"max_temperature_celsius"` // for drives that state no limit, 20 to 120
	Battery               bool     `yaml:"battery"`                 // true: no probe on battery
	WornRatio             Ratio    `yaml:"worn_ratio"`              // no writes from this wear on, above 0 up to 1
}

// Budget limits what is written.
type Budget struct {
	BytesPerDay Allowance `yaml:"bytes_per_day"` // to each physical disk
}

// Smart says how disks are read.
type Smart struct {
	Enabled      bool     `yaml:"enabled"`
	NVMeInterval Duration `yaml:"nvme_interval"` // 1s to 1d
	Interval     Duration `yaml:"interval"`      // of all others, 1s to 1d
	Timeout      Duration `yaml:"timeout"`       // of one disk, 1s to 5m
	Files        []string `yaml:"files"`         // globs of smartctl JSON files
	FilesMaxAge  Duration `yaml:"files_max_age"` // older ones are stale, 1m to 1y
	Attributes   bool     `yaml:"attributes"`    // export raw ATA attributes
}

// Endurance gives published endurance that the built-in table lacks or has wrong.
type Endurance struct {
	Ratings []Rating `yaml:"ratings"` // the first match wins, before the built-in table
}

// Rating is one published endurance.
type Rating struct {
	Model string `yaml:"model"`           // glob as in path.Match, case-insensitive
	Bytes Bytes  `yaml:"bytes"`           // that may be written over the drive's life (TBW)
	Years int    `yaml:"years,omitempty"` // of warranty, 1 to 30; 0 unknown
}

// Metrics shape the page.
type Metrics struct {
	ClassicHistograms bool `yaml:"classic_histograms"` // classic buckets beside the native ones
}

// Default is a complete working configuration: the disk under the state folder is probed gently, all disks are read.
func Default() *Config {
	return &Config{
		Targets: []Target{defaultTarget("data")},
		Guards: Guards{
			Utilisation: 0.30, InFlight: 2, ForeignIOPS: 200, Window: Duration(time.Second),
			HotMarginCelsius: 5, MaxTemperatureCelsius: 70, Battery: true, WornRatio: 0.9,
		},
		Smart: Smart{
			Enabled: true, NVMeInterval: Duration(time.Minute), Interval: Duration(10 * time.Minute),
			Timeout: Duration(20 * time.Second), FilesMaxAge: Duration(26 * time.Hour),
		},
	}
}

func defaultTarget(name string) Target {
	return Target{Name: name, Profile: Light, FileSize: 1 << 30, FillRate: 100e6, Engine: Auto}
}

// Load reads a file. "" is Default. The error of a bad file is Errors; errors.Is finds the cause of one that cannot be read.
func Load(path string) (*Config, error) {
	if path == "" {
		return Default(), nil
	}
	b, err := readFile(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the configuration: %w; check --config.file", err)
	}
	return Parse(path, b)
}

const maxSize = 1 << 20 // bytes of a configuration; a typing error may name a disk image, or /dev/zero

// readFile reads a file of at most maxSize. Opening does not wait for the writer of a named pipe, which may never come, and
// neither Ctrl-C nor a second reload would get through to whoever waits.
func readFile(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	switch st, err := f.Stat(); {
	case err != nil:
		return nil, err
	case st.IsDir():
		return nil, fmt.Errorf("%s is a folder, not a file", path)
	case !st.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no regular file", path)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err == nil && len(b) > maxSize {
		return nil, fmt.Errorf("%s has more than %d bytes, which no configuration has", path, maxSize)
	}
	return b, err
}

// Parse reads a document; name is used in errors. The error is of type Errors.
func Parse(name string, b []byte) (*Config, error) {
	root, err := document(b)
	if err != nil {
		return nil, Errors{syntaxError(name, err)}
	}
	c := Default()
	if root == nil {
		return c, nil
	}
	ck := &checker{name: name}
	ck.root(root)
	if len(ck.errs) > 0 {
		return nil, ck.sorted()
	}
	dec := yaml.NewDecoder(bytes.NewReader(b))
	dec.KnownFields(true)
	if err := dec.Decode(c); err != nil && !errors.Is(err, io.EOF) {
		return nil, decodeErrors(name, err)
	}
	c.complete()
	ck.validate(c, tree{root})
	if len(ck.errs) > 0 {
		return nil, ck.sorted()
	}
	return c, nil
}

// YAML is the effective configuration, every default spelled out; Parse of it gives an equal Config.
func (c *Config) YAML() []byte {
	out := *c
	if out.Targets == nil {
		out.Targets = []Target{} // "[]", not "null", which Parse refuses
	}
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(&out); err != nil {
		// No value of these types can fail to encode; a comment is at least not mistaken for a configuration.
		return fmt.Appendf(nil, "# cannot encode the configuration: %v\n", err)
	}
	return b.Bytes()
}

// complete gives list entries, which start from nothing, their defaults, and makes empty lists nil.
func (c *Config) complete() {
	for i := range c.Targets {
		t, d := &c.Targets[i], defaultTarget("")
		if t.Profile == "" {
			t.Profile = d.Profile
		}
		if t.FileSize == 0 {
			t.FileSize = d.FileSize
		}
		if t.FillRate == 0 {
			t.FillRate = d.FillRate
		}
		if t.Engine == "" {
			t.Engine = d.Engine
		}
		if len(t.Schedules) == 0 {
			t.Schedules = nil
		}
	}
	if len(c.Targets) == 0 {
		c.Targets = nil
	}
	if len(c.QuietHours) == 0 {
		c.QuietHours = nil
	}
	if len(c.Smart.Files) == 0 {
		c.Smart.Files = nil
	}
	if len(c.Endurance.Ratings) == 0 {
		c.Endurance.Ratings = nil
	}
}

// document reads the one document of b; nil when there is none.
func document(b []byte) (*yaml.Node, error) {
	dec := yaml.NewDecoder(bytes.NewReader(b))
	var first, second yaml.Node
	if err := dec.Decode(&first); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	switch err := dec.Decode(&second); {
	case err == nil:
		return nil, &Error{Line: max(second.Line, 1), Message: "a second document begins here; a file holds one configuration, so remove the \"---\" and what follows"}
	case !errors.Is(err, io.EOF):
		return nil, err
	}
	if len(first.Content) == 0 {
		return nil, nil
	}
	root := first.Content[0]
	if root.Kind == yaml.ScalarNode && root.ShortTag() == "!!null" {
		return nil, nil
	}
	return root, nil
}
