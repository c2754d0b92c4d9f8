package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"time"

	"dragoman/internal/api"
	"dragoman/internal/plain"
	"dragoman/sessions"
)

// mcpLoginCmd is "dragoman mcp login".
type mcpLoginCmd struct {
	Server string `arg:"" help:"The name of a server in mcp.servers, with oauth."`
}

// Help says where the browser may be.
func (*mcpLoginCmd) Help() string {
	return "It prints a link and waits. After the login the browser is sent back to an address of its own machine. If that is not this one, the page does not load there: copy its address from the browser, and paste it here."
}

// Run prints a link, and waits for the browser or for a pasted address.
func (k *mcpLoginCmd) Run(e *env, c *cli) error {
	return e.withAdmin(c, func(ctx context.Context, a *api.Client) error {
		link, err := api.BeginToolLogin.Call(ctx, a, api.ToolServerName{Name: k.Server})
		if err != nil {
			return e.noLoginAt(k.Server, err)
		}
		ctx, cancel := context.WithDeadline(ctx, link.Until)
		defer cancel()
		back, err := e.comeBack(ctx, link.Redirect)
		if err != nil {
			return err
		}
		defer back.close()
		e.say("Open this link in a browser, and let Dragoman in at %s:\n", oneLine(k.Server))
		e.say("%s\n", sessions.Printable(link.URL))
		e.say("%s", back.how)
		e.say("Waiting until %s. Ctrl-C stops.", link.Until.Local().Format("15:04"))
		if err := k.answer(ctx, e, a, back); err != nil {
			return err
		}
		r, err := e.testServer(ctx, a, k.Server)
		switch {
		case err != nil:
			return err
		case r.Why != "":
			return fmt.Errorf("%s: the login works, but the server does not: %s", oneLine(k.Server), sessions.Printable(r.Why))
		}
		e.say("%s: logged in. It lists %s; %s shows them.", oneLine(k.Server), count(len(r.Tools), "tool", "tools"), e.command("mcp accept", k.Server))
		return nil
	})
}

// mostWrong answers to other logins end the wait.
const mostWrong = 20

// answer waits for the answer to a link, and sends it on.
func (k *mcpLoginCmd) answer(ctx context.Context, e *env, a *api.Client, back *comeback) error {
	for range mostWrong {
		select {
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return plainErrorf(nil, "nobody has logged in: say it again for a new link")
			}
			return context.Canceled
		case got := <-back.came:
			err := api.FinishToolLogin.Call(ctx, a, api.ToolLoginAnswer{Name: k.Server, Address: got.address})
			got.done <- err
			if !errors.Is(err, sessions.ErrConflict) {
				return err
			}
			e.say("%s: %s. Still waiting.", oneLine(k.Server), sessions.Printable(plain.Text(err)))
		}
	}
	return plainErrorf(nil, "too many wrong answers: say it again for a new link")
}

// noLoginAt explains a login that cannot begin.
func (e *env) noLoginAt(server string, err error) error {
	if errors.Is(err, sessions.ErrNotFound) {
		return plainErrorf(nil, "mcp.servers has no %s, or it is not enabled; %s shows all", oneLine(server), e.command("mcp list"))
	}
	return err
}

// comeback is where answers of a browser arrive: at a port of this machine, and pasted.
type comeback struct {
	came chan arrived
	how  string
	http *http.Server // nil: the port is taken
}

// arrived is an answer. done gets what became of it.
type arrived struct {
	address string
	done    chan error // with room for one
}

// comeBack listens at the redirect address, and reads addresses from the terminal.
func (e *env) comeBack(ctx context.Context, redirect string) (*comeback, error) {
	u, err := url.Parse(redirect)
	if err != nil {
		return nil, err
	}
	b := &comeback{came: make(chan arrived)}
	b.how = "If the browser is on another machine, it ends at a page that does not load: paste the address of that page here."
	l, err := net.Listen("tcp", u.Host)
	switch {
	case err == nil:
		b.http = &http.Server{Handler: b.page(ctx, u), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 5 * time.Second, MaxHeaderBytes: 64 << 10}
		go func() { _ = b.http.Serve(l) }() // until close
	case errors.Is(err, syscall.EADDRINUSE):
		b.how = fmt.Sprintf("Another program has the port of %s, so the browser does not come back to Dragoman: paste the address here at which it ends.", u.Host)
	default:
		b.how = fmt.Sprintf("Nothing can listen at %s, so the browser ends at a page that does not load: paste the address of that page here.", u.Host)
	}
	// It waits for a line until the program ends: nothing takes a read of a terminal back.
	go b.read(ctx, e.in)
	return b, nil
}

// page tells the browser what became of its answer. It takes nothing that was sent to another
// host, as a page elsewhere could have it.
func (b *comeback) page(ctx context.Context, u *url.URL) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Content-Security-Policy", "default-src 'none'")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Referrer-Policy", "no-referrer")
		w.Header().Set("Cache-Control", "no-store")
		if r.Host != u.Host || r.URL.Path != u.Path || r.Method != http.MethodGet {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		came, err := b.tell(ctx, r.URL.String())
		switch {
		case !came:
			w.WriteHeader(http.StatusServiceUnavailable)
		case err != nil:
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, "Dragoman is not logged in: "+sessions.Printable(plain.Text(err))+"\n")
		default:
			_, _ = io.WriteString(w, "Dragoman is logged in. You can close this page.\n")
		}
	})
}

// tell hands an answer over, and returns what became of it.
func (b *comeback) tell(ctx context.Context, address string) (came bool, err error) {
	one := arrived{address, make(chan error, 1)}
	select {
	case b.came <- one:
	case <-ctx.Done():
		return false, nil
	}
	select {
	case err := <-one.done:
		return true, err
	case <-ctx.Done():
		return false, nil
	}
}

// read takes each line as an address.
func (b *comeback) read(ctx context.Context, in io.Reader) {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		if lines.Text() != "" {
			_, _ = b.tell(ctx, lines.Text()) // the answer is said where it is sent on
		}
	}
}

// close lets the page reach the browser, and ends the listening.
func (b *comeback) close() {
	if b.http == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = b.http.Shutdown(ctx)
	_ = b.http.Close()
}

// mcpLogoutCmd is "dragoman mcp logout".
type mcpLogoutCmd struct {
	Server string `arg:"" help:"The name of a server in mcp.servers, with oauth."`
}

// Run drops the tokens of a login.
func (k *mcpLogoutCmd) Run(e *env, c *cli) error {
	return e.withAdmin(c, func(ctx context.Context, a *api.Client) error {
		out, err := api.ToolServerLogout.Call(ctx, a, api.ToolServerName{Name: k.Server})
		switch {
		case err != nil:
			return e.noLoginAt(k.Server, err)
		case !out.Had:
			e.say("There was no login at %s.", oneLine(k.Server))
		case out.Told:
			e.say("%s: logged out. Its authorization server has dropped the tokens, too.", oneLine(k.Server))
		default:
			e.say("%s: logged out here. Its authorization server did not say that it dropped the tokens, too: to be sure, take the access back on its page.", oneLine(k.Server))
		}
		return nil
	})
}
