package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

// TestScripts runs testdata/script/*.txt: the command line as people type it. Beyond testscript's own commands they have:
//
//	code N program args…     run it and want exit code N, or one of N|M
//	gzip from to             compress a file
//	free NAME                put a free loopback address into $NAME
//	taken NAME               the same, but something listens there until the script ends
//	page URL pattern…        ask for URL until its page matches all patterns, for 20 seconds at most
//	hup                      send SIGHUP to everything that runs in the background
//
// and the conditions [tmpfs], under which $SHM is a fresh folder in RAM, [disk], under which $WORK is on a disk, and [ordinary],
// under which permissions count.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               setup,
		Condition:           condition,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"code": code, "gzip": compress, "free": free, "taken": taken, "page": page, "hup": hup,
		},
	})
}

func setup(e *testscript.Env) error {
	e.Setenv("NO_COLOR", "1")
	e.Setenv("GORACE", "atexit_sleep_ms=0") // or each command takes a second to end
	if !inRAM("/dev/shm") {
		return nil
	}
	dir, err := os.MkdirTemp("/dev/shm", "ssd_exporter-test-")
	if err != nil {
		return nil // no such folder for us: the condition says so
	}
	e.Defer(func() { _ = os.RemoveAll(dir) })
	e.Setenv("SHM", dir)
	return nil
}

func condition(c string) (bool, error) {
	switch c {
	case "tmpfs":
		return inRAM("/dev/shm") && unix.Access("/dev/shm", unix.W_OK) == nil, nil
	case "disk":
		return !inRAM(os.TempDir()), nil
	case "ordinary":
		return os.Geteuid() != 0, nil
	}
	return false, fmt.Errorf("unknown condition %q", c)
}

func inRAM(dir string) bool {
	var st unix.Statfs_t
	return unix.Statfs(dir, &st) == nil && st.Type == unix.TMPFS_MAGIC
}

func code(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N program args…")
	}
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		e, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("running %s: %v", args[1], err)
		}
		got = e.ExitCode()
	}
	if want := strings.Split(args[0], "|"); !slices.Contains(want, strconv.Itoa(got)) {
		ts.Fatalf("exit code %d, want %s", got, args[0])
	}
}

func compress(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: gzip from to")
	}
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := io.WriteString(w, ts.ReadFile(args[0]))
	ts.Check(errors.Join(err, w.Close(), os.WriteFile(ts.MkAbs(args[1]), b.Bytes(), 0o600)))
}

func free(ts *testscript.TestScript, _ bool, args []string) {
	l := listener(ts, args)
	ts.Check(l.Close())
}

func taken(ts *testscript.TestScript, _ bool, args []string) {
	l := listener(ts, args)
	ts.Defer(func() { _ = l.Close() })
}

func listener(ts *testscript.TestScript, args []string) net.Listener {
	if len(args) != 1 {
		ts.Fatalf("usage: free NAME, or taken NAME")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Setenv(args[0], l.Addr().String())
	return l
}

func page(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: page URL pattern…")
	}
	var last string
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		body, err := get(args[0])
		if err != nil {
			last = err.Error()
			continue
		}
		last = body
		if matchesAll(ts, body, args[1:]) {
			return
		}
	}
	for _, c := range ts.BackgroundCmds() {
		_ = c.Process.Signal(syscall.SIGINT) // so that its output is shown
	}
	ts.Fatalf("%s does not match %q:\n%s", args[0], args[1:], last)
}

func get(url string) (string, error) {
	resp, err := http.Get(url)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, 1<<22))
	return fmt.Sprintf("status %d\n%s", resp.StatusCode, b), err
}

func matchesAll(ts *testscript.TestScript, body string, patterns []string) bool {
	for _, p := range patterns {
		re, err := regexp.Compile("(?m)" + p)
		ts.Check(err)
		if !re.MatchString(body) {
			return false
		}
	}
	return true
}

func hup(ts *testscript.TestScript, _ bool, _ []string) {
	for _, c := range ts.BackgroundCmds() {
		ts.Check(c.Process.Signal(syscall.SIGHUP))
	}
}

// TestScripts_exist keeps a moved folder from making TestScripts pass with nothing.
func TestScripts_exist(t *testing.T) {
	files, err := filepath.Glob("testdata/script/*.txt")
	if err != nil || len(files) < 10 {
		t.Errorf("%d scripts (%v), want at least 10", len(files), err)
	}
}
