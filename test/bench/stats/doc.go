// Package stats compares two programs that took turns: the ratio of each pair cancels what both suffered alike, the median
// of the ratios ignores the turns in which one alone was disturbed.
//
// Nothing here assumes a distribution, so that the bounds hold for the few and noisy pairs that a benchmark affords.
package stats
