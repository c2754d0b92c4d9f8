package main

import (
	"context"
	"fmt"
	"io"

	"dragoman/internal/app"
	"dragoman/internal/config"
	"dragoman/internal/httpapi"
	"dragoman/internal/llm"
	"dragoman/internal/storage"
	"dragoman/sessions"
	"dragoman/sessions/exchange"
)

// daemon has the functions of other packages that the tests of commands replace.
type daemon struct {
	load        func(config.Options) (*config.Config, config.Source, error)
	serve       func(context.Context, *config.Config, app.Options) error
	chat        func(ctx context.Context, cfg *config.Config, o app.Options, in io.Reader, out io.Writer, room string, c app.ChatOptions) error
	migrate     func(ctx context.Context, cfg *config.Config, from, to storage.Location, who storage.Caller, tell func(exchange.Progress)) (storage.Migrated, error)
	lookAtModel func(ctx context.Context, cfg *config.Config, getenv func(string) string, list bool) (llm.Report, error)
	admin       func(context.Context, *config.Config, storage.Caller) (c *httpapi.Client, release func(), err error)
}

var realDaemon = daemon{config.Load, app.Serve, app.Chat, storage.Migrate, llm.Look, app.Admin}

// caller names this program to others that want to use the state directory, and
// prints what it waits for.
func (e *env) caller() storage.Caller {
	return storage.Caller{Version: programVersion(), Verb: e.verb, Tell: func(sentence string) {
		_, _ = fmt.Fprintf(e.err, "dragoman: %s\n", sessions.Printable(sentence))
	}}
}

func (e *env) load(path string) (*config.Config, error) {
	cfg, _, err := e.daemon.load(config.Options{Path: path})
	return cfg, err
}

// loadWithoutSecrets is load for commands that log in nowhere. Missing secrets
// are empty instead of an error.
func (e *env) loadWithoutSecrets(path string) (*config.Config, error) {
	cfg, _, err := e.daemon.load(config.Options{Path: path, NoSecrets: true})
	return cfg, err
}
