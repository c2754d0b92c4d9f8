package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"dragoman/channels"
)

// onHangup turns SIGHUP into requests to reload; several that come while one waits
// are one. A closing terminal sends SIGHUP too: onHangup then calls closed and ends
// the returned context. That happens only if the process was started in a terminal
// and without nohup, which ignores SIGHUP.
func onHangup(ctx context.Context, closed func()) (context.Context, <-chan struct{}, func()) {
	ctx, cancel := context.WithCancel(ctx)
	watched := !signal.Ignored(syscall.SIGHUP) && hasTerminal()
	signals, requests := make(chan os.Signal, 1), make(chan struct{}, 1)
	signal.Notify(signals, syscall.SIGHUP)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer signal.Stop(signals)
		for {
			select {
			case <-ctx.Done():
				return
			case <-signals:
			}
			if watched {
				channels.Sleep(ctx, 100*time.Millisecond) // the signal can come before the terminal is gone
				if ctx.Err() == nil && !hasTerminal() {
					closed()
					cancel()
					return
				}
			}
			select {
			case requests <- struct{}{}:
			default:
			}
		}
	}()
	return ctx, requests, func() {
		cancel()
		<-done
	}
}

// hasTerminal reports whether this process belongs to a terminal that is open.
func hasTerminal() bool {
	fd, err := syscall.Open("/dev/tty", syscall.O_RDONLY|syscall.O_NOCTTY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	_ = syscall.Close(fd)
	return true
}
