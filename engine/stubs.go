package engine

import (
	"context"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Hist is an HDR histogram of durations (nanoseconds, 1 µs … wait for hist.go) that survives JSON.
type Hist struct{ h *hdrhistogram.Histogram }

func (Op) String() string                                             { return "" }
func (Workload) Validate() error                                      { return nil }
func (Workload) MaxWritten() int64                                    { return 0 }
func (Workload) Writes() bool                                         { return false }
func Run(context.Context, Workload, Target, Options) (*Result, error) { return nil, nil }
func (r *Result) IOPS(Op) float64                                     { return 0 }
func (r *Result) TotalIOPS() float64                                  { return 0 }
func (r *Result) BytesPerSecond(Op) float64                           { return 0 }
func NewHist() Hist                                                   { return Hist{} }
func (h *Hist) Record(time.Duration)                                  {}
func (h *Hist) Merge(Hist)                                            {}
func (h Hist) Count() int64                                           { return 0 }
func (h Hist) Quantile(q float64) time.Duration                       { return 0 }
func (h Hist) Trusted(q float64) bool                                 { return false }
func (h Hist) Max() time.Duration                                     { return 0 }
func (h Hist) Mean() time.Duration                                    { return 0 }
func (h Hist) ShareAbove(time.Duration) float64                       { return 0 }
func (h Hist) Each(func(lower, upper time.Duration, count int64))     {}
