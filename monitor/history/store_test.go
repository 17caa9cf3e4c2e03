package history

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/bbolt"

	"ssd_exporter/blockdev"
	"ssd_exporter/engine"
	"ssd_exporter/monitor/trend"
	"ssd_exporter/smart"
)

var t0 = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func open(t *testing.T, path string) *Store {
	t.Helper()
	s, aside, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if aside != "" {
		t.Fatalf("set aside as %s: %s", aside, s.why)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func run(target, workload string, at time.Time, o Outcome) Run {
	return Run{
		Target: target, Workload: workload, Disks: []blockdev.ID{"M_S"}, Start: at, Duration: 2 * time.Second, Outcome: o,
		Ops:         [2]*OpStats{{IOs: 4000, IOPS: 2000, Latency: Quantiles{P50: new(80 * time.Microsecond)}}, nil},
		Fingerprint: engine.Fingerprint{Engine: engine.URing, Chunk: 4}, ForeignIOPS: new(1.5),
	}
}

func TestEverythingSurvivesAReopen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.db")
	s := open(t, path)
	good, failed := run("data", "read", t0, Success), run("data", "read", t0.Add(time.Minute), Failed)
	contended := run("data", "read", t0.Add(30*time.Second), Contended)
	key := Key{"data", "read", "read", "p50"}
	c := Commit{
		Runs:    []Run{good, contended, failed},
		Samples: []Sample{{At: t0, Disk: "M_S", Health: &smart.Health{Wear: smart.Wear{Used: new(0.25)}, Temperatures: map[string]float64{"composite": 40}}}},
		Series: map[Key]Series{key: {
			Fingerprint: good.Fingerprint, Baseline: trend.Baseline{Samples: []float64{1, 2}},
			Earlier: []Series{{Fingerprint: engine.Fingerprint{Engine: engine.Pread}}, {Replaced: t0}}, Since: t0,
		}},
		Marks: map[blockdev.ID]Marks{"M_S": {
			High: map[string]uint64{"host_written": 1 << 60}, Corrections: map[string]uint64{"host_written": 2},
			Source: map[string]string{"host_written": "attribute 241"}, Offset: map[string]int64{"host_written": -5},
		}},
		Paused: &t0,
	}
	if err := s.Commit(c); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := open(t, path).Load()
	if err != nil {
		t.Fatal(err)
	}
	w := [2]string{"data", "read"}
	want := State{
		Last: map[[2]string]Run{w: failed}, Measured: map[[2]string]Run{w: contended}, Success: map[[2]string]time.Time{w: t0},
		Samples: map[blockdev.ID]Sample{"M_S": c.Samples[0]}, Series: c.Series, Marks: c.Marks, Paused: t0,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestRunsComeOldestFirstFromATimeOn(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "h"))
	for _, i := range []int{3, 1, 0, 2} {
		for _, target := range []string{"a", "b"} {
			if err := s.Commit(Commit{Runs: []Run{run(target, "w", t0.Add(time.Duration(i)*time.Hour), Success)}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	collect := func(target string, since time.Time) (got []string) {
		if err := s.Runs(target, since, func(r Run) error {
			got = append(got, fmt.Sprintf("%s%d", r.Target, int(r.Start.Sub(t0).Hours())))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := strings.Join(collect("a", t0.Add(time.Hour)), " "); got != "a1 a2 a3" {
		t.Errorf("one target: %s", got)
	}
	if got := strings.Join(collect("", t0.Add(2*time.Hour)), " "); got != "a2 b2 a3 b3" {
		t.Errorf("all targets: %s", got)
	}
	stop := errors.New("enough")
	n := 0
	if err := s.Runs("", t0, func(Run) error { n++; return stop }); !errors.Is(err, stop) || n != 1 {
		t.Errorf("stopped with %v after %d", err, n)
	}
}

func TestRunsEndAfterThirtyDays(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "h"))
	var runs []Run
	for day := range 40 {
		runs = append(runs, run("a", "w", t0.AddDate(0, 0, day), Success))
	}
	if err := s.Commit(Commit{Runs: runs}); err != nil {
		t.Fatal(err)
	}
	if err := s.Expire(t0.AddDate(0, 0, 39)); err != nil {
		t.Fatal(err)
	}
	first, n := time.Time{}, 0
	if err := s.Runs("", time.Unix(0, 0), func(r Run) error {
		if n == 0 {
			first = r.Start
		}
		n++
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if n != 31 || !first.Equal(t0.AddDate(0, 0, 9)) {
		t.Errorf("%d runs from %v, want 31 from day 9", n, first)
	}
	st, err := s.Load()
	if err != nil || len(st.Last) != 1 {
		t.Errorf("the last run went too: %v %v", st.Last, err)
	}
}

func TestReadingsAreStoredOnLastingChangeAndOnceADay(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "h"))
	at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	poll := func(minutes int, wear, temp float64) {
		h := &smart.Health{Wear: smart.Wear{Used: new(wear)}, Temperatures: map[string]float64{"composite": temp}, HostWritten: new(uint64(minutes)), Attributes: []smart.Attribute{{ID: 5}}}
		if err := s.Commit(Commit{Samples: []Sample{{At: at.Add(time.Duration(minutes) * time.Minute), Disk: "d", Health: h}}}); err != nil {
			t.Fatal(err)
		}
	}
	for m := range 10 {
		poll(m, 0.1, 30+float64(m))
	}
	poll(10, 0.11, 30)
	poll(11, 0.11, 31)
	poll(24*60+1, 0.11, 31)
	var got []int
	if err := s.Readings("d", at, func(x Sample) error {
		got = append(got, int(x.At.Sub(at).Minutes()))
		if x.Health.Attributes != nil {
			t.Error("a row carries raw attributes")
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]int{0, 10, 24*60 + 1}, got); d != "" {
		t.Errorf("rows at minutes: %s", d)
	}
	st, _ := s.Load()
	if last := st.Samples["d"]; int(last.At.Sub(at).Minutes()) != 24*60+1 || len(last.Health.Attributes) != 1 {
		t.Errorf("latest sample %+v", last)
	}
}

func TestOneValueThatCannotBeEncodedCostsOnlyItself(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "h"))
	err := s.Commit(Commit{
		Runs:    []Run{run("a", "w", t0, Success)},
		Samples: []Sample{{At: t0, Disk: "nan", Health: &smart.Health{Temperatures: map[string]float64{"composite": math.NaN()}}}},
	})
	if err == nil || !strings.Contains(err.Error(), "nan") {
		t.Errorf("error %v does not name the value", err)
	}
	if st, err := s.Load(); err != nil || len(st.Last) != 1 || len(st.Samples) != 0 {
		t.Errorf("%v %v", st, err)
	}
}

func TestARowThatCannotBeDecodedCostsOnlyItself(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "h"))
	if err := s.Commit(Commit{Runs: []Run{run("a", "w", t0, Success), run("b", "w", t0, Success)}}); err != nil {
		t.Fatal(err)
	}
	if err := s.db.Update(func(tx *bbolt.Tx) error {
		return tx.Bucket([]byte(bucketLast)).Put([]byte(workloadKey("a", "w")), []byte("{torn"))
	}); err != nil {
		t.Fatal(err)
	}
	st, err := s.Load()
	if err != nil || len(st.Last) != 1 || st.Unreadable != 1 {
		t.Errorf("%d rows, %d unreadable, %v", len(st.Last), st.Unreadable, err)
	}
}

func TestTheSecondProcessIsToldSo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h")
	open(t, path)
	_, aside, err := Open(path)
	if !errors.Is(err, ErrLocked) || aside != "" {
		t.Errorf("error %v, set aside %q", err, aside)
	}
}

func TestAFolderThatIsMissingSaysWhatToDo(t *testing.T) {
	_, _, err := Open(filepath.Join(t.TempDir(), "no", "such", "h"))
	if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "--state.path") {
		t.Errorf("%v", err)
	}
}

func TestWhatIsNoRegularFileIsRefused(t *testing.T) {
	dir := t.TempDir()
	elsewhere := filepath.Join(dir, "elsewhere")
	if err := os.WriteFile(elsewhere, []byte("someone's"), 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(elsewhere, link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, link} {
		if _, aside, err := Open(path); err == nil || aside != "" {
			t.Errorf("%s: error %v, set aside %q", path, err, aside)
		}
	}
	if b, _ := os.ReadFile(elsewhere); string(b) != "someone's" {
		t.Errorf("the link's file now holds %q", b)
	}
}
