package mcp

import (
	"context"
	"io"
	"net/http"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// relistEvery is how often a server may have its tools listed again, however often it says
// that they have changed.
const relistEvery = 5 * time.Second

// listChanged is told that the tools of the server on c are others.
func (l *link) listChanged(c *live) func(context.Context, *sdk.ToolListChangedRequest) {
	return func(context.Context, *sdk.ToolListChangedRequest) {
		l.mu.Lock()
		defer l.mu.Unlock()
		c.changed = true
		l.listSoon()
	}
}

// listSoon has the tools listed again, if the server says that they have changed. l.mu is held.
func (l *link) listSoon() {
	c := l.live
	if c == nil || !c.changed || l.again != nil || l.closed {
		return
	}
	l.again = time.AfterFunc(relistEvery-min(relistEvery, time.Since(l.listed)), func() { l.relist(c) })
}

// relist lists the tools over c again. What has changed is not offered until it is accepted;
// if that fails, what was listed before counts.
func (l *link) relist(c *live) {
	l.mu.Lock()
	l.again = nil
	mine := l.live == c && !l.closed
	if mine {
		c.changed = false
		l.listed = time.Now()
		l.pool.wait.Add(1)
	}
	l.mu.Unlock()
	if !mine {
		return
	}
	defer l.pool.wait.Done()
	ctx, cancel := context.WithTimeout(l.pool.ctx, l.pool.o.Start)
	defer cancel()
	found, err := list(ctx, l, c)
	if err != nil {
		l.pool.o.Logger.Info("a server of tools said that they have changed, and does not list them", "server", l.Name, "err", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil && l.live == c {
		l.found = found
	}
	l.listSoon() // it may have changed meanwhile
}

// listenMethod asks a server with an address to say on a stream what changes.
const listenMethod = "subscriptions/listen"

// waitForStream ends a request for such a stream that has no answer after most. The library
// would wait for ever, and begin nothing else. The stream itself lasts as long as it may.
func waitForStream(via http.RoundTripper, r *http.Request, most time.Duration) (*http.Response, error) {
	ctx, cancel := context.WithCancel(r.Context())
	timer := time.AfterFunc(most, cancel)
	resp, err := via.RoundTrip(r.WithContext(ctx))
	if err != nil {
		cancel()
		return nil, err
	}
	timer.Stop()
	resp.Body = &cancelledBody{resp.Body, cancel}
	return resp, nil
}

// cancelledBody frees what belongs to a request with its answer.
type cancelledBody struct {
	io.ReadCloser
	cancel func()
}

func (b *cancelledBody) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}
