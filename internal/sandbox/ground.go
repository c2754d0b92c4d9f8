package sandbox

import (
	"context"
	"errors"
	"os"
)

// Sockets of the units in systemd/, below the folder of running services.
const (
	ExecSocket   = "/run/dragoman-exec.sock"
	ServerSocket = "/run/dragoman-mcp.sock"
)

// Ground is where commands run.
type Ground interface {
	Exec(ctx context.Context, c Command) (Result, error)
	// Read runs an installed program on a foreign file.
	Read(ctx context.Context, p Program) (Printed, error)
	// Where says which ground it is, for people.
	Where() string
}

// spaces is the ground that namespaces make.
type spaces struct{}

// Exec implements Ground.
func (spaces) Exec(ctx context.Context, c Command) (Result, error) { return Exec(ctx, c) }

// Read implements Ground.
func (spaces) Read(ctx context.Context, p Program) (Printed, error) { return Read(ctx, p) }

// Where implements Ground.
func (spaces) Where() string { return "in namespaces" }

// Where implements Ground.
func (*Unit) Where() string { return "in a unit of their own, as another user" }

// FindGround tests the grounds and returns the first that holds: namespaces, or the unit that
// listens at socket. state is the daemon's folder, and workspace what the unit sees of it. A
// [Closed] says why commands cannot run here.
func FindGround(ctx context.Context, state, workspace, socket string) (Ground, error) {
	err := SelfTest(ctx, state)
	if err == nil {
		return spaces{}, nil
	}
	unit := OpenUnit(socket, workspace)
	if unit == nil {
		return nil, withoutUnit(err)
	}
	unitErr := unit.SelfTest(ctx, workspace)
	if unitErr == nil {
		return unit, nil
	}
	why, is := errors.AsType[Closed](unitErr)
	if !is {
		return nil, unitErr
	}
	return nil, "the helper's unit: " + why
}

// withoutUnit is err for a daemon that could have a unit for commands: a service of systemd.
func withoutUnit(err error) error {
	why, is := errors.AsType[Closed](err)
	if !is || os.Getenv("INVOCATION_ID") == "" || os.Geteuid() == 0 {
		return err
	}
	return why + "; a unit for commands and PDFs is there for that: systemctl enable --now dragoman-exec.socket, then restart Dragoman"
}
