package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	toolkit "github.com/prometheus/exporter-toolkit/web"
)

// maxRequests is how many requests are answered at a time; more get 503. Pages come from memory, so this is far above what
// Prometheus and a few people need, and keeps a flood from eating the host.
const maxRequests = 40

// server is the HTTP server: it takes its ports first and gets something to serve later.
type server struct {
	http    http.Server
	flags   *toolkit.FlagConfig
	log     *slog.Logger
	handler atomic.Pointer[http.Handler]
	up      chan struct{} // closed once every address is listened on
	failed  chan error    // why it ended by itself
}

func newServer(flags *toolkit.FlagConfig, log *slog.Logger) *server {
	s := &server{flags: flags, log: log, up: make(chan struct{}), failed: make(chan error, 1)}
	var once sync.Once
	s.http = http.Server{
		Handler:           limit(maxRequests, http.HandlerFunc(s.dispatch)),
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      time.Minute,
		IdleTimeout:       2 * time.Minute,
		// The toolkit opens all listeners before it serves the first one, and serving begins with this call.
		BaseContext: func(net.Listener) context.Context {
			once.Do(func() { close(s.up) })
			return context.Background()
		},
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	return s
}

// listen returns once the ports are taken. A port in use ends the program with exitPort.
func (s *server) listen(ctx context.Context) error {
	go func() { s.failed <- toolkit.ListenAndServe(&s.http, s.flags, s.log) }()
	select {
	case <-s.up:
		return nil
	case err := <-s.failed:
		return listenError(*s.flags.WebListenAddresses, err)
	case <-ctx.Done():
		return ctx.Err()
	}
}

func listenError(addresses []string, err error) error {
	where := strings.Join(addresses, ", ")
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return exitf(exitPort, "cannot listen on %s: %w; another program has that port, perhaps another ssd_exporter: stop it, or choose another with --web.listen-address", where, err)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("cannot listen on %s: %w; ports below 1024 need CAP_NET_BIND_SERVICE: choose another with --web.listen-address", where, err)
	}
	var address *net.AddrError
	var name *net.DNSError
	if errors.As(err, &address) || errors.As(err, &name) {
		return exitf(exitUsage, "cannot listen on %s: %w; --web.listen-address takes [HOST]:PORT, the port from 0 to 65535", where, err)
	}
	return fmt.Errorf("cannot listen on %s: %w; check --web.listen-address and --web.config.file", where, err)
}

// serve sets what is served from now on.
func (s *server) serve(h http.Handler) { s.handler.Store(&h) }

// shutdown lets open requests finish.
func (s *server) shutdown() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopServer)
	defer cancel()
	if err := s.http.Shutdown(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("stopping the HTTP server: %w", err)
	}
	return nil
}

// close drops what shutdown left.
func (s *server) close() { _ = s.http.Close() } // the process ends; nobody could do anything about an error

func (s *server) dispatch(w http.ResponseWriter, r *http.Request) {
	if h := s.handler.Load(); h != nil {
		(*h).ServeHTTP(w, r)
		return
	}
	w.Header().Set("Retry-After", "1")
	http.Error(w, "ssd_exporter is starting: the state folder is being opened", http.StatusServiceUnavailable)
}

// limit answers 503 to requests beyond n at a time.
func limit(n int, next http.Handler) http.Handler {
	slots := make(chan struct{}, n)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
			next.ServeHTTP(w, r)
		default:
			w.Header().Set("Retry-After", "1")
			http.Error(w, fmt.Sprintf("more than %d requests at a time; try again", n), http.StatusServiceUnavailable)
		}
	})
}
