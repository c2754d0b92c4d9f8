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

// logCall logs how a tool call that ran under ctx ended. Failures are logged at Info:
// the model reads the error and carries on, so otherwise an operator would not notice
// a tool that never works.
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

// failure returns the kind of a tool's error, or "". The text of the error is not
// logged, because it quotes what people asked for: paths, addresses, search words.
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
