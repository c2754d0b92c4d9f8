package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// Limits of the server. Writing has none, because answers stream.
const (
	headerWithin = 10 * time.Second
	bodyWithin   = 2 * time.Minute
	idleFor      = 2 * time.Minute
	maxHeader    = 64 << 10
)

// ServeOptions tune Serve. Only Logger is required.
type ServeOptions struct {
	// Grace is how long requests may continue when the context has ended.
	Grace time.Duration
	// Connections is how many may be open; 0: no limit. For one more, another
	// one is closed: see [connections].
	Connections int
	Logger      *slog.Logger
}

// Serve answers on ln until ctx ends. Then it accepts no more, gives running
// requests o.Grace to finish, and closes the rest. It closes ln.
func Serve(ctx context.Context, ln net.Listener, h http.Handler, o ServeOptions) error {
	srv := &http.Server{
		Handler: h, ReadHeaderTimeout: headerWithin, ReadTimeout: bodyWithin, IdleTimeout: idleFor, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(o.Logger.Handler(), slog.LevelDebug),
	}
	if o.Connections > 0 {
		srv.ConnState = (&connections{most: o.Connections, open: map[net.Conn]*connection{}}).follow
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ln) }()
	select {
	case err := <-served:
		return fmt.Errorf("web: serve %s: %w", ln.Addr(), err)
	case <-ctx.Done():
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), o.Grace)
	defer cancel()
	if err := srv.Shutdown(drain); err != nil {
		_ = srv.Close()
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("web: serve %s: %w", ln.Addr(), err)
	}
	return nil
}
