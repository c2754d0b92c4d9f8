package main

import (
	"fmt"
	"syscall"
	"time"

	"dragoman/internal/storage"
	"dragoman/sessions/exchange"
)

// sessionsMigrateCmd is "dragoman sessions migrate": it copies a store to another
// type, and compares the two.
type sessionsMigrateCmd struct {
	From string `required:"" placeholder:"TYPE[:PATH]" help:"The store to copy: sqlite, file or postgres. Without a path: the one in the state directory, or in store.url."`
	To   string `required:"" placeholder:"TYPE[:PATH]" help:"Where to put the copy. It must not exist yet."`
	jsonFlag
}

func (k *sessionsMigrateCmd) Run(e *env, c *cli) error {
	cfg, err := e.loadWithoutSecrets(c.Config)
	if err != nil {
		return err
	}
	ctx, stop := untilSignal(e.ctx, syscall.SIGHUP) // to delete an incomplete copy
	defer stop()
	var places [2]storage.Location
	for i, text := range []string{k.From, k.To} {
		if places[i], err = storage.ParseLocation(text, cfg.StateDir); err != nil {
			return &usageError{err.Error()}
		}
	}
	p := &progress{e: e}
	got, err := e.daemon.migrate(ctx, cfg, places[0], places[1], e.caller(), p.update)
	p.end()
	if err != nil {
		return err
	}
	if k.JSON {
		return e.json(got)
	}
	e.say("Copied from %s\n    to %s\n", oneLine(got.From.String()), oneLine(got.To.String()))
	e.say("  %s\n", got.Counts)
	e.say("Both were read again and compared, record by record and message by message. They are equal.")
	e.say("The old store still has all of it; remove it when you no longer need it.")
	if got.Again {
		e.say("An earlier migration was interrupted; its incomplete copy was replaced.")
	}
	if got.Aside != "" {
		e.say("An empty store was in the way; it is now %s.", oneLine(got.Aside))
	}
	e.say("\n%s", got.Advice)
	return nil
}

// progress shows the progress of long work on a terminal.
type progress struct {
	e     *env
	step  exchange.Step
	since time.Time // of the step
	shown time.Time
	wrote bool
}

const showEvery = 200 * time.Millisecond

func (p *progress) update(now exchange.Progress) {
	if p.e.plain {
		return
	}
	t := p.e.now()
	if now.Step != p.step {
		p.step, p.since = now.Step, t
	} else if t.Sub(p.shown) < showEvery {
		return
	}
	text := fmt.Sprintf("%s: %s", now.Step, grouped(now.Done))
	if now.Total > 0 {
		text += " of " + grouped(now.Total)
	}
	text += " messages"
	if took := t.Sub(p.since).Seconds(); took > 0 {
		text += fmt.Sprintf(", %s a second", grouped(int(float64(now.Done)/took)))
	}
	p.show(text)
}

// show prints a line over the one before.
func (p *progress) show(text string) {
	p.shown, p.wrote = p.e.now(), true
	_, _ = fmt.Fprintf(p.e.err, "\r\x1b[K%s", text)
}

func (p *progress) end() {
	if p.wrote {
		_, _ = fmt.Fprint(p.e.err, "\r\x1b[K")
	}
}
