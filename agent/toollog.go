package agent

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"time"
)

// stoppedCall is the failure of a call whose turn was stopped.
const stoppedCall = "stopped"

// logCall logs how a call of a tool ended, which ran under ctx. One that failed
// is said at the default level: the model reads why and goes on, so that an
// operator would not hear of a tool that never works.
func (r *run) logCall(ctx context.Context, name string, took time.Duration, o outcome) {
	facts := []any{"key", r.t.Key.String(), "tool", name, "took", took, "bytes", len(o.text)}
	switch kind := failure(ctx, o.err); kind {
	case "":
		r.a.log.Debug("tool call ended", facts...)
	case stoppedCall:
		r.a.log.Debug("tool call stopped", facts...)
	default:
		r.a.log.Info("tool call failed", append(facts, "failure", kind)...)
	}
}

// failure is the kind of a tool's error, "" if there is none. The error's text
// is for the model alone: it quotes what people asked for, as paths, addresses
// and search words.
func failure(ctx context.Context, err error) string {
	var network net.Error
	switch {
	case err == nil:
		return ""
	case errors.Is(err, errPanic):
		return "panic"
	case errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		return "timeout"
	case ctx.Err() != nil:
		return stoppedCall
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return "timeout"
	case errors.As(err, &network):
		return "network"
	case errors.Is(err, fs.ErrNotExist):
		return "not found"
	case errors.Is(err, fs.ErrPermission):
		return "no permission"
	}
	return "error"
}
