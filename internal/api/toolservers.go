package api

import (
	"context"
	"fmt"
	"time"

	"dragoman/sessions"
)

// ToolServers are the servers whose tools the model may use. Errors: sessions.ErrNotFound for
// one that is not configured. Others are sentences.
type ToolServers interface {
	List(ctx context.Context) ([]ToolServer, error)
	// Test starts a server and lists its tools.
	Test(ctx context.Context, name string) (ToolReport, error)
	Accept(ctx context.Context, name, digest string) error
}

// ToolServer is a server of tools as lists show it.
type ToolServer struct {
	Name string `json:"name"`
	// Where is its program or its address.
	Where string `json:"where"`
	// State is idle (the next call starts it), starting, running, failed, or stopped if no
	// daemon runs.
	State string `json:"state"`
	Why   string `json:"why,omitempty"` // it failed
	// Tools are offered. Of Unread of them, nobody has read how they describe themselves, so
	// people are asked as after foreign words. Waiting are new or changed ones that nobody has
	// accepted.
	Tools   int      `json:"tools"`
	Unread  int      `json:"unread,omitempty"`
	Waiting []string `json:"waiting,omitempty"`
	// Since is when its first tools were accepted.
	Since time.Time `json:"since,omitzero"`
	// Login is that at a server which wants OAuth.
	Login *ToolServerLogin `json:"login,omitempty"`
}

// ToolReport is what a test of a server found.
type ToolReport struct {
	Server string `json:"server"`
	// Why says why it does not work; "": it does.
	Why      string `json:"why,omitempty"`
	Protocol string `json:"protocol,omitempty"` // its revision
	Program  string `json:"program,omitempty"`  // how it calls itself
	// Digest stands for all of Tools: whoever accepts them says what they have read.
	Digest string       `json:"digest,omitempty"`
	Tools  []ToolListed `json:"tools"`
	// Odd says what was left out, and Dropped and Errors are the last lines that its program
	// wrote beside messages: foreign words.
	Odd     []string `json:"odd,omitempty"`
	Dropped []string `json:"dropped,omitempty"`
	Errors  []string `json:"errors,omitempty"`
}

// ToolListed is a tool of a server, compared with what was accepted.
type ToolListed struct {
	Name        string `json:"name"` // by which the model knows it
	Own         string `json:"own"`  // its server does
	Description string `json:"description,omitempty"`
	// Change is new, changed, gone, or unread (it was in the first list, which counts as
	// accepted, and nobody has looked). Left out: it is as it was accepted.
	Change string `json:"change,omitempty"`
	// Before and Now are JSON: what was accepted, and what it says now.
	Before string `json:"before,omitempty"`
	Now    string `json:"now,omitempty"`
}

// ToolServerName names a server of tools.
type ToolServerName struct {
	Name string `json:"name"`
}

// AcceptedTools says which tools are accepted.
type AcceptedTools struct {
	Name   string `json:"name"`
	Digest string `json:"digest"` // of a ToolReport
}

func (s *server) toolServers(ctx context.Context, _ None) (Page[ToolServer], error) {
	if s.ToolServers == nil {
		return pageOf[ToolServer](nil, nil)
	}
	return pageOf(s.ToolServers.List(ctx))
}

func (s *server) testToolServer(ctx context.Context, n ToolServerName) (ToolReport, error) {
	if s.ToolServers == nil {
		return ToolReport{}, fmt.Errorf("api: server of tools %s: %w", n.Name, sessions.ErrNotFound)
	}
	return s.ToolServers.Test(ctx, n.Name)
}

func (s *server) acceptTools(ctx context.Context, a AcceptedTools) error {
	if s.ToolServers == nil {
		return fmt.Errorf("api: server of tools %s: %w", a.Name, sessions.ErrNotFound)
	}
	return s.ToolServers.Accept(ctx, a.Name, a.Digest)
}
