package mcp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// connect opens a connection, lists the tools, and compares them with what was accepted. Its
// error has no word of the server.
func (l *link) connect() (*live, *listing, error) {
	ctx, cancel := context.WithTimeout(l.pool.ctx, l.pool.o.Start)
	defer cancel()
	files, err := l.files()
	if err != nil {
		return nil, nil, err
	}
	if err := l.pool.pins.checkFiles(ctx, l.Name, files); err != nil {
		return nil, nil, err
	}
	c, err := l.open(ctx)
	if err != nil {
		return nil, nil, err
	}
	found, err := list(ctx, l, c)
	isFirst := false
	if err == nil {
		isFirst, err = l.pool.pins.first(ctx, l.Name, files, found)
	}
	if err != nil {
		c.shut()
		return nil, nil, err
	}
	if isFirst {
		l.pool.o.Logger.Info("the first tools of a server count as accepted; until you have read them (dragoman mcp accept), people are asked more often",
			"server", l.Name, "tools", len(found.tools))
	}
	return c, found, nil
}

// open opens a connection and begins the protocol.
func (l *link) open(ctx context.Context) (*live, error) {
	c := &live{ended: make(chan struct{})}
	status := new(statusSeen)
	transport, err := l.transport(ctx, c, status)
	if err != nil {
		return nil, err
	}
	// Whatever the library waits for, it ends with that.
	stop := context.AfterFunc(ctx, c.cut)
	defer stop()
	err = guarded(func() (err error) {
		c.session, err = l.client(c).Connect(ctx, transport, &sdk.ClientSessionOptions{ProtocolVersion: l.Protocol})
		return err
	})
	if err != nil {
		c.cut()
		return nil, l.whyNot(ctx, c, err, status)
	}
	l.pool.wait.Go(func() { l.watch(c) })
	return c, nil
}

// client is the library's part for one connection. It offers servers answers of the person,
// and nothing else: no roots, no model, and no place for their logs.
func (l *link) client(c *live) *sdk.Client {
	client := sdk.NewClient(&sdk.Implementation{Name: "dragoman", Version: l.pool.o.Version}, &sdk.ClientOptions{
		Capabilities: &sdk.ClientCapabilities{Elicitation: &sdk.ElicitationCapabilities{
			Form: &sdk.FormElicitationCapabilities{}, URL: &sdk.URLElicitationCapabilities{},
		}},
		ElicitationHandler:          l.elicit,
		MultiRoundTrip:              &sdk.MultiRoundTripOptions{Disabled: true},
		ProgressNotificationHandler: l.progressed,
		ToolListChangedHandler:      l.listChanged(c),
	})
	client.AddReceivingMiddleware(l.careful)
	client.AddSendingMiddleware(compact)
	return client
}

// transport starts the program, or prepares requests to the address.
func (l *link) transport(ctx context.Context, c *live, status *statusSeen) (sdk.Transport, error) {
	if len(l.Command) == 0 {
		client, bodies := remote(&l.Server, status.over(l.authorized(l.pool.o.HTTP)), l.pool.o.Start/3)
		c.bodies = bodies
		return &sdk.StreamableClientTransport{
			Endpoint: l.URL, HTTPClient: client, MaxRetries: -1, DisableStandaloneSSE: true, MaxEventSize: maxFrame,
		}, nil
	}
	started, err := l.program(ctx)
	if err != nil {
		return nil, err
	}
	c.process = started
	l.keepTails(c.process)
	l.pool.wait.Go(c.process.wait)
	return &sdk.IOTransport{Reader: readEnd{c.process}, Writer: writeEnd{c.process}, MaxLineLength: maxFrame + 1}, nil
}

// program starts the program, apart from the daemon if there is a way.
func (l *link) program(ctx context.Context) (*process, error) {
	if launch := l.pool.o.Launch; launch != nil {
		return launchProgram(ctx, &l.Server, launch)
	}
	home, err := l.pool.home(l.Name)
	if err != nil {
		return nil, err
	}
	return startProgram(&l.Server, home)
}

// readEnd and writeEnd are the two ends of a program. Closing either ends it.
type (
	readEnd  struct{ *process }
	writeEnd struct{ *process }
)

func (e readEnd) Read(p []byte) (int, error)   { return e.filter.Read(p) }
func (e writeEnd) Write(p []byte) (int, error) { return e.in.Write(p) }

// whyNot says why a connection did not begin, in our words.
func (l *link) whyNot(ctx context.Context, c *live, err error, status *statusSeen) error {
	refused, isRefused := answerIn(err)
	switch {
	case ctx.Err() != nil && l.Protocol == "":
		return fmt.Errorf("it did not answer within %s. If it is older than the protocol's revision of 2026-07-28, set protocol: %q for it", l.pool.o.Start, olderProtocol)
	case ctx.Err() != nil:
		return fmt.Errorf("it did not answer within %s", l.pool.o.Start)
	}
	if known := c.failure(); known != nil {
		return known
	}
	if why := l.noLogin(status.last()); why != nil {
		return why
	}
	switch code := status.last(); {
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		return fmt.Errorf("it refused us (HTTP %d): set its token or headers", code)
	case code >= 300 && code < 400:
		return fmt.Errorf("it redirects to another address (HTTP %d): if that is the server, write it as url", code)
	case code >= 400:
		return fmt.Errorf("it answered with the status %d", code)
	case strings.Contains(err.Error(), "unsupported protocol version"):
		return errors.New("it speaks a revision of the protocol that is not known here")
	case c.process != nil:
		return errors.New("its program ended, or what it wrote is no answer: dragoman mcp test " + l.Name + " shows what it wrote")
	case isRefused:
		return fmt.Errorf("it refused with the error %d", refused.Code)
	}
	return errors.New("there is no connection to it, or what it sent is no answer")
}

// list asks for all tools. Its error has no word of the server.
func list(ctx context.Context, l *link, c *live) (*listing, error) {
	found := &listing{}
	if r := c.session.InitializeResult(); r != nil {
		found.protocol = cleanText(r.ProtocolVersion, 20)
		if r.ServerInfo != nil {
			found.name = cleanText(r.ServerInfo.Name+" "+r.ServerInfo.Version, tailBytes)
		}
	}
	cursor := ""
	for page := 1; ; page++ {
		var r *sdk.ListToolsResult
		err := l.within(ctx, c, func(ctx context.Context) (err error) {
			r, err = c.session.ListTools(ctx, &sdk.ListToolsParams{Cursor: cursor})
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("it does not list its tools: %w", inOurWords(l.whyFailed(ctx, c, err)))
		}
		for _, t := range r.Tools {
			found.add(t)
		}
		if len(found.tools) > maxTools {
			found.tools = found.tools[:maxTools]
			found.odd = append(found.odd, fmt.Sprintf("it lists more than %d tools: the rest is left out", maxTools))
			break
		}
		if r.NextCursor == "" {
			break
		}
		if found.seen > maxListing+maxListing/2 {
			found.odd = append(found.odd, "it lists too much: the rest is left out")
			break
		}
		if page == maxPages || r.NextCursor == cursor {
			found.odd = append(found.odd, fmt.Sprintf("its list does not end after %d pages: the rest is left out", page))
			break
		}
		cursor = r.NextCursor
	}
	found.sort()
	return found, nil
}

// olderProtocol is the revision with which servers begin that do not answer server/discover.
const olderProtocol = "2025-11-25"

// Protocols are the values of [Server.Protocol] beside "".
func Protocols() []string { return slices.Clone([]string{olderProtocol, "2025-06-18", "2025-03-26"}) }

// keepTails remembers the tails of the newest program.
func (l *link) keepTails(p *process) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = p
}

// tails are what the newest program wrote beside messages.
func (l *link) tails() (dropped, errs []string) {
	l.mu.Lock()
	p := l.last
	l.mu.Unlock()
	if p == nil {
		return nil, nil
	}
	return p.filter.dropped.all(), p.errors.all()
}
