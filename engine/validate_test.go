package engine

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

func TestValidateNamesEveryFault(t *testing.T) {
	good := func(change func(*Workload)) Workload {
		w := mix(800, 4, Limits{MaxTime: time.Second, MaxWriteBytes: 1 << 20})
		if change != nil {
			change(&w)
		}
		return w
	}
	stream := func(change func(*Stream)) Workload {
		return good(func(w *Workload) { change(&w.Streams[0]) })
	}
	tests := map[string]struct {
		w    Workload
		want string // "" is valid
	}{
		"good":                    {good(nil), ""},
		"no name":                 {good(func(w *Workload) { w.Name = "" }), `workload "": Name is ""; accepted: a name`},
		"no streams":              {good(func(w *Workload) { w.Streams = nil }), `workload "mix": Streams is 0; accepted: 1 to 16 streams`},
		"block of 0":              {stream(func(s *Stream) { s.BlockSize = 0 }), `workload "mix": stream 1: BlockSize is 0; accepted: multiples of 512 from 512 to 67108864`},
		"odd block":               {stream(func(s *Stream) { s.BlockSize = 1000 }), `workload "mix": stream 1: BlockSize is 1000; accepted: multiples of 512 from 512 to 67108864`},
		"permille as percent":     {stream(func(s *Stream) { s.ReadPermille = 1001 }), `workload "mix": stream 1: ReadPermille is 1001; accepted: 0 (writes only) to 1000 (reads only)`},
		"negative depth":          {stream(func(s *Stream) { s.Depth = -1 }), `workload "mix": stream 1: Depth is -1; accepted: 1 to 1024`},
		"deep":                    {stream(func(s *Stream) { s.Depth = 1025 }), `workload "mix": stream 1: Depth is 1025; accepted: 1 to 1024`},
		"many workers":            {stream(func(s *Stream) { s.Workers = 257 }), `workload "mix": stream 1: Workers is 257; accepted: 1 to 256`},
		"pattern":                 {stream(func(s *Stream) { s.Pattern = "zigzag" }), `workload "mix": stream 1: Pattern is "zigzag"; accepted: ["random" "sequential"]`},
		"region":                  {stream(func(s *Stream) { s.Region = "warm" }), `workload "mix": stream 1: Region is "warm"; accepted: ["all" "cold" "hot"]`},
		"writes to the cold half": {stream(func(s *Stream) { s.Region = Cold }), `workload "mix": stream 1: Region is cold; accepted: all or hot for a stream that writes: the cold half is never written again`},
		"reads of the cold half":  {stream(func(s *Stream) { s.Region, s.ReadPermille = Cold, 1000 }), ""},
		"arrival":                 {stream(func(s *Stream) { s.Arrival = "late" }), `workload "mix": stream 1: Arrival is "late"; accepted: ["closed" "paced" "poisson"]`},
		"open without rate":       {stream(func(s *Stream) { s.Arrival = Paced }), `workload "mix": stream 1: Rate is 0; accepted: above 0 and at most 1e+06 I/Os per second for arrival "paced"`},
		"rate not a number":       {stream(func(s *Stream) { s.Arrival, s.Rate = Paced, math.NaN() }), `workload "mix": stream 1: Rate is NaN; accepted: above 0 and at most 1e+06 I/Os per second for arrival "paced"`},
		"closed with rate":        {stream(func(s *Stream) { s.Rate = 5 }), `workload "mix": stream 1: Rate is 5; accepted: 0 for a closed loop`},
		"sync":                    {stream(func(s *Stream) { s.Sync = "often" }), `workload "mix": stream 1: Sync is "often"; accepted: ["none" "fdatasync"]`},
		"sync without writes":     {stream(func(s *Stream) { s.Sync, s.ReadPermille = Fdatasync, 1000 }), `workload "mix": stream 1: Sync is fdatasync; accepted: none for a stream that only reads`},
		"data":                    {stream(func(s *Stream) { s.Data.Kind = "ones" }), `workload "mix": stream 1: Data.Kind is "ones"; accepted: ["incompressible" "zero" "compressible"]`},
		"ratio":                   {stream(func(s *Stream) { s.Data = Data{Compressible, 1.5} }), `workload "mix": stream 1: Data.Ratio is 1.5; accepted: 0 to 1, the share of zeros`},
		"ratio of nothing":        {stream(func(s *Stream) { s.Data.Ratio = 0.5 }), `workload "mix": stream 1: Data.Ratio is 0.5; accepted: 0 unless Data.Kind is compressible`},
		"no time":                 {good(func(w *Workload) { w.Stop.MaxTime = 0 }), `workload "mix": Stop.MaxTime is 0s; accepted: a time above 0`},
		"minimum beyond maximum":  {good(func(w *Workload) { w.Stop.MinTime = time.Minute }), `workload "mix": Stop.MinTime is 1m0s; accepted: at most MaxTime, 1s`},
		"minimum I/Os":            {good(func(w *Workload) { w.Stop.MinIOs, w.Stop.MaxIOs = 5, 4 }), `workload "mix": Stop.MinIOs is 5; accepted: at most MaxIOs, 4`},
		"negative I/Os":           {good(func(w *Workload) { w.Stop.MaxIOs = -1 }), `workload "mix": Stop.MaxIOs is -1; accepted: 0 (no such limit) or more`},
		"unbounded writes":        {good(func(w *Workload) { w.Stop.MaxWriteBytes = 0 }), `workload "mix": Stop.MaxWriteBytes is 0; accepted: 4096 (one block) or more: the workload writes`},
		"a warm-up that writes":   {good(func(w *Workload) { w.Warmup.MaxWriteBytes = 1 }), `workload "mix": Warmup.MaxWriteBytes is 1; accepted: 0: a warm-up only reads`},
		"too much outstanding": {
			stream(func(s *Stream) { s.BlockSize, s.Depth = 64<<20, 17 }),
			`workload "mix": BlockSize × Depth × Workers is 1140850688 bytes over all streams; accepted: at most 1073741824`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := ""
			if err := tt.w.Validate(); err != nil {
				got = err.Error()
			}
			if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestValidateTellsAllFaultsAtOnce(t *testing.T) {
	w := Workload{Name: "x", Streams: []Stream{{BlockSize: 1, Depth: -1}, {BlockSize: 4096, ReadPermille: 2000}}}
	got := w.Validate().Error()
	for _, want := range []string{"stream 1: BlockSize", "stream 1: Depth", "stream 2: ReadPermille", "Stop.MaxTime", "Stop.MaxWriteBytes"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is missing in\n%s", want, got)
		}
	}
}

func TestMaxWritten(t *testing.T) {
	big := Stream{BlockSize: 1 << 20, ReadPermille: 500}
	tests := map[string]struct {
		w    Workload
		want int64
	}{
		"reads write nothing":             {reads(1, Limits{MaxTime: 1, MaxIOs: 5000, MaxWriteBytes: 1 << 30}), 0},
		"whole decks are exact":           {mix(800, 4, Limits{MaxTime: 1, MaxIOs: 5000, MaxWriteBytes: 1 << 30}), 1000 * 4096},
		"a broken deck may write first":   {mix(800, 4, Limits{MaxTime: 1, MaxIOs: 5300, MaxWriteBytes: 1 << 30}), 1200 * 4096},
		"the limit is smaller":            {mix(800, 4, Limits{MaxTime: 1, MaxIOs: 5000, MaxWriteBytes: 12345}), 12345},
		"a minimum may go beyond MaxIOs":  {mix(800, 4, Limits{MinTime: 1, MaxTime: 1, MaxIOs: 5000, MaxWriteBytes: 1 << 30}), 1 << 30},
		"two streams may divide as worst": {Workload{Streams: []Stream{big, {BlockSize: 4096}}, Stop: Limits{MaxIOs: 10, MaxWriteBytes: 1 << 40}}, 10 << 20},
		"no overflow":                     {mix(0, 1, Limits{MaxIOs: math.MaxInt64, MaxWriteBytes: 7}), 7},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := tt.w.MaxWritten(); got != tt.want {
				t.Errorf("%d, want %d", got, tt.want)
			}
		})
	}
}

func TestNoRunWritesMoreThanMaxWritten(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 60 {
		w := mix(r.IntN(1000), r.IntN(8)+1, Limits{MaxTime: time.Second, MaxIOs: r.Int64N(3000) + 1, MaxWriteBytes: r.Int64N(4<<20) + 4096})
		if r.IntN(3) == 0 {
			w.Stop.MinTime = 20 * time.Millisecond
		}
		w.Seed = r.Uint64()
		res := runFake(t, &fakeDisk{}, w)
		if res.Written > w.MaxWritten() {
			t.Errorf("%+v wrote %d, at most %d were expected", w, res.Written, w.MaxWritten())
		}
	}
}

func TestATargetThatDoesNotFitIsRefusedBeforeAnyIO(t *testing.T) {
	tests := map[string]struct {
		w      Workload
		change func(*Target)
		is     error
		want   string
	}{
		"writes to a read-only target": {mix(500, 1, Limits{MaxTime: 1}), func(t *Target) { t.Writable = false }, ErrNotWritable, `workload "mix" writes: the target is read-only`},
		"block below the alignment":    {mix(500, 1, Limits{MaxTime: 1}), func(t *Target) { t.OffsetAlign = 8192 }, ErrUnfit, "block size 4096 is no multiple of 8192 bytes"},
		"no room for a block":          {reads(1, Limits{MaxTime: 1}), func(t *Target) { t.Size = 4095 }, ErrUnfit, `region "all" of 4095 bytes holds no block of 4096 bytes`},
		"no room to redraw":            {mix(500, 32, Limits{MaxTime: 1}), func(t *Target) { t.Size = 64 * 4096 }, ErrUnfit, "131072 outstanding bytes"},
		"alignment beyond a page":      {reads(1, Limits{MaxTime: 1}), func(t *Target) { t.MemAlign = 1 << 20 }, ErrUnfit, "buffers aligned to 1048576"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			target := fakeTarget()
			tt.change(&target)
			d := &fakeDisk{}
			r, err := run(t.Context(), tt.w, target, Options{}, d.environment())
			if r != nil || !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.want) || len(d.log) > 0 {
				t.Errorf("result %v, error %v, %d I/Os", r, err, len(d.log))
			}
		})
	}
}
