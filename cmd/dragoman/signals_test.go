package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"dragoman/internal/api"
	"dragoman/internal/app"
	"dragoman/internal/config"
	"dragoman/internal/storage"
	"dragoman/sessions/exchange"

	"go.uber.org/goleak"
)

// served is a daemon that says when it serves and what it was asked.
type served struct {
	fakeDaemon
	ready   chan struct{}
	reloads chan struct{}
	err     error
}

func (s *served) serve(ctx context.Context, _ *config.Config, o app.Options) error {
	close(s.ready)
	for {
		select {
		case <-ctx.Done():
			return s.err
		case <-o.Hangup:
			s.reloads <- struct{}{}
		}
	}
}

func TestSignals(t *testing.T) {
	defer goleak.VerifyNone(t)
	for _, tt := range []struct {
		signal syscall.Signal
		err    error
		want   int
	}{{syscall.SIGTERM, nil, 0}, {syscall.SIGINT, nil, 0}, {syscall.SIGTERM, errors.New("app: disk full"), 1}} {
		t.Run(fmt.Sprint(tt.signal, tt.want), func(t *testing.T) {
			s := &served{ready: make(chan struct{}), reloads: make(chan struct{}, 1), err: tt.err}
			d := s.daemon()
			d.serve = s.serve
			var out, errs bytes.Buffer
			code := make(chan int, 1)
			go func() {
				code <- run(context.Background(), []string{"run"}, &env{out: &out, err: &errs, daemon: d, now: time.Now})
			}()
			<-s.ready
			kill(t, os.Getpid(), syscall.SIGHUP)
			<-s.reloads
			kill(t, os.Getpid(), tt.signal)
			if got := <-code; got != tt.want {
				t.Errorf("code %d, want %d: %s", got, tt.want, errs.String())
			}
		})
	}
}

func kill(t *testing.T, pid int, s syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, s); err != nil {
		t.Fatal(err)
	}
}

// stuck is a daemon that never drains.
func stuck(ctx context.Context, _ *config.Config, o app.Options) error {
	fmt.Println("serving")
	for {
		select {
		case <-o.Hangup:
			fmt.Println("reloading")
		case <-ctx.Done():
			fmt.Println("draining")
			select {}
		}
	}
}

// stuckMain is a process that runs it.
func stuckMain() {
	d := (&fakeDaemon{}).daemon()
	d.serve = stuck
	os.Exit(run(context.Background(), []string{"run"}, &env{out: os.Stdout, err: os.Stderr, daemon: d, now: time.Now}))
}

func TestSecondSignalEndsAtOnce(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), stuckVariable+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for _, want := range []string{"serving", "draining"} {
		if !lines.Scan() || strings.TrimSpace(lines.Text()) != want {
			t.Fatalf("%q, want %q", lines.Text(), want)
		}
		kill(t, cmd.Process.Pid, syscall.SIGTERM)
	}
	err = cmd.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		t.Fatalf("ended with %v, want a signal", err)
	}
	if status := exit.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != syscall.SIGTERM {
		t.Errorf("ended with %v, want SIGTERM", err)
	}
}

// held is a daemon whose commands hold the store until they are ended.
type held struct {
	fakeDaemon
	ready chan struct{}
}

func (h *held) admin(ctx context.Context, _ *config.Config, _ storage.Caller) (*api.Client, func(), error) {
	close(h.ready)
	<-ctx.Done()
	return nil, nil, ctx.Err()
}

func (h *held) migrate(ctx context.Context, _ *config.Config, _, _ storage.Location, _ storage.Caller, _ func(exchange.Progress)) (storage.Migrated, error) {
	close(h.ready)
	<-ctx.Done()
	return storage.Migrated{}, ctx.Err()
}

// A terminal that is closed ends a command as Ctrl-C does: what it made to read
// a store it takes away.
func TestHangupEndsCommands(t *testing.T) {
	if signal.Ignored(syscall.SIGHUP) {
		t.Skip("SIGHUP is ignored here, as under nohup")
	}
	defer goleak.VerifyNone(t)
	for _, args := range [][]string{{"sessions", "list"}, {"sessions", "migrate", "--from", "sqlite", "--to", "file"}} {
		t.Run(args[1], func(t *testing.T) {
			h := &held{ready: make(chan struct{})}
			d := h.daemon()
			d.admin, d.migrate = h.admin, h.migrate
			var out, errs bytes.Buffer
			code := make(chan int, 1)
			go func() {
				code <- run(context.Background(), args, &env{out: &out, err: &errs, daemon: d, now: time.Now})
			}()
			<-h.ready
			kill(t, os.Getpid(), syscall.SIGHUP)
			if got := <-code; got == 0 {
				t.Errorf("code 0, want that it failed: %s", out.String())
			}
		})
	}
}
