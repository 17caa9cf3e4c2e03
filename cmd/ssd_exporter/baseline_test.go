package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ssd_exporter/monitor"
	"ssd_exporter/monitor/control"
)

// fakeService is a service with one target, whose write workload has had too few clean runs.
type fakeService struct{ asked []string }

func (f *fakeService) Baselines() []monitor.BaselineState {
	since := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	read := func(op, signal, unit string) monitor.BaselineState {
		return monitor.BaselineState{Target: "data", Workload: "read_4k_q1", Op: op, Signal: signal, Unit: unit, Runs: 24, Since: since, Earlier: 1}
	}
	rate, p50, p99, tail := read("all", "rate", "iops"), read("read", "p50", "seconds"), read("read", "p99", "seconds"), read("read", "tail", "ratio")
	rate.Baseline, rate.Last, rate.Degradation = new(11873.4), new(5936.7), new(1.0)
	p50.Baseline, p50.Last, p50.Degradation = new(83.2e-6), new(80e-6), new(-0.0385)
	p99.Baseline, p99.Last = new(1.5e-3), new(2e-3)
	tail.Baseline, tail.Last, tail.Degradation = new(0.01), new(0.0123), new(0.23)
	return []monitor.BaselineState{rate, p50, p99, tail, {Target: "data", Workload: "write_1m_q2", Op: "all", Signal: "rate", Unit: "iops", Runs: 3, Last: new(420.0)}}
}

func (f *fakeService) change(did, target, workload string) ([]monitor.BaselineChange, error) {
	f.asked = append(f.asked, strings.TrimSpace(did+" "+target+" "+workload))
	if target != "data" {
		return nil, fmt.Errorf("target %q is %w; there are: data", target, monitor.ErrUnknown)
	}
	all := []monitor.BaselineChange{
		{Target: "data", Workload: "read_4k_q1", Runs: 24}, {Target: "data", Workload: "write_1m_q2", Kept: "3 clean runs alike are known, and a baseline needs 8"},
	}
	if workload == "write_1m_q2" {
		return all[1:], nil
	}
	return all, nil
}

func (f *fakeService) AcceptBaseline(_ context.Context, target, workload string) ([]monitor.BaselineChange, error) {
	return f.change("accept", target, workload)
}

func (f *fakeService) ResetBaseline(_ context.Context, target, workload string) ([]monitor.BaselineChange, error) {
	return f.change("reset", target, workload)
}

func (f *fakeService) Pause(_ context.Context, d time.Duration) (time.Time, error) {
	f.asked = append(f.asked, "pause "+d.String())
	return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), nil
}

func (f *fakeService) Resume(context.Context) (bool, error) {
	f.asked = append(f.asked, "resume")
	return false, nil
}

// runWith runs the program against a service and tells all that it says.
func runWith(t *testing.T, f control.Service, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "ssd")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if f != nil {
		s, err := control.Start(dir, f, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
	}
	var out, errs strings.Builder
	code = run(append([]string{"--state.path=" + dir}, args...), strings.NewReader(""), &out, &errs)
	return code, out.String(), strings.ReplaceAll(errs.String(), dir, "DIR")
}

func TestBaseline_show_is_a_table_for_people(t *testing.T) {
	code, out, errs := runWith(t, &fakeService{}, "baseline", "show")
	want := `TARGET  WORKLOAD     SERIES     RUNS  BASELINE  LAST     DRIFT       SINCE                 KEPT BESIDE
data    read_4k_q1   rate       24    11,873/s  5,937/s  +100.0%     2026-03-01 12:00 UTC  1
data    read_4k_q1   read p50   24    83.2µs    80µs     -3.9%       2026-03-01 12:00 UTC  1
data    read_4k_q1   read p99   24    1.5ms     2ms      not judged  2026-03-01 12:00 UTC  1
data    read_4k_q1   read tail  24    1.00%     1.23%    +23.0%      2026-03-01 12:00 UTC  1
data    write_1m_q2  rate       3     -         420/s    learning    first runs            0
`
	if d := cmp.Diff(want, out); d != "" || code != exitOK || errs != "" {
		t.Errorf("code %d, stderr %q, table (-want +got):\n%s", code, errs, d)
	}
}

func TestBaseline_show_is_JSON_for_programs(t *testing.T) {
	code, out, errs := runWith(t, &fakeService{}, "baseline", "show", "--output=json")
	var got []map[string]any
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != exitOK || errs != "" {
		t.Fatalf("code %d, %v, %q", code, err, errs)
	}
	want := map[string]any{
		"target": "data", "workload": "write_1m_q2", "op": "all", "signal": "rate", "unit": "iops", "runs": 3.0,
		"baseline": nil, "last": 420.0, "degradation": nil, "since": nil, "earlier": 0.0,
	}
	if d := cmp.Diff(want, got[len(got)-1]); len(got) != 5 || d != "" {
		t.Errorf("%d series, the last (-want +got):\n%s", len(got), d)
	}
}

func TestBaseline_and_pause_say_what_became_of_it(t *testing.T) {
	const kept = "data write_1m_q2: as it was: 3 clean runs alike are known, and a baseline needs 8\n"
	for name, c := range map[string]struct {
		args           []string
		code           int
		asked          string
		stdout, stderr string
	}{
		"accept all": {[]string{"baseline", "accept", "data"}, exitOK, "accept data", "data read_4k_q1: the newest 24 clean runs are its baseline\n" + kept, ""},
		"reset all":  {[]string{"baseline", "reset", "data"}, exitOK, "reset data", "data read_4k_q1: learns anew\n" + kept, ""},
		"accept one that has too few": {
			[]string{"baseline", "accept", "data", "write_1m_q2"},
			exitFailure, "accept data write_1m_q2", kept,
			"ssd_exporter: no baseline was changed; wait for more clean runs, or begin anew with \"ssd_exporter baseline reset\"\n",
		},
		"a target there is none of": {
			[]string{"baseline", "accept", "date"}, exitFailure, "accept date", "", "ssd_exporter: baseline accept: target \"date\" is not known; there are: data\n",
		},
		"no target":       {[]string{"baseline", "accept"}, exitUsage, "", "", "ssd_exporter: required argument 'TARGET' not provided; see ssd_exporter --help\n"},
		"pause":           {[]string{"pause"}, exitOK, "pause 1h0m0s", "No probe starts before 2026-03-01 12:00:00 UTC; \"ssd_exporter resume\" ends that earlier.\n", ""},
		"pause for long":  {[]string{"pause", "--for=7d"}, exitOK, "pause 168h0m0s", "No probe starts before 2026-03-01 12:00:00 UTC; \"ssd_exporter resume\" ends that earlier.\n", ""},
		"pause for ever":  {[]string{"pause", "--for=1y"}, exitFailure, "", "", "ssd_exporter: pause: a pause of 3.1536e+07 seconds is not possible; accepted: above 0 and up to 2.592e+06\n"},
		"pause for words": {[]string{"pause", "--for=lunch"}, exitUsage, "", "", "ssd_exporter: --for=lunch is not a duration; accepted: numbers and units from large to small, such as 30m, 2h or 7d\n"},
		"resume":          {[]string{"resume"}, exitOK, "resume", "Probing was not paused.\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fakeService{}
			code, out, errs := runWith(t, f, c.args...)
			if code != c.code || strings.Join(f.asked, ", ") != c.asked {
				t.Errorf("code %d, asked %q; want %d, %q", code, f.asked, c.code, c.asked)
			}
			if d := cmp.Diff([2]string{c.stdout, c.stderr}, [2]string{out, errs}); d != "" {
				t.Errorf("stdout and stderr (-want +got):\n%s", d)
			}
		})
	}
}

func TestBaseline_without_a_service_says_how_to_start_one(t *testing.T) {
	for _, args := range [][]string{{"baseline", "show"}, {"baseline", "accept", "data"}, {"baseline", "reset", "data"}, {"pause"}, {"resume"}} {
		code, out, errs := runWith(t, nil, args...)
		if code != exitFailure || out != "" || !strings.Contains(errs, "no ssd_exporter service answers at DIR/control.sock; start it with: ssd_exporter --state.path=DIR") {
			t.Errorf("%v: code %d, %q, %q", args, code, out, errs)
		}
	}
}
