package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/internal/api"
	"dragoman/internal/app"
	"dragoman/internal/config"
	"dragoman/internal/llm"
	"dragoman/internal/people"
	"dragoman/internal/storage"
	"dragoman/sessions"
	"dragoman/sessions/erasure"
	"dragoman/sessions/exchange"
	"dragoman/sessions/sqlite/sqlitetest"
)

var clock = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// fakeDaemon serves the verbs from a store of a test, by the real handler.
type fakeDaemon struct {
	budgets  api.Budgets
	store    *sqlitetest.Store
	jobs     api.Scheduler
	audit    string
	trouble  *api.Trouble
	troubles []api.OtherTrouble
	model    llm.Report
	config   string // that was asked for last
	adjust   func(*config.Config)
	released int
	asked    int
}

// daemon are its methods as commands call them.
func (f *fakeDaemon) daemon() daemon {
	return daemon{
		load: f.load, serve: f.serve, chat: f.chat, migrate: f.migrate,
		lookAtModel: f.lookAtModel, askTelegram: f.askTelegram, admin: f.admin,
	}
}

func (f *fakeDaemon) load(o config.Options) (*config.Config, config.Source, error) {
	f.config = o.Path
	cfg, src, err := app.LoadConfig(config.Options{Dir: "/nowhere", Home: "/nowhere", Env: func(string) (string, bool) { return "", false }})
	if f.adjust != nil {
		f.adjust(cfg)
	}
	return cfg, src, err
}

func (*fakeDaemon) serve(ctx context.Context, _ *config.Config, _ app.Options) error {
	<-ctx.Done()
	return nil
}

func (*fakeDaemon) chat(context.Context, *config.Config, app.Options, io.Reader, io.Writer, string, app.ChatOptions) error {
	return nil
}

func (f *fakeDaemon) Link(_ context.Context, channel, phone string, show func(channels.Invitation)) (string, error) {
	if channel != "whatsapp" {
		return "", errors.New("app: link: no such channel")
	}
	if phone != "" {
		show(channels.Invitation{Code: "ABCD-EFGH"})
		return phone, nil
	}
	show(channels.Invitation{QR: "https://example.org/first"})
	show(channels.Invitation{QR: "https://example.org/second"})
	return "+15550000001", nil
}

func (*fakeDaemon) Unlink(_ context.Context, channel string) (bool, error) {
	switch channel {
	case "far":
		return false, nil
	case "other":
		return false, errors.New("whatsapp: unlink: no such channel")
	}
	return true, nil
}

func (f *fakeDaemon) lookAtModel(context.Context, *config.Config, func(string) string, bool) (llm.Report, error) {
	return f.model, nil
}

func (*fakeDaemon) askTelegram(context.Context, string, string) (string, error) {
	return "moss_bot", nil
}

func (*fakeDaemon) migrate(_ context.Context, _ *config.Config, from, to storage.Location, _ storage.Caller, tell func(exchange.Progress)) (storage.Migrated, error) {
	for i := range 3 {
		tell(exchange.Progress{Step: exchange.Copying, Done: 1000 * i, Total: 2000})
	}
	return storage.Migrated{From: from, To: to, Equal: true, Aside: "x", Advice: "advice"}, nil
}

func (f *fakeDaemon) admin(context.Context, *config.Config, storage.Caller) (*api.Client, func(), error) {
	f.asked++
	s, now := f.store, func() time.Time { return clock }
	audit := erasure.Log{Path: f.audit, Now: now}
	directory := people.NewDirectory(s, people.DirectoryOptions{Now: now})
	return api.InProcess(api.New(api.Options{
		Store:  api.Store{Conversations: s, Transcripts: s, Queue: s, JobLog: s, People: s, Facts: s, Copies: s, Health: s, Counted: s},
		Tokens: people.NewTokens(s, people.Options{Now: now}), Directory: directory,
		Jobs: f.jobs, Budgets: f.budgets, Phones: f, Audit: audit, Eraser: erasure.New(erasure.Options{Store: s, People: directory, Log: audit, Now: now}), Now: now,
		Info: func() api.Info {
			return api.Info{Version: "v1", ModelTrouble: f.trouble, OtherTroubles: f.troubles}
		},
	})), func() { f.released++ }, nil
}

// world is one machine on which commands are run one after the other.
type world struct {
	t           *testing.T
	daemon      *fakeDaemon
	width       int
	sizes       [][2]int // of the terminal: columns and rows, each time it is asked; none: no terminal
	interactive bool
	in          string
}

func newWorld(t *testing.T) *world {
	return &world{t: t, daemon: &fakeDaemon{store: sqlitetest.Open(t, func() time.Time { return clock })}}
}

// size is how large the terminal is now.
func (w *world) size() (columns, rows int) {
	if len(w.sizes) == 0 {
		return 0, 0
	}
	now := w.sizes[0]
	if len(w.sizes) > 1 {
		w.sizes = w.sizes[1:]
	}
	return now[0], now[1]
}

func (*world) now() time.Time { return clock.Add(5 * time.Minute) }

func (w *world) run(args ...string) (code int, out, errs string) {
	w.t.Helper()
	var o, e bytes.Buffer
	code = run(w.t.Context(), args, &env{
		in: strings.NewReader(w.in), out: &o, err: &e, daemon: w.daemon.daemon(), width: w.width, interactive: w.interactive, size: w.size,
		now: w.now,
	})
	if w.daemon.asked != w.daemon.released {
		w.t.Errorf("dragoman %v: the store was not released", args)
	}
	return code, o.String(), e.String()
}

// want runs a command that must succeed with parts in its output.
func (w *world) want(parts []string, args ...string) string {
	w.t.Helper()
	return w.wantCode(exitOK, parts, args...)
}

// wantCode is want of a command that says with its code how things are.
func (w *world) wantCode(want int, parts []string, args ...string) string {
	w.t.Helper()
	code, out, errs := w.run(args...)
	if code != want || errs != "" {
		w.t.Errorf("dragoman %v = %d, stderr %q", args, code, errs)
	}
	for _, p := range parts {
		if !strings.Contains(out, p) {
			w.t.Errorf("dragoman %v lacks %q:\n%s", args, p, out)
		}
	}
	return out
}

// fail runs a command that must end with code and say part.
func (w *world) fail(code int, part string, args ...string) {
	w.t.Helper()
	got, _, errs := w.run(args...)
	if got != code || !strings.Contains(errs, part) {
		w.t.Errorf("dragoman %v = %d %q, want %d %q", args, got, errs, code, part)
	}
}

// say lets a person write n messages and be answered.
func (w *world) say(key, title string, texts ...string) {
	w.t.Helper()
	k := channels.MustKey(key)
	for i, text := range texts {
		_, err := w.daemon.store.Accept(context.Background(), sessions.Entry{
			Inbound:  channels.Inbound{Key: k, ID: key + text + string(rune('a'+i)), Text: text},
			Answered: true,
			Append: []sessions.Message{
				{Role: sessions.RoleUser, Content: text, Name: "Ann\x1b[31m", At: clock},
				{Role: sessions.RoleAssistant, Content: "re: " + text, At: clock},
			},
		})
		if err != nil {
			w.t.Fatal(err)
		}
	}
	if title != "" {
		if err := w.daemon.store.Rename(context.Background(), k, title); err != nil {
			w.t.Fatal(err)
		}
	}
}
