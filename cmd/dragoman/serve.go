package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"dragoman/internal/app"
	"dragoman/internal/backup"
	"dragoman/internal/config"
	"dragoman/internal/httpapi"
	"dragoman/sessions/exchange"
)

// daemon is what this program needs of internal/app; app.go has the real one.
type daemon interface {
	// load reads and checks the configuration.
	load(path string) (*config.Config, error)
	// loadWithoutSecrets is load for what logs in nowhere: secrets that are not
	// there are empty.
	loadWithoutSecrets(path string) (*config.Config, error)
	// run serves until ctx ends; a value on hangup asks for a reload.
	run(ctx context.Context, e *env, cfg *config.Config, path string, hangup <-chan struct{}) error
	// chat talks in this terminal until ctx ends or the person leaves.
	// question, if not "", is all that is asked, and room another one than the
	// usual one.
	chat(ctx context.Context, e *env, cfg *config.Config, question, room string) error
	// link links a channel to a phone and shows what the person needs for that.
	// unlink forgets the account. told: the phone does not list it any more.
	link(ctx context.Context, cfg *config.Config, channel, phone string, show func(qr, code string)) (account string, err error)
	unlink(ctx context.Context, cfg *config.Config, channel string) (told bool, err error)
	// migrate copies a store to another place and compares the two. A place that
	// nobody can mean is a usageError.
	migrate(ctx context.Context, cfg *config.Config, from, to string, tell func(exchange.Progress)) (migrated, error)
	// backup writes all that must survive; restore puts it in place.
	backup(ctx context.Context, cfg *config.Config, w io.Writer, tell func(backup.End)) (backup.End, error)
	restore(ctx context.Context, cfg *config.Config, file *os.File, replace bool, tell func(exchange.Progress)) (app.Restored, error)
	// lookAtModel asks the model's server about itself; list: for its models too.
	lookAtModel(ctx context.Context, cfg *config.Config, list bool) (app.ModelServer, error)
	// checkStore tells why the store cannot be used, as far as that shows without
	// opening it.
	checkStore(ctx context.Context, cfg *config.Config) error
	// damaged lists files of the store that could not be read and were set aside.
	damaged(cfg *config.Config) ([]string, error)
	// admin gives a client for the operator's verbs, of the running daemon or
	// of the store itself. release must be called.
	admin(ctx context.Context, cfg *config.Config) (c *httpapi.Client, release func(), err error)
}

type runCmd struct{}

func (runCmd) Run(e *env, c *cli) error {
	cfg, err := e.daemon.load(c.Config)
	if err != nil {
		return err
	}
	// Who reads the log may go away; the daemon stays.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := untilSignal(e.ctx)
	defer stop()
	ctx, hangup, stopHangup := onHangup(ctx, func() {
		_, _ = fmt.Fprintln(e.err, "The terminal was closed, so Dragoman stops.")
	})
	defer stopHangup()
	return e.daemon.run(ctx, e, cfg, c.Config, hangup)
}

type chatCmd struct {
	Question []string `arg:"" optional:"" help:"Ask one question, print the answer and end. Without it: a chat."`
	Room     string   `placeholder:"NAME" help:"Talk in the room with this name, which is a separate conversation."`
}

// Help is what --help says beside the flags.
func (*chatCmd) Help() string { return example(`chat "What is the time in Lima?"`) }

// Run leaves Ctrl-C to the chat: there it stops an answer.
func (k *chatCmd) Run(e *env, c *cli) error {
	cfg, err := e.daemon.loadWithoutSecrets(c.Config)
	if err != nil {
		return err
	}
	ctx := e.ctx
	question := strings.Join(k.Question, " ")
	if question != "" { // nobody types Ctrl-C into an editor then
		var stop func()
		ctx, stop = untilSignal(ctx)
		defer stop()
	}
	return e.daemon.chat(ctx, e, cfg, question, k.Room)
}

// untilSignal ends ctx at the first SIGTERM or SIGINT, or one of more, so that
// everything drains. A SIGHUP that this process was started to ignore, as by
// nohup, stays ignored. The second one ends the process at once, as if nobody caught it:
// nothing is lost by that, it only takes a moment longer to start again.
func untilSignal(ctx context.Context, more ...os.Signal) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	signals := make(chan os.Signal, 1) // one is enough: the first restores the default
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	for _, s := range more {
		if !signal.Ignored(s) {
			signal.Notify(signals, s)
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-signals:
			signal.Stop(signals)
			cancel()
		case <-ctx.Done():
			signal.Stop(signals)
		}
	}()
	return ctx, func() {
		cancel()
		<-done
	}
}

// withAdmin runs a verb.
func (e *env) withAdmin(c *cli, verb func(ctx context.Context, a *httpapi.Client) error) error {
	cfg, err := e.daemon.loadWithoutSecrets(c.Config)
	if err != nil {
		return err
	}
	ctx, stop := untilSignal(e.ctx, syscall.SIGHUP) // a copy of the store may have to go
	defer stop()
	client, release, err := e.daemon.admin(ctx, cfg)
	if err != nil {
		return err
	}
	defer release()
	return verb(ctx, client)
}

// list runs a verb that gets something and prints it, as JSON or as text.
func list[T any](e *env, c *cli, asJSON bool, get func(*httpapi.Client, context.Context) (T, error), text func(T)) error {
	return e.withAdmin(c, func(ctx context.Context, a *httpapi.Client) error {
		got, err := get(a, ctx)
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
