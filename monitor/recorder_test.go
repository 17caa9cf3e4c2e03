package monitor

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ssd_exporter/blockdev"
	"ssd_exporter/monitor/history"
	"ssd_exporter/smart"
)

// A store that hangs stops neither probing nor publishing, and costs only the oldest runs.
func TestRecorderIsBounded(t *testing.T) {
	r := newRecorder(nil, nil, defaultPace(), nil)
	for i := range waitingRuns + 50 {
		r.add(history.Commit{
			Runs:    []history.Run{{Duration: time.Duration(i)}},
			Samples: []history.Sample{{Disk: "d", At: time.Unix(int64(i), 0)}},
			Marks:   map[blockdev.ID]history.Marks{"d": {}},
		})
	}
	if len(r.waiting.Runs) != waitingRuns || r.waiting.Runs[0].Duration != 50 || r.dropped != 50 {
		t.Errorf("%d runs wait, the first is %d, %d dropped", len(r.waiting.Runs), r.waiting.Runs[0].Duration, r.dropped)
	}
	if len(r.waiting.Samples) != 1 || r.waiting.Samples[0].At.Unix() != waitingRuns+49 {
		t.Errorf("samples %v", r.waiting.Samples)
	}
}

// hungStore is a store on a disk that does not answer.
type hungStore struct{ free chan struct{} }

func (s hungStore) Commit(history.Commit) error { <-s.free; return nil }
func (s hungStore) Expire(time.Time) error      { return nil }
func (s hungStore) Runs(string, time.Time, func(history.Run) error) error {
	<-s.free
	return nil
}
func (s hungStore) Path() string { return "history.db" }

func TestAHungStoreStopsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, freshSnapshots)
		s := hungStore{make(chan struct{})}
		var log lines
		b.m.log = slog.New(slog.NewTextHandler(&log, nil))
		b.m.recorder = newRecorder(s, b.m.log, b.m.pace, func(string) {})
		b.run()
		b.wait(2 * time.Hour)
		if n := b.target("data").Events.Runs[history.Success]; n < 40 {
			t.Errorf("%d runs in two hours", n)
		}
		if age := time.Since(b.m.Snapshot().At); age > 15*time.Second {
			t.Errorf("the snapshot is %v old", age)
		}
		if notes := b.m.Snapshot().Notes; len(notes) != 1 || !strings.Contains(notes[0], "history has not been stored since 2000-01-01 00:00:") {
			t.Errorf("notes %q", notes)
		}
		if n := log.count("history has not been stored"); n != 1 {
			t.Errorf("that was logged %d times", n)
		}
		began := time.Now()
		b.cancel()
		<-b.ended
		if d := time.Since(began); d > 5*time.Second {
			t.Errorf("ending took %v", d)
		}
		close(s.free)
		b.world.release()
		b.wait(time.Second)
	})
}

// lines is a log that can be counted.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func (l *lines) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.buf.String(), text)
}

func TestProblemsAreLoggedOncePerChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, filesOnly, func(b *bench, o *Options, _ *pace) {
			b.write("reports/a.json", report("FILEDISK", "F1", time.Now().Add(-30*time.Hour), 1))
			b.world.places["/data"].fs.Memory = true
			o.Targets = []Target{{Name: "data", Dir: "/data", Workloads: Light()}}
		})
		var log lines
		b.m.log = slog.New(slog.NewTextHandler(&log, nil))
		b.reader.set(func(_ context.Context, d blockdev.Disk) (*smart.Reading, error) {
			return nil, &smart.ReadError{Disk: d.Device, Reason: smart.Permission, Err: os.ErrPermission}
		})
		b.run()
		b.wait(5 * time.Hour)
		for _, text := range []string{"permission denied", "a.json is ", "(RAM)"} {
			if n := log.count(text); n != 1 {
				t.Errorf("%q was logged %d times", text, n)
			}
		}
		b.stop()
	})
}

// Whenever the process is killed, at most the run in flight is missing from the store.
func TestARunIsStoredAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, quietSmart)
		b.begin(0)
		for range 300 {
			b.wait(100 * time.Millisecond)
			stored := 0
			if err := b.store.Runs("", time.Unix(0, 0), func(history.Run) error { stored++; return nil }); err != nil {
				t.Fatal(err)
			}
			if recorded := len(b.target("data").Recent); stored != recorded {
				t.Fatalf("%d runs are stored of %d that are over", stored, recorded)
			}
		}
		if n := len(b.target("data").Recent); n < len(Light()) {
			t.Errorf("only %d runs in the first pass", n)
		}
		b.stop()
		b.closeStore()
	})
}

func TestReadingsDoNotMakeACommitEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, noTargets, func(_ *bench, o *Options, _ *pace) { o.Smart.NVMeInterval, o.Smart.Interval = time.Minute, time.Minute })
		b.begin(0)
		changes := map[time.Time]bool{}
		for range 120 {
			b.wait(30 * time.Second)
			st, err := b.store.Load()
			if err != nil {
				t.Fatal(err)
			}
			changes[st.Samples["TESTDISK_S1"].At] = true
		}
		if n := len(changes); n < 8 || n > 13 {
			t.Errorf("60 readings in an hour were stored in %d commits", n)
		}
		b.stop()
		b.closeStore()
	})
}
