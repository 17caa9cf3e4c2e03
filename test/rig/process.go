package rig

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Process is a program that the test started.
type Process struct {
	t    testing.TB
	name string
	cmd  *exec.Cmd
	log  *lockedBuffer
	done chan struct{}
	err  error
}

// Start starts a program and ends it with the test.
func Start(t testing.TB, name string, args ...string) *Process {
	t.Helper()
	return StartWith(t, nil, name, args...)
}

// StartWith is Start with an environment; nil is that of the test.
func StartWith(t testing.TB, env []string, name string, args ...string) *Process {
	t.Helper()
	p := &Process{t: t, name: name, cmd: exec.Command(name, args...), log: &lockedBuffer{}, done: make(chan struct{})}
	p.cmd.Env = env
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	if err := p.cmd.Start(); err != nil {
		t.Fatalf("starting %s: %v", name, err)
	}
	go func() { p.err = p.cmd.Wait(); close(p.done) }()
	t.Cleanup(func() {
		p.Stop()
		if t.Failed() {
			t.Logf("last output of %s:\n%s", name, p.Log())
		}
	})
	return p
}

// PID is the process's.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Log is the end of what the process printed.
func (p *Process) Log() string { return p.log.tail(16 << 10) }

// Signal sends a signal.
func (p *Process) Signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) }

// Stop asks the process to end and kills it when it does not within ten seconds. It returns the exit code.
func (p *Process) Stop() int {
	p.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(10 * time.Second):
		p.Kill()
	}
	return p.cmd.ProcessState.ExitCode()
}

// Kill is kill -9.
func (p *Process) Kill() {
	p.Signal(syscall.SIGKILL)
	<-p.done
}

// Exited is closed when the process is gone.
func (p *Process) Exited() <-chan struct{} { return p.done }

// Eventually asks again and again until check returns nil, the process ends or time is up.
func (p *Process) Eventually(within time.Duration, what string, check func() error) {
	p.t.Helper()
	deadline := time.Now().Add(within)
	for {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-p.done:
			p.t.Fatalf("%s ended while waiting for %s: %v\n%s", p.name, what, p.err, p.Log())
		case <-time.After(250 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("%s: not within %v: %v\n%s", what, within, err, p.Log())
		}
	}
}

// FreeAddress is an address on loopback that was free a moment ago.
func FreeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// Get fetches a page with headers given as "Name: value".
func Get(ctx context.Context, url string, headers ...string) (body []byte, h http.Header, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, nil, err
	}
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(io.LimitReader(resp.Body, 64<<20))
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %.200s", url, resp.Status, body)
	}
	return body, resp.Header, err
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) tail(n int) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.b.Bytes()
	return string(b[max(0, len(b)-n):])
}
