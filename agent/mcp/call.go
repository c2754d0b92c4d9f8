package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// tokens number the calls of the process, for progress.
var tokens atomic.Int64

// query is what a call asks of a server.
type query struct {
	args  json.RawMessage
	show  func(string) // how far it is; nil: nobody sees that
	again bool         // it may be made twice
	// state and inputs go on with an earlier call that asked the person something.
	state  string
	inputs sdk.InputResponseMap
	under  *underway
}

// call calls a tool by its own name. Its error is a sentence.
func (l *link) call(ctx context.Context, t pin, q query) (*sdk.CallToolResult, error) {
	c, release, err := l.use(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	switch l.changeOf(t) {
	case changeChanged:
		return nil, fmt.Errorf("not called: the server %s says something else about this tool than what was accepted. Whoever runs Dragoman can look: dragoman mcp accept %s", l.Name, l.Name)
	case changeGone:
		return nil, fmt.Errorf("not called: the server %s has this tool no more", l.Name)
	}
	token := strconv.FormatInt(tokens.Add(1), 10)
	params := &sdk.CallToolParams{Meta: sdk.Meta{}, Name: t.Own, Arguments: q.args, RequestState: q.state, InputResponses: q.inputs}
	params.SetProgressToken(token)
	pctx, stop := l.patient(ctx, token, q.show)
	defer stop()
	ended := l.runs(q.under, token)
	defer ended()
	var r *sdk.CallToolResult
	err = l.within(pctx, c, func(ctx context.Context) (err error) {
		r, err = c.session.CallTool(ctx, params)
		return err
	})
	ended()
	if err == nil {
		l.worked()
		return r, nil
	}
	why := l.whyFailed(pctx, c, err)
	if !l.isOpen(c, err) || l.isDeaf(!errors.Is(context.Cause(pctx), errPatience)) {
		release()
		l.drop(c, why.Error())
		if q.again && ctx.Err() == nil {
			q.again = false
			return l.call(ctx, t, q)
		}
	}
	if _, said := errors.AsType[refusal](why); said {
		return nil, fmt.Errorf("%s: %w", l.Name, why)
	}
	return nil, fmt.Errorf("%s: %w; it may or may not have happened", l.Name, why)
}

// answerIn is the refusal of the server that err is made of. The library has such errors of
// its own, for what became of the connection.
func answerIn(err error) (*jsonrpc.Error, bool) {
	const first, last = -32005, -32003
	answered, is := errors.AsType[*jsonrpc.Error](err)
	return answered, is && (answered.Code < first || answered.Code > last)
}

// isOpen reports whether the connection can still be used after an error of a call.
func (l *link) isOpen(c *live, err error) bool {
	if c.isOver() {
		return false
	}
	_, answered := answerIn(err)
	switch {
	case answered:
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
	if known := c.failure(); known != nil {
		return known
	}
	if why := l.noLogin(0); why != nil {
		return why
	}
	answered, said := answerIn(err)
	switch {
	case errors.Is(err, errUnread):
		return errUnread
	case said:
		return refusal{answered.Code, cleanText(answered.Message, maxRefusal)}
	case errors.Is(context.Cause(ctx), errPatience):
		return fmt.Errorf("no answer within %s", l.pool.o.Call)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return errors.New("no answer in time")
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
