package engine

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkRun measures the engine on a file of 256 MiB in TMPDIR: one I/O per iteration. Compare with
//
//	fio --name=x --filename=FILE --direct=1 --ioengine=io_uring --norandommap --rw=randread --bs=4k --iodepth=N
func BenchmarkRun(b *testing.B) {
	target := realTarget(b, 256<<20)
	for _, kind := range []Backend{URing, AIO, Pread} {
		for _, depth := range []int{1, 4, 32} {
			for _, permille := range []int{1000, 800} {
				b.Run(fmt.Sprintf("%s/depth=%d/read=%d", kind, depth, permille), func(b *testing.B) {
					w := mix(permille, depth, Limits{MaxTime: time.Hour, MaxIOs: int64(b.N)})
					w.Warmup = Limits{MaxIOs: 64}
					b.ReportAllocs()
					r, err := Run(b.Context(), w, target, Options{Backend: kind})
					if err != nil {
						b.Skip(err)
					}
					b.ReportMetric(r.TotalIOPS(), "IOPS")
					b.ReportMetric(float64(r.CPU.Nanoseconds())/1e3/float64(r.IOs()), "cpu-µs/op")
					b.ReportMetric(float64(r.Ops[Read].Response.Quantile(0.5).Nanoseconds())/1e3, "p50-µs")
					b.ReportMetric(float64(r.Ops[Read].Response.Quantile(0.99).Nanoseconds())/1e3, "p99-µs")
				})
			}
		}
	}
}

func BenchmarkTally(b *testing.B) {
	t := &tally{}
	for i := range b.N {
		t.record(int64(50000 + i&0xffff))
	}
}

func BenchmarkStamp(b *testing.B) {
	c := newContent(Stream{BlockSize: 4096}, nil, 1, 2, make([]byte, 1<<20), 4096)
	for range b.N {
		_, i := c.take(0)
		c.release(i)
	}
}
