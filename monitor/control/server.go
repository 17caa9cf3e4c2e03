package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"ssd_exporter/monitor"
)

// Service is what a Server speaks for; *monitor.Monitor is one.
type Service interface {
	Baselines() []monitor.BaselineState
	AcceptBaseline(ctx context.Context, target, workload string) ([]monitor.BaselineChange, error)
	ResetBaseline(ctx context.Context, target, workload string) ([]monitor.BaselineChange, error)
	Pause(ctx context.Context, d time.Duration) (until time.Time, err error)
	Resume(ctx context.Context) (was bool, err error)
}

// Server answers on the socket of a state folder.
type Server struct {
	http    http.Server
	service Service
	log     *slog.Logger
	done    chan struct{}
}

// answerWithin bounds one answer: the store that it may have to read can lie on a disk that hangs.
const answerWithin = 20 * time.Second

// Start listens on the socket of a state folder and answers until Close. Whoever calls it has the state folder for itself, as the
// lock of the history gives it. The error says why there is no socket, which is no reason not to go on.
func Start(stateDir string, s Service, log *slog.Logger) (*Server, error) {
	path := socketPath(stateDir)
	l, err := listen(path)
	if err != nil {
		return nil, fmt.Errorf("no control socket %s, so that commands such as baseline and pause cannot reach this service: %w", path, err)
	}
	c := &Server{service: s, log: log, done: make(chan struct{})}
	c.http = http.Server{
		Handler:           c.handler(),
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: answerWithin + 10*time.Second, IdleTimeout: 10 * time.Second,
		ConnContext: withCaller,
		ErrorLog:    slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	go func() {
		defer close(c.done)
		if err := c.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			log.Warn("the control socket no longer answers", "path", path, "err", err)
		}
	}()
	return c, nil
}

// Close ends the Server and removes its socket. Requests under way have a second to end.
func (c *Server) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	err := c.http.Shutdown(ctx)
	if err != nil {
		err = errors.Join(fmt.Errorf("closing the control socket: %w", err), c.http.Close())
	}
	<-c.done
	return err
}

// listen makes the socket, in place of one that nobody listens on any more.
func listen(path string) (net.Listener, error) {
	if len(path) > mostPath {
		return nil, fmt.Errorf("%w (%d bytes, at most %d); choose a shorter one with --state.path", errPathTooLong, len(path), mostPath)
	}
	if err := removeStale(path); err != nil {
		return nil, err
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

func removeStale(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode()&fs.ModeSocket == 0:
		return errors.New("something else has that name; move it away")
	}
	if c, err := net.DialTimeout("unix", path, time.Second); err == nil {
		return errors.Join(errors.New("another process answers there; stop that one"), c.Close())
	} else if !errors.Is(err, unix.ECONNREFUSED) {
		return fmt.Errorf("whether anybody listens there cannot be told: %w", err)
	}
	return os.Remove(path)
}

type callerKey struct{}

// withCaller notes the user at the other end: until its mode was set, the socket may have been open to others.
func withCaller(ctx context.Context, c net.Conn) context.Context {
	u, ok := c.(*net.UnixConn)
	if !ok {
		return ctx
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return ctx
	}
	var cred *unix.Ucred
	var credErr error
	if err := raw.Control(func(fd uintptr) { cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); err != nil || credErr != nil {
		return ctx
	}
	return context.WithValue(ctx, callerKey{}, cred.Uid)
}

// allowed says whether the caller is the user of the service, or root. One that is not known is neither.
func allowed(ctx context.Context) bool {
	uid, known := ctx.Value(callerKey{}).(uint32)
	return known && (uid == 0 || int(uid) == os.Geteuid())
}

func (c *Server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET "+pathShow, answer(func(context.Context, struct{}) (any, error) {
		return seriesAnswer{seriesOf(c.service.Baselines())}, nil
	}))
	mux.Handle("POST "+pathAccept, answer(func(ctx context.Context, w which) (any, error) {
		changes, err := c.service.AcceptBaseline(ctx, w.Target, w.Workload)
		return changesAnswer{changesOf(changes)}, err
	}))
	mux.Handle("POST "+pathReset, answer(func(ctx context.Context, w which) (any, error) {
		changes, err := c.service.ResetBaseline(ctx, w.Target, w.Workload)
		return changesAnswer{changesOf(changes)}, err
	}))
	mux.Handle("POST "+pathPause, answer(func(ctx context.Context, p pause) (any, error) {
		if !(p.Seconds > 0 && p.Seconds <= monitor.MostPause.Seconds()) { // NaN too
			return nil, fmt.Errorf("a pause of %v seconds is not possible; accepted: above 0 and up to %v", p.Seconds, monitor.MostPause.Seconds())
		}
		until, err := c.service.Pause(ctx, time.Duration(p.Seconds*float64(time.Second)))
		return pauseAnswer{until}, err
	}))
	mux.Handle("POST "+pathResume, answer(func(ctx context.Context, _ struct{}) (any, error) {
		was, err := c.service.Resume(ctx)
		return resumeAnswer{was}, err
	}))
	return mux
}

// answer decodes a request, asks f within its time, and encodes what it says.
func answer[T any](f func(context.Context, T) (any, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !allowed(r.Context()) {
			say(w, http.StatusForbidden, errorAnswer{"only the user of the service, and root, may do that"})
			return
		}
		var request T
		if r.Method == http.MethodPost {
			d := json.NewDecoder(http.MaxBytesReader(w, r.Body, mostRequest))
			d.DisallowUnknownFields()
			if err := d.Decode(&request); err != nil {
				say(w, http.StatusBadRequest, errorAnswer{"the request cannot be read: " + err.Error()})
				return
			}
		}
		ctx, cancel := context.WithTimeout(r.Context(), answerWithin)
		defer cancel()
		result, err := f(ctx, request)
		switch {
		case errors.Is(err, monitor.ErrUnknown):
			say(w, http.StatusNotFound, errorAnswer{err.Error()})
		case errors.Is(err, context.DeadlineExceeded):
			say(w, http.StatusServiceUnavailable, errorAnswer{err.Error()})
		case err != nil:
			say(w, http.StatusBadRequest, errorAnswer{err.Error()})
		default:
			say(w, http.StatusOK, result)
		}
	})
}

func say(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // whoever has hung up does not want to know
}
