package app

import (
	"context"
	"log/slog"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"dragoman/sessions/engine"
	"dragoman/sessions/rows"
)

// stuck is a backend that does not answer.
type stuck struct{ rows.Backend }

func (stuck) Check(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// well is a backend that answers.
type well struct{ rows.Backend }

func (well) Check(context.Context) error { return nil }

// The watchdog is fed by a store that answers, and by no other: the service
// manager restarts a daemon that makes no progress.
func TestWatchdog(t *testing.T) {
	for name, backend := range map[string]rows.Backend{"well": well{}, "stuck": stuck{}} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(t.TempDir(), "s"), Net: "unixgram"})
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			t.Setenv("NOTIFY_SOCKET", conn.LocalAddr().String())
			t.Setenv("WATCHDOG_USEC", strconv.Itoa(int((150 * time.Millisecond).Microseconds())))
			ctx, stop := context.WithTimeout(t.Context(), 250*time.Millisecond)
			defer stop()
			(&Daemon{store: filing{crashStore: crashStore{engine.New(backend, name, nil)}}, log: slog.New(slog.DiscardHandler)}).watch(ctx)
			if err := conn.SetReadDeadline(time.Now().Add(10 * time.Millisecond)); err != nil {
				t.Fatal(err)
			}
			b := make([]byte, 256)
			n, _ := conn.Read(b)
			if fed := strings.Contains(string(b[:n]), "WATCHDOG=1"); fed != (name == "well") {
				t.Errorf("fed: %t", fed)
			}
		})
	}
}
