package mcp

import (
	"context"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// isOpen reports whether the connection can still be used after an error of a call.
func (l *link) isOpen(c *live, err error) bool {
	if c.isOver() {
		return false
	}
	var answered *jsonrpc.Error
	switch {
	case errors.As(err, &answered):
		return true // it said so
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.Is(err, errPatience):
		return true // we gave up, and the connection works
	}
	return false
}

// maxRefusal bounds what the model reads of a server's refusal.
const maxRefusal = 500

// whyFailed says why a request failed. Only of a refusal it has the server's words, cut.
func (l *link) whyFailed(ctx context.Context, c *live, err error) error {
	for _, known := range []error{errFrame, errDepth, errBody} {
		if errors.Is(err, known) || c.process != nil && errors.Is(c.process.filter.failure(), known) {
			return known
		}
	}
	var answered *jsonrpc.Error
	switch {
	case errors.As(err, &answered):
		return refusal{answered.Code, cleanText(answered.Message, maxRefusal)}
	case errors.Is(context.Cause(ctx), errPatience):
		return fmt.Errorf("no answer within %s; it may or may not have happened", l.pool.o.Call)
	case ctx.Err() != nil:
		return errors.New("the call was ended")
	case c.process != nil:
		return errors.New("its program ended, or what it wrote is no answer")
	}
	return errors.New("there is no connection to it, or what it sent is no answer")
}

// refusal is an error that the server gave.
type refusal struct {
	code  int64
	words string
}

func (r refusal) Error() string {
	return fmt.Sprintf("it refused with the error %d: %s", r.code, r.words)
}

// inOurWords is err without what a server said.
func inOurWords(err error) error {
	if said, is := errors.AsType[refusal](err); is {
		return fmt.Errorf("it refused with the error %d", said.code)
	}
	return err
}
