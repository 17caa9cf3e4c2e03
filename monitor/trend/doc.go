// Package trend is the statistics of drift: baselines, degradation ratios and, later, verdicts and forecasts. Pure
// functions and plain values; it does no I/O, keeps no clock and imports nothing of ours.
//
// It promises: no ratio before MinRuns clean runs, no verdict while learning, and the same answer for the same samples.
package trend
