// Package smart finds disks, reads what they say of their health, and says what it means.
//
// Three steps that can be tested apart: Find lists disks from sysfs; a Reader makes a Reading, which holds what was
// read and nothing else; Interpret makes a Health of a Reading: a pure function.
//
// It promises:
//
//   - Unknown is absent: a nil pointer, never 0 and never 100 %. A wear figure needs positive evidence of an SSD.
//   - Wear is never clamped: 1.05 and 2.10 are real.
//   - Which source of wear to believe is decided by the family table (families.go), data with a source per row, which was
//     checked on thousands of real drives. Every source is kept beside the chosen one.
//   - A unit is proven, not assumed; sentinels (65535, 2^48-1, 0 K, …) are dropped.
//   - Every Reading can be written as and loaded from the JSON of `smartctl -x -j`, so that a bug report is a test.
//   - Nothing wakes a sleeping disk. Nothing is ever written to one.
//   - An NVMe command that failed is an error, never a log of zeros.
package smart
