package main

import (
	"context"

	"dragoman/internal/api"
	"dragoman/internal/config"
	"dragoman/internal/mcpserver"
)

// mcpCmd is "dragoman mcp".
type mcpCmd struct {
	Serve  mcpServeCmd  `cmd:"" help:"Serve the agent that started this command, on standard input and output."`
	List   mcpListCmd   `cmd:"" help:"List the servers whose tools the model may use, and what is wrong with them."`
	Test   mcpTestCmd   `cmd:"" help:"Start one of them, and list its tools."`
	Accept mcpAcceptCmd `cmd:"" help:"Show which tools of a server are new or have changed, and have them offered."`
	Login  mcpLoginCmd  `cmd:"" help:"Log in at a server that wants OAuth: print a link for a browser, and wait."`
	Logout mcpLogoutCmd `cmd:"" help:"Drop that login."`
}

// mcpServeCmd is "dragoman mcp serve". Other agents start it and talk to it over its
// pipes.
type mcpServeCmd struct{}

func (*mcpServeCmd) Help() string {
	return "The agent may do what you may do with this program: read all conversations, which is recorded. With mcp.send it may also write into them. " +
		"For an agent that should do less, make a token and let it use /mcp at the page's address instead."
}

// Run serves until its input ends.
func (*mcpServeCmd) Run(e *env, c *cli) error {
	cfg, _, err := e.daemon.load(config.Options{Path: c.Config, NoSecrets: true})
	send := err == nil && cfg.MCP.Send
	return e.withAdmin(c, func(ctx context.Context, a *api.Client) error {
		return mcpserver.New(mcpserver.Options{Client: a, Version: programVersion(), Send: send}).Pipe(ctx, e.in, e.screen)
	})
}
