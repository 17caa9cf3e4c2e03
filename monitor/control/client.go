package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// ErrNotRunning says that no service answers for a state folder.
var ErrNotRunning = errors.New("no ssd_exporter service answers")

// Client asks the service of a state folder.
type Client struct {
	dir  string
	http http.Client
}

// NewClient makes a Client; nothing is touched before the first question.
func NewClient(stateDir string) *Client {
	path := socketPath(stateDir)
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		if len(path) > mostPath {
			return nil, fmt.Errorf("%s: %w (%d bytes, at most %d)", path, errPathTooLong, len(path), mostPath)
		}
		return (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, "unix", path)
	}
	return &Client{dir: stateDir, http: http.Client{
		Timeout:   answerWithin + 5*time.Second,
		Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true},
	}}
}

// Baselines are all series of all targets. The error, as of every question, is ErrNotRunning or what the service says.
func (c *Client) Baselines(ctx context.Context) ([]Series, error) {
	var a seriesAnswer
	err := c.ask(ctx, http.MethodGet, pathShow, nil, &a)
	return a.Series, err
}

// Accept makes the newest clean runs the baseline; of all workloads of the target when workload is "".
func (c *Client) Accept(ctx context.Context, target, workload string) ([]Change, error) {
	var a changesAnswer
	err := c.ask(ctx, http.MethodPost, pathAccept, which{target, workload}, &a)
	return a.Changes, err
}

// Reset has a baseline learned anew; of all workloads of the target when workload is "".
func (c *Client) Reset(ctx context.Context, target, workload string) ([]Change, error) {
	var a changesAnswer
	err := c.ask(ctx, http.MethodPost, pathReset, which{target, workload}, &a)
	return a.Changes, err
}

// Pause has no run started for so long.
func (c *Client) Pause(ctx context.Context, d time.Duration) (until time.Time, err error) {
	var a pauseAnswer
	err = c.ask(ctx, http.MethodPost, pathPause, pause{d.Seconds()}, &a)
	return a.Until, err
}

// Resume ends a pause and says whether there was one.
func (c *Client) Resume(ctx context.Context) (was bool, err error) {
	var a resumeAnswer
	err = c.ask(ctx, http.MethodPost, pathResume, struct{}{}, &a)
	return a.Was, err
}

func (c *Client) ask(ctx context.Context, method, path string, question, reply any) error {
	var body io.Reader = http.NoBody
	if question != nil {
		b, err := json.Marshal(question)
		if err != nil {
			return fmt.Errorf("asking the service: %w", err)
		}
		body = bytes.NewReader(b)
	}
	r, err := http.NewRequestWithContext(ctx, method, "http://ssd_exporter"+path, body)
	if err != nil {
		return fmt.Errorf("asking the service: %w", err)
	}
	resp, err := c.http.Do(r)
	if err != nil {
		return c.unreachable(err)
	}
	defer resp.Body.Close()
	answer := json.NewDecoder(io.LimitReader(resp.Body, mostAnswer))
	if resp.StatusCode == http.StatusOK {
		if err := answer.Decode(reply); err != nil {
			return fmt.Errorf("the answer of the service at %s cannot be read: %w", filepath.Join(c.dir, Socket), err)
		}
		return nil
	}
	var e errorAnswer
	if err := answer.Decode(&e); err != nil || e.Error == "" {
		return fmt.Errorf("the service at %s answers %s; is it of the same version as this command?", filepath.Join(c.dir, Socket), resp.Status)
	}
	return errors.New(e.Error)
}

// unreachable says what to do when there is no answer.
func (c *Client) unreachable(err error) error {
	path := filepath.Join(c.dir, Socket)
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // its address is of no use to anybody
	}
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ECONNREFUSED):
		return fmt.Errorf("%w at %s; start it with: ssd_exporter --state.path=%s, or name the state folder of the one that runs with --state.path", ErrNotRunning, path, c.dir)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s belongs to another user: %w; run this as the user of the service, or as root", path, fs.ErrPermission)
	}
	return fmt.Errorf("asking the service at %s: %w", path, err)
}
