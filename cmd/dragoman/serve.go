package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"dragoman/channels"
	"dragoman/internal/api"
	"dragoman/internal/app"
	"dragoman/internal/config"
	"dragoman/sessions"
)

// runCmd is "dragoman run", the daemon itself.
type runCmd struct{}

func (runCmd) Run(e *env, c *cli) error {
	cfg, err := e.load(c.Config)
	if err != nil {
		return err
	}
	e.parser = nil // 0.3 MB that a daemon does not need
	// The reader of the log may go away; the daemon stays.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := untilSignal(e.ctx)
	defer stop()
	ctx, hangup, stopHangup := onHangup(ctx, func() {
		_, _ = fmt.Fprintln(e.err, "The terminal was closed, so Dragoman stops.")
	})
	defer stopHangup()
	level := new(slog.LevelVar)
	log := newLogWriter(e.err)
	defer log.close()
	return e.daemon.serve(ctx, cfg, app.Options{
		Caller: e.caller(), Command: e.command, Out: e.screen, Terminal: e.terminal, Logger: newLogger(log, cfg, level), Level: level,
		Hangup: hangup, Reload: func() (*config.Config, error) { return e.load(c.Config) }, Getenv: os.Getenv,
	})
}

// chatCmd is "dragoman chat": a conversation in the terminal. If no daemon runs,
// it runs one for as long as the chat lasts, which serves only this terminal.
type chatCmd struct {
	Question []string `arg:"" optional:"" help:"Ask one question, print the answer and end. Without it: a chat."`
	Room     string   `placeholder:"NAME" help:"Talk in the room with this name, which is a separate conversation."`
}

func (*chatCmd) Help() string { return example(`chat "What is the time in Lima?"`) }

// Run does not catch Ctrl-C in a chat: there it stops an answer.
func (k *chatCmd) Run(e *env, c *cli) error {
	cfg, err := e.loadWithoutSecrets(c.Config)
	if err != nil {
		return err
	}
	ctx := e.ctx
	question := strings.Join(k.Question, " ")
	if question != "" { // without an editor that handles Ctrl-C
		var stop func()
		ctx, stop = untilSignal(ctx)
		defer stop()
	}
	opts := app.Options{Caller: e.caller(), Getenv: os.Getenv}
	if e.interactive && e.width > 0 && question == "" {
		opts.Hint = e.screen // a pipe gets only answers
	}
	return e.daemon.chat(ctx, cfg, opts, e.in, e.screen, k.Room, app.ChatOptions{NoColor: os.Getenv("NO_COLOR") != "", Ask: question, Waits: e.err})
}

// untilSignal ends ctx at the first SIGTERM or SIGINT, or one of more, so that the
// program can drain. A signal that is ignored, as SIGHUP is after nohup, stays
// ignored. The second signal kills the process at once. Nothing is lost by that;
// the next start only takes a moment longer.
func untilSignal(ctx context.Context, more ...os.Signal) (context.Context, func()) {
	more = slices.DeleteFunc(more, signal.Ignored)
	ctx, cancel := context.WithCancel(ctx)
	caught, stop := signal.NotifyContext(ctx, append(more, syscall.SIGTERM, syscall.SIGINT)...)
	context.AfterFunc(caught, func() {
		stop()
		cancel()
	})
	return ctx, cancel
}

// withAdmin runs a verb with a client of the daemon or, if none runs, of the store
// itself. A configuration that has problems since the daemon read it is no reason to
// ask that daemon nothing.
func (e *env) withAdmin(c *cli, verb func(ctx context.Context, a *api.Client) error) error {
	cfg, src, err := e.daemon.load(config.Options{Path: c.Config, NoSecrets: true})
	ctx, stop := untilSignal(e.ctx, syscall.SIGHUP) // to delete a temporary copy of the store
	defer stop()
	if err != nil {
		client, release, ok := app.Running(ctx, src)
		if !ok {
			return err
		}
		defer release()
		_, _ = fmt.Fprintf(e.err, "dragoman: the configuration has problems, and no restart would work; the daemon that runs goes on with what it read before. See: %s\n", e.command("check"))
		e.broken = true
		return verb(ctx, client)
	}
	client, release, err := e.daemon.admin(ctx, cfg, e.caller())
	if err != nil {
		return err
	}
	defer release()
	return verb(ctx, client)
}

// list prints the answer to a verb, as JSON or as text.
func list[Q, T any](e *env, c *cli, asJSON bool, verb api.Verb[Q, T], args Q, text func(T)) error {
	return e.withAdmin(c, func(ctx context.Context, a *api.Client) error {
		got, err := verb.Call(ctx, a, args)
		switch {
		case err != nil:
			return err
		case asJSON:
			return e.json(got)
		}
		text(got)
		return nil
	})
}

// listPage is list of a verb that answers with a page. As JSON it prints the items.
func listPage[Q, T any](e *env, c *cli, asJSON bool, verb api.Verb[Q, api.Page[T]], args Q, text func(api.Page[T])) error {
	return e.withAdmin(c, func(ctx context.Context, a *api.Client) error {
		got, err := verb.Call(ctx, a, args)
		switch {
		case err != nil:
			return err
		case asJSON:
			return e.json(got.Data)
		}
		text(got)
		return nil
	})
}

// listAll is listPage for the first items of a list, however many pages they are in; limit 0:
// all of them. args are the arguments for one page.
func listAll[Q, T any](e *env, c *cli, asJSON bool, verb api.Verb[Q, api.Page[T]], limit int, args func(after string, limit int) Q, text func(api.Page[T])) error {
	return e.withAdmin(c, func(ctx context.Context, a *api.Client) error {
		all := api.Page[T]{Data: []T{}}
		for {
			most := sessions.MaxPage
			if limit > 0 {
				most = min(limit-len(all.Data), most)
			}
			got, err := verb.Call(ctx, a, args(all.Next, most))
			if err != nil {
				return err
			}
			all.Data = append(all.Data, got.Data...)
			all.Next = got.Next
			if all.Next == "" || limit > 0 && len(all.Data) >= limit {
				break
			}
		}
		if asJSON {
			return e.json(all.Data)
		}
		text(all)
		return nil
	})
}

// onHangup turns SIGHUP into requests to reload; several that come while one waits
// are one. A closing terminal sends SIGHUP too: onHangup then calls closed and ends
// the returned context. That happens only if the process was started in a terminal
// and without nohup, which ignores SIGHUP.
func onHangup(ctx context.Context, closed func()) (context.Context, <-chan struct{}, func()) {
	ctx, cancel := context.WithCancel(ctx)
	watched := !signal.Ignored(syscall.SIGHUP) && hasTerminal()
	signals, requests := make(chan os.Signal, 1), make(chan struct{}, 1)
	signal.Notify(signals, syscall.SIGHUP)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer signal.Stop(signals)
		for {
			select {
			case <-ctx.Done():
				return
			case <-signals:
			}
			if watched {
				channels.Sleep(ctx, 100*time.Millisecond) // the signal can come before the terminal is gone
				if ctx.Err() == nil && !hasTerminal() {
					closed()
					cancel()
					return
				}
			}
			select {
			case requests <- struct{}{}:
			default:
			}
		}
	}()
	return ctx, requests, func() {
		cancel()
		<-done
	}
}

// hasTerminal reports whether this process belongs to a terminal that is open.
func hasTerminal() bool {
	fd, err := syscall.Open("/dev/tty", syscall.O_RDONLY|syscall.O_NOCTTY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	_ = syscall.Close(fd)
	return true
}
