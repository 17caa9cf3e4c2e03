// Package config is the YAML file: its types, units, defaults and validation. Default is a complete working configuration, an
// empty file is Default, unknown keys are refused, and every error names file, line, what was found and what is accepted.
//
// Custom decoding exists on scalars only (Bytes, Duration, Schedule, …): a custom decoder on a struct would silently lose
// strictness below it.
package config
