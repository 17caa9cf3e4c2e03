package config

import (
	"ssd_exporter/monitor"
)

// Config is the whole file.
type Config struct{}

func Default() *Config { return nil }

// Load reads a file. "" is Default.
func Load(path string) (*Config, error) { return nil, nil }

// Parse reads a document; name is used in errors.
func Parse(name string, b []byte) (*Config, error) { return nil, nil }

// YAML is the effective configuration, every default spelled out; Parse of it gives an equal Config.
func (*Config) YAML() []byte { return nil }

// Options builds what monitor needs; state is --state.path, where a target without a path lives.
func (*Config) Options(state string) (monitor.Options, error) { return monitor.Options{}, nil }
