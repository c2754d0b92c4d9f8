package api

import (
	"context"
	"fmt"
	"time"

	"dragoman/internal/people"
	"dragoman/sessions"
	"dragoman/sessions/erasure"
)

// ToolLogins log in at servers of tools that want OAuth. Errors: sessions.ErrNotFound for a
// server that is not configured so, sessions.ErrConflict for an answer that is none to the
// newest link, after which another may be. Others are sentences.
type ToolLogins interface {
	Begin(ctx context.Context, server string) (ToolLogin, error)
	Finish(ctx context.Context, server, address string) error
	Logout(ctx context.Context, server string) (ToolLogout, error)
}

// ToolLogin is a link with which a person logs in at a server of tools.
type ToolLogin struct {
	URL string `json:"url"` // for a browser
	// Redirect is an address of the machine with the browser, to which it is sent then. What
	// comes there answers the link.
	Redirect string    `json:"redirect"`
	Until    time.Time `json:"until"`
}

// ToolLoginAnswer is the whole address to which the browser was sent.
type ToolLoginAnswer struct {
	Name    string `json:"name"`
	Address string `json:"address"`
}

// ToolLogout is what became of the tokens of a login.
type ToolLogout struct {
	Had  bool `json:"had"`  // there were some
	Told bool `json:"told"` // the authorization server has dropped them, too
}

// ToolServerLogin is how the login at a server is.
type ToolServerLogin struct {
	// Why says that somebody must log in. Left out: nobody must.
	Why string `json:"why,omitempty"`
	// Until is when the token ends, and Renews says that it is refreshed without a person.
	Until  time.Time `json:"until,omitzero"`
	Renews bool      `json:"renews,omitempty"`
}

// The verbs of logins.
var (
	BeginToolLogin = Verb[ToolServerName, ToolLogin]{Spec{
		Method: post, Path: "/tool-servers/{name}/login", Scope: people.Admin, Within: callWithin, Act: "mcp login",
		Doc: "Makes a link with which a person logs in at a server of tools that wants OAuth. A link before it is void.",
	}, (*server).beginToolLogin}
	FinishToolLogin = Order[ToolLoginAnswer]{Spec{
		Method: post, Path: "/tool-servers/{name}/login/answer", Scope: people.Admin, Within: callWithin, Act: "mcp login",
		Doc: "Takes the address to which the browser was sent back, once, and keeps the tokens. They are never shown.",
	}, (*server).finishToolLogin}
	ToolServerLogout = Verb[ToolServerName, ToolLogout]{Spec{
		Method: del, Path: "/tool-servers/{name}/login", Scope: people.Admin, Within: callWithin, Act: "mcp logout",
		Doc: "Drops the tokens of a login, and asks the authorization server to do so.",
	}, (*server).toolLogout}
)

func (n ToolServerName) about(act *erasure.Act)  { act.Name = n.Name }
func (a ToolLoginAnswer) about(act *erasure.Act) { act.Name = a.Name }
func (a AcceptedTools) about(act *erasure.Act)   { act.Name = a.Name }

// toolLogins are those of the daemon; an error without.
func (s *server) toolLogins(name string) (ToolLogins, error) {
	if s.ToolLogins == nil {
		return nil, fmt.Errorf("api: login at %s: %w", name, sessions.ErrNotFound)
	}
	return s.ToolLogins, nil
}

func (s *server) beginToolLogin(ctx context.Context, n ToolServerName) (ToolLogin, error) {
	logins, err := s.toolLogins(n.Name)
	if err != nil {
		return ToolLogin{}, err
	}
	return logins.Begin(ctx, n.Name)
}

func (s *server) finishToolLogin(ctx context.Context, a ToolLoginAnswer) error {
	logins, err := s.toolLogins(a.Name)
	if err != nil {
		return err
	}
	return logins.Finish(ctx, a.Name, a.Address)
}

func (s *server) toolLogout(ctx context.Context, n ToolServerName) (ToolLogout, error) {
	logins, err := s.toolLogins(n.Name)
	if err != nil {
		return ToolLogout{}, err
	}
	return logins.Logout(ctx, n.Name)
}
