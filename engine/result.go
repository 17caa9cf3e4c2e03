package engine

import "time"

// IOPS is the rate of one direction over Elapsed, in I/Os per second; 0 when nothing was rated.
func (r *Result) IOPS(op Op) float64 { return perSecond(r.Ops[op].Rated, r.Elapsed) }

// TotalIOPS is the rate of both directions together.
func (r *Result) TotalIOPS() float64 {
	return perSecond(r.Ops[Read].Rated+r.Ops[Write].Rated, r.Elapsed)
}

// BytesPerSecond is the throughput of one direction over Elapsed; 0 when nothing was rated.
func (r *Result) BytesPerSecond(op Op) float64 { return perSecond(r.Ops[op].RatedBytes, r.Elapsed) }

func perSecond(n int64, d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return float64(n) / d.Seconds()
}

// IOs is the number of complete I/Os of both directions.
func (r *Result) IOs() int64 { return r.Ops[Read].IOs + r.Ops[Write].IOs }

// Bytes is what was transferred in both directions by complete I/Os.
func (r *Result) Bytes() int64 { return r.Ops[Read].Bytes + r.Ops[Write].Bytes }

// Failed is the number of I/Os that ended in an error, short transfers left out.
func (r *Result) Failed() int64 {
	n := int64(0)
	for _, op := range r.Ops {
		for name, count := range op.Errors {
			if name != shortTransfer {
				n += count
			}
		}
	}
	return n
}

// Short is the number of I/Os that transferred less than their length.
func (r *Result) Short() int64 {
	return r.Ops[Read].Errors[shortTransfer] + r.Ops[Write].Errors[shortTransfer]
}

// shortTransfer is the key of OpResult.Errors for transfers that ended early, 0 bytes included.
const shortTransfer = "SHORT"
