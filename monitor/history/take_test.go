package history

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ssd_exporter/blockdev"
	"ssd_exporter/engine"
	"ssd_exporter/smart"
)

func TestTakeSaysWhatLoadWouldSay(t *testing.T) {
	at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	run := func(workload string, minute int, o Outcome) Run {
		return Run{Target: "data", Workload: workload, Start: at.Add(time.Duration(minute) * time.Minute), Outcome: o}
	}
	sample := func(minute int, h *smart.Health) Sample {
		return Sample{At: at.Add(time.Duration(minute) * time.Minute), Disk: "M_S", Health: h}
	}
	series := func(chunk int) map[Key]Series {
		return map[Key]Series{{"data", "a", "read", "p50"}: {Fingerprint: engine.Fingerprint{Chunk: chunk}}}
	}
	commits := []Commit{
		{Runs: []Run{run("a", 1, Success), run("b", 1, Contended)}, Series: series(1), Samples: []Sample{sample(1, &smart.Health{Source: "native", At: at})}},
		{Runs: []Run{run("a", 2, Aborted), run("b", 2, Failed)}, Marks: map[blockdev.ID]Marks{"M_S": {High: map[string]uint64{"x": 1}}}},
		{},
		{Runs: []Run{run("c", 3, Success)}, Series: series(2), Samples: []Sample{sample(3, nil), sample(4, &smart.Health{Source: "file:x", At: at})}, Marks: map[blockdev.ID]Marks{"M_S": {High: map[string]uint64{"x": 2}}}},
	}
	s, _, err := Open(filepath.Join(t.TempDir(), "history.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var got State
	for i, c := range commits {
		if err := s.Commit(c); err != nil {
			t.Fatal(err)
		}
		got.Take(c)
		want, err := s.Load()
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got, cmp.AllowUnexported(smart.Health{})); d != "" {
			t.Errorf("after commit %d: -Load +Take\n%s", i, d)
		}
	}
	if len(got.Last) != 3 || got.Last[[2]string{"data", "a"}].Outcome != Aborted || got.Measured[[2]string{"data", "a"}].Outcome != Success {
		t.Errorf("last %v, measured %v", got.Last, got.Measured)
	}
}
