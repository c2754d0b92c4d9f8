//go:build !linux || (!amd64 && !arm64)

package sandbox

import (
	"context"
	"net"
	"syscall"
)

// enter: there is nothing to enter.
func enter([]string) {}

// namespaces: this system has none that we know.
func namespaces() (*syscall.SysProcAttr, error) {
	return nil, Closed("commands run only on Linux, on amd64 and arm64")
}

// SelfTest says why commands cannot run here.
func SelfTest(context.Context, string) error {
	_, err := namespaces()
	return err
}

// listenedByRoot: whoever listens there is no unit of ours.
func listenedByRoot(*net.UnixConn) error { return Closed("there are units on Linux only") }

// Unit is a ground that only Linux has.
type Unit struct{}

// OpenUnit finds none.
func OpenUnit(string, string) *Unit { return nil }

// Exec runs nothing.
func (*Unit) Exec(context.Context, Command) (Result, error) { return Result{}, Closed("no unit") }

// Read runs nothing.
func (*Unit) Read(context.Context, Program) (Printed, error) { return Printed{}, Closed("no unit") }

// SelfTest says why commands cannot run here.
func (*Unit) SelfTest(ctx context.Context, dir string) error { return SelfTest(ctx, dir) }
