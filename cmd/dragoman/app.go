package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"

	"dragoman/channels"
	"dragoman/internal/app"
	"dragoman/internal/backup"
	"dragoman/internal/config"
	"dragoman/internal/httpapi"
	"dragoman/sessions"
	"dragoman/sessions/exchange"
)

// appDaemon is the real daemon. This file is all that this program knows of
// internal/app.
type appDaemon struct{ env *env }

// caller is this program as others see it that want the state directory, and
// where it tells a person what it waits for.
func (d appDaemon) caller() app.Caller {
	return app.Caller{Version: programVersion(), Verb: d.env.verb, Tell: func(sentence string) {
		_, _ = fmt.Fprintf(d.env.err, "dragoman: %s\n", sessions.Printable(sentence))
	}}
}

func (appDaemon) load(path string) (*config.Config, error) {
	cfg, _, err := config.Load(config.Options{Path: path, CheckJob: app.CheckJob})
	return cfg, err
}

func (appDaemon) loadWithoutSecrets(path string) (*config.Config, error) {
	cfg, _, err := config.Load(config.Options{Path: path, CheckJob: app.CheckJob, NoSecrets: true})
	return cfg, err
}

func (d appDaemon) run(ctx context.Context, e *env, cfg *config.Config, path string, hangup <-chan struct{}) error {
	level := new(slog.LevelVar)
	log := newLogWriter(e.err)
	defer log.close()
	daemon, err := app.Open(ctx, cfg, app.Options{
		Caller: d.caller(), Command: e.command, Out: e.screen, Logger: newLogger(log, cfg, level), Level: level,
		Hangup: hangup, Reload: func() (*config.Config, error) { return d.load(path) }, Getenv: os.Getenv,
	})
	if err != nil {
		return err
	}
	err = daemon.Run(ctx)
	if cerr := daemon.Close(); err == nil {
		err = cerr
	}
	return err
}

func (d appDaemon) chat(ctx context.Context, e *env, cfg *config.Config, question, room string) error {
	o := app.ChatOptions{NoColor: os.Getenv("NO_COLOR") != "", Ask: question, Waits: e.err}
	opts := app.Options{Caller: d.caller(), Getenv: os.Getenv}
	if e.interactive && e.width > 0 && question == "" {
		opts.Hint = e.screen // not into a pipe: there only answers go
	}
	return app.Chat(ctx, cfg, opts, e.in, e.screen, room, o)
}

func (d appDaemon) link(ctx context.Context, cfg *config.Config, channel, phone string, show func(qr, code string)) (string, error) {
	return app.Link(ctx, cfg, d.caller(), channel, phone, func(i channels.Invitation) { show(i.QR, i.Code) })
}

func (d appDaemon) unlink(ctx context.Context, cfg *config.Config, channel string) (told bool, err error) {
	return app.Unlink(ctx, cfg, d.caller(), channel)
}

func (d appDaemon) backup(ctx context.Context, cfg *config.Config, w io.Writer, tell func(backup.End)) (backup.End, error) {
	c, release, err := d.admin(ctx, cfg)
	if err != nil {
		return backup.End{}, err
	}
	defer release()
	return app.Backup(ctx, cfg, c, d.caller(), w, tell)
}

func (d appDaemon) restore(ctx context.Context, cfg *config.Config, file *os.File, replace bool, tell func(exchange.Progress)) (app.Restored, error) {
	return app.Restore(ctx, cfg, d.caller(), file, replace, tell)
}

func (appDaemon) lookAtModel(ctx context.Context, cfg *config.Config, list bool) (app.ModelServer, error) {
	return app.LookAtModel(ctx, cfg, os.Getenv, list)
}

func (appDaemon) checkStore(ctx context.Context, cfg *config.Config) error {
	return app.CheckStore(ctx, cfg)
}

func (appDaemon) damaged(cfg *config.Config) ([]string, error) { return app.Damaged(cfg) }

func (d appDaemon) migrate(ctx context.Context, cfg *config.Config, from, to string, tell func(exchange.Progress)) (migrated, error) {
	var places [2]app.StoreLocation
	for i, text := range []string{from, to} {
		var err error
		if places[i], err = app.ParseLocation(text, cfg.StateDir); err != nil {
			return migrated{}, &usageError{err.Error()}
		}
	}
	m, err := app.Migrate(ctx, cfg, places[0], places[1], d.caller(), tell)
	return migrated{
		From: m.From.String(), To: m.To.String(), Counts: m.Counts, Equal: err == nil, Again: m.Again, Aside: m.Aside,
		Advice: m.To.Advice(cfg),
	}, err
}

func (d appDaemon) admin(ctx context.Context, cfg *config.Config) (*httpapi.Client, func(), error) {
	return app.Admin(ctx, cfg, d.caller())
}
