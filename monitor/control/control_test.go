package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"ssd_exporter/monitor"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake remembers what it was asked and answers as told.
type fake struct {
	asked []string
	err   error
}

func (f *fake) Baselines() []monitor.BaselineState {
	return []monitor.BaselineState{
		{Target: "data", Workload: "read", Op: "all", Signal: "rate", Unit: "iops", Runs: 9, Baseline: new(4000.0), Last: new(2000.0), Degradation: new(1.0), Since: time.Unix(1000, 0).UTC(), Earlier: 1},
		{Target: "data", Workload: "read", Op: "read", Signal: "p99", Unit: "seconds", Runs: 3},
	}
}

func (f *fake) AcceptBaseline(_ context.Context, target, workload string) ([]monitor.BaselineChange, error) {
	f.asked = append(f.asked, "accept "+target+" "+workload)
	return []monitor.BaselineChange{{Target: target, Workload: "read", Runs: 24}, {Target: target, Workload: "write", Kept: "too few"}}, f.err
}

func (f *fake) ResetBaseline(_ context.Context, target, workload string) ([]monitor.BaselineChange, error) {
	f.asked = append(f.asked, "reset "+target+" "+workload)
	return nil, f.err
}

func (f *fake) Pause(_ context.Context, d time.Duration) (time.Time, error) {
	f.asked = append(f.asked, "pause "+d.String())
	return time.Unix(5000, 0).UTC(), f.err
}

func (f *fake) Resume(context.Context) (bool, error) {
	f.asked = append(f.asked, "resume")
	return true, f.err
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// folder is a state folder whose path is short enough, whatever the test is called.
func folder(t *testing.T) string {
	dir, err := os.MkdirTemp("", "ssd")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func start(t *testing.T, dir string, f Service) *Server {
	t.Helper()
	s, err := Start(dir, f, quiet())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestAClientGetsWhatTheServiceSays(t *testing.T) {
	dir, f, ctx := folder(t), &fake{}, context.Background()
	start(t, dir, f)
	c := NewClient(dir)
	series, err := c.Baselines(ctx)
	if err != nil {
		t.Fatal(err)
	}
	since := time.Unix(1000, 0).UTC()
	if d := cmp.Diff([]Series{
		{Target: "data", Workload: "read", Op: "all", Signal: "rate", Unit: "iops", Runs: 9, Baseline: new(4000.0), Last: new(2000.0), Degradation: new(1.0), Since: &since, Earlier: 1},
		{Target: "data", Workload: "read", Op: "read", Signal: "p99", Unit: "seconds", Runs: 3},
	}, series); d != "" {
		t.Errorf("series (-want +got):\n%s", d)
	}
	changes, err := c.Accept(ctx, "data", "")
	if d := cmp.Diff([]Change{{"data", "read", 24, ""}, {"data", "write", 0, "too few"}}, changes); d != "" || err != nil {
		t.Errorf("%v\n%s", err, d)
	}
	if changes, err := c.Reset(ctx, "data", "read"); err != nil || len(changes) != 0 {
		t.Errorf("%v %v", changes, err)
	}
	if until, err := c.Pause(ctx, 90*time.Minute); err != nil || until.Unix() != 5000 {
		t.Errorf("%v %v", until, err)
	}
	if was, err := c.Resume(ctx); err != nil || !was {
		t.Errorf("%v %v", was, err)
	}
	if d := cmp.Diff([]string{"accept data ", "reset data read", "pause 1h30m0s", "resume"}, f.asked); d != "" {
		t.Error(d)
	}
}

func TestAClientGetsTheServicesErrors(t *testing.T) {
	dir := folder(t)
	f := &fake{}
	start(t, dir, f)
	for _, err := range []error{
		fmt.Errorf("target \"x\" is %w; there are: data", monitor.ErrUnknown), errors.New("something else"), fmt.Errorf("its disk may hang: %w", context.DeadlineExceeded),
	} {
		f.err = err
		if _, got := NewClient(dir).Accept(context.Background(), "x", ""); got == nil || got.Error() != err.Error() {
			t.Errorf("%v, want %v", got, err)
		}
	}
	f.err = nil
	for _, d := range []time.Duration{0, -time.Second, monitor.MostPause + time.Second} {
		if _, err := NewClient(dir).Pause(context.Background(), d); err == nil || !strings.Contains(err.Error(), "accepted: above 0") {
			t.Errorf("a pause of %v: %v", d, err)
		}
	}
}

func TestNobodyAnswers(t *testing.T) {
	dead := folder(t)
	stale(t, dead)
	for name, dir := range map[string]string{
		"no state folder": filepath.Join(folder(t), "none"), "no socket": folder(t), "a socket of a dead process": dead,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := NewClient(dir).Baselines(context.Background())
			if !errors.Is(err, ErrNotRunning) || !strings.Contains(err.Error(), "start it with: ssd_exporter --state.path="+dir) {
				t.Errorf("%v", err)
			}
		})
	}
}

// stale leaves a socket as kill -9 does.
func stale(t *testing.T, dir string) {
	t.Helper()
	l, err := net.Listen("unix", filepath.Join(dir, Socket))
	if err != nil {
		t.Fatal(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	l.Close()
}

func TestASocketOfADeadProcessIsReplaced(t *testing.T) {
	dir := folder(t)
	stale(t, dir)
	s := start(t, dir, &fake{})
	if _, err := NewClient(dir).Baselines(context.Background()); err != nil {
		t.Error(err)
	}
	info, err := os.Lstat(filepath.Join(dir, Socket))
	if err != nil || info.Mode() != os.ModeSocket|0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(filepath.Join(dir, Socket)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after Close: %v", err)
	}
}

func TestWhatIsNotOursStays(t *testing.T) {
	t.Run("a file", func(t *testing.T) {
		dir := folder(t)
		path := filepath.Join(dir, Socket)
		if err := os.WriteFile(path, []byte("someone's"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Start(dir, &fake{}, quiet()); err == nil || !strings.Contains(err.Error(), "move it away") {
			t.Errorf("%v", err)
		}
		if b, err := os.ReadFile(path); err != nil || string(b) != "someone's" {
			t.Errorf("it now holds %q, %v", b, err)
		}
	})
	t.Run("a socket that somebody listens on", func(t *testing.T) {
		dir := folder(t)
		start(t, dir, &fake{})
		if _, err := Start(dir, &fake{}, quiet()); err == nil || !strings.Contains(err.Error(), "another process answers there") {
			t.Errorf("%v", err)
		}
		if _, err := NewClient(dir).Baselines(context.Background()); err != nil {
			t.Errorf("the first one no longer answers: %v", err)
		}
	})
}

func TestAPathThatIsTooLongSaysSo(t *testing.T) {
	dir := filepath.Join(folder(t), strings.Repeat("d", 100))
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Start(dir, &fake{}, quiet()); !errors.Is(err, errPathTooLong) || !strings.Contains(err.Error(), "at most 107); choose a shorter one with --state.path") {
		t.Errorf("service: %v", err)
	}
	if _, err := NewClient(dir).Baselines(context.Background()); !errors.Is(err, errPathTooLong) {
		t.Errorf("command: %v", err)
	}
	// Just short enough works.
	base := folder(t)
	dir = filepath.Join(base, strings.Repeat("d", mostPath-len(base)-len(Socket)-2))
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	start(t, dir, &fake{})
	if _, err := NewClient(dir).Baselines(context.Background()); err != nil {
		t.Error(err)
	}
}

// An @ at the beginning would make a socket without a file, open to everybody.
func TestAStateFolderWithAnAtSign(t *testing.T) {
	t.Chdir(folder(t))
	if err := os.Mkdir("@state", 0o700); err != nil {
		t.Fatal(err)
	}
	start(t, "@state", &fake{})
	if _, err := os.Lstat("@state/" + Socket); err != nil {
		t.Error(err)
	}
}

func TestOnlyTheOwnerAndRootAreAnswered(t *testing.T) {
	for name, c := range map[string]struct {
		caller any
		want   int
	}{
		"root": {uint32(0), http.StatusOK}, "the user of the service": {uint32(os.Geteuid()), http.StatusOK},
		"somebody else": {uint32(4711), http.StatusForbidden}, "not known": {nil, http.StatusForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ask(c.caller, http.MethodGet, pathShow, nil); got.Code != c.want {
				t.Errorf("status %d, want %d: %s", got.Code, c.want, got.Body)
			}
		})
	}
}

// ask puts a request to a handler as if it came from a user.
func ask(caller any, method, path string, body []byte) *httptest.ResponseRecorder {
	s := &Server{service: &fake{}, log: quiet()}
	r := httptest.NewRequest(method, path, bytes.NewReader(body))
	if caller != nil {
		r = r.WithContext(context.WithValue(r.Context(), callerKey{}, caller))
	}
	w := httptest.NewRecorder()
	s.handler().ServeHTTP(w, r)
	return w
}

func TestBadRequestsAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		method, path, body string
		want               int
	}{
		"no body":            {"POST", pathAccept, "", http.StatusBadRequest},
		"no JSON":            {"POST", pathAccept, "data", http.StatusBadRequest},
		"an unknown key":     {"POST", pathReset, `{"target":"data","force":true}`, http.StatusBadRequest},
		"a huge body":        {"POST", pathReset, `{"target":"` + strings.Repeat("x", mostRequest) + `"}`, http.StatusBadRequest},
		"another method":     {"GET", pathAccept, "", http.StatusMethodNotAllowed},
		"another version":    {"GET", "/v2/baselines", "", http.StatusNotFound},
		"a pause of nothing": {"POST", pathPause, `{}`, http.StatusBadRequest},
		"a pause of ages":    {"POST", pathPause, `{"seconds":1e300}`, http.StatusBadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ask(uint32(0), c.method, c.path, []byte(c.body)); got.Code != c.want {
				t.Errorf("status %d, want %d: %s", got.Code, c.want, got.Body)
			}
		})
	}
}

// A newer or older service may not know a question.
func TestAnAnswerThatIsNotUnderstood(t *testing.T) {
	dir := folder(t)
	l, err := listen(socketPath(dir))
	if err != nil {
		t.Fatal(err)
	}
	s := http.Server{Handler: http.NotFoundHandler()}
	done := make(chan struct{})
	go func() { defer close(done); _ = s.Serve(l) }()
	defer func() { s.Close(); <-done }()
	if _, err := NewClient(dir).Baselines(context.Background()); err == nil || !strings.Contains(err.Error(), "404 Not Found; is it of the same version") {
		t.Errorf("%v", err)
	}
}

func FuzzRequests(f *testing.F) {
	f.Add(pathAccept, []byte(`{"target":"data","workload":"read"}`))
	f.Add(pathReset, []byte(`{"target":"data"}`))
	f.Add(pathPause, []byte(`{"seconds":3600}`))
	f.Add(pathResume, []byte(`{}`))
	f.Add(pathPause, []byte(`{"seconds":-1}`))
	f.Fuzz(func(t *testing.T, path string, body []byte) {
		if path != pathAccept && path != pathReset && path != pathPause && path != pathResume {
			return
		}
		w := ask(uint32(0), http.MethodPost, path, body)
		if b, err := io.ReadAll(w.Body); err != nil || !json.Valid(b) {
			t.Errorf("status %d, answer %q, %v", w.Code, b, err)
		}
	})
}
