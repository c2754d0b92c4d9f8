package main

import (
	"fmt"
	"syscall"
	"time"

	"dragoman/sessions/exchange"
)

type sessionsMigrateCmd struct {
	From string `required:"" placeholder:"TYPE[:PATH]" help:"The store to copy: sqlite or file. Without a path: the one in the state directory."`
	To   string `required:"" placeholder:"TYPE[:PATH]" help:"Where to put the copy. It must not exist yet."`
	jsonFlag
}

// migrated is what a migration did.
type migrated struct {
	From string `json:"from"`
	To   string `json:"to"`
	exchange.Counts
	// Equal is what the comparison found; a copy that is not equal is an error.
	Equal bool `json:"equal"`
	// Again: an earlier one had been cut short.
	Again bool `json:"again,omitempty"`
	// Aside is where an empty store is now that was in the way.
	Aside string `json:"aside,omitempty"`
	// Advice says how to use the copy.
	Advice string `json:"-"`
}

func (k *sessionsMigrateCmd) Run(e *env, c *cli) error {
	cfg, err := e.daemon.loadWithoutSecrets(c.Config)
	if err != nil {
		return err
	}
	ctx, stop := untilSignal(e.ctx, syscall.SIGHUP) // a copy of the store has to go
	defer stop()
	p := &progress{e: e}
	got, err := e.daemon.migrate(ctx, cfg, k.From, k.To, p.tell)
	p.end()
	if err != nil {
		return err
	}
	if k.JSON {
		return e.json(got)
	}
	e.say("Copied from %s\n    to %s\n", oneLine(got.From), oneLine(got.To))
	e.say("  %s\n", got.Counts)
	e.say("Both were read again and compared, record by record and message by message. They are equal.")
	e.say("The old store is unchanged; remove it when you no longer need it.")
	if got.Again {
		e.say("An earlier migration was interrupted; its incomplete copy was replaced.")
	}
	if got.Aside != "" {
		e.say("An empty store was in the way; it is now %s.", oneLine(got.Aside))
	}
	e.say("\n%s", got.Advice)
	return nil
}

// progress shows on a terminal how far something has come that takes long.
type progress struct {
	e     *env
	step  exchange.Step
	since time.Time // of the step
	shown time.Time
	wrote bool
}

// showEvery is how often people look.
const showEvery = 200 * time.Millisecond

func (p *progress) tell(now exchange.Progress) {
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

// show writes a line over the one before.
func (p *progress) show(text string) {
	p.shown, p.wrote = p.e.now(), true
	_, _ = fmt.Fprintf(p.e.err, "\r\x1b[K%s", text)
}

// end clears the line.
func (p *progress) end() {
	if p.wrote {
		_, _ = fmt.Fprint(p.e.err, "\r\x1b[K")
	}
}
