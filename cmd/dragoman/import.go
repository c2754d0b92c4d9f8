package main

import (
	"context"
	"errors"
	"fmt"

	"dragoman/channels"
	"dragoman/internal/api"
	"dragoman/sessions"
	"dragoman/sessions/exchange"
)

// sessionsImportCmd is "dragoman sessions import": it reads conversations of
// Dragoman and of other programs.
type sessionsImportCmd struct {
	Path   string `arg:"" name:"file" help:"A file, or a folder, whose subfolders are read too."`
	Format string `default:"auto" enum:"auto,json,jsonl,picoclaw,picoclaw-jsonl,nanobot,openai,goose,molf,terrarium,sentinel" help:"The format of the files: auto (${default}), json and jsonl (Dragoman's own), picoclaw, picoclaw-jsonl, nanobot, openai, goose, molf, terrarium, sentinel."`
	Key    string `placeholder:"KEY" help:"The conversation's key, instead of the one in the file."`
	DryRun bool   `help:"Only print what would be imported."`
	jsonFlag
}

// Run reads the files twice, first to survey them and then to import them, so that
// they need not fit into memory.
func (k *sessionsImportCmd) Run(e *env, c *cli) error {
	o := exchange.Options{Format: exchange.Format(k.Format), Now: e.now}
	if k.Key != "" {
		var err error
		if o.Key, err = e.parseKey(k.Key); err != nil {
			return err
		}
	}
	return e.withAdmin(c, func(ctx context.Context, a *api.Client) error {
		plan, err := exchange.Survey(ctx, k.Path, o, func(ctx context.Context, it exchange.Item) (exchange.Presence, error) { return presence(ctx, a, it) })
		if errors.Is(err, exchange.ErrNoKey) && k.Key == "" {
			return fmt.Errorf("%w; choose one with --key, like --key telegram:123456", notImported(k.Path, err))
		}
		if err != nil {
			return notImported(k.Path, err)
		}
		imported, left, _ := plan.Count()
		done := imports{Plan: plan, DryRun: k.DryRun}
		if !k.DryRun && (imported > 0 || plan.Others > 0) {
			if done.Taken, err = restore(ctx, a, plan); err != nil {
				return err
			}
		}
		if k.JSON {
			if err := e.json(done); err != nil {
				return err
			}
		} else {
			e.sayImports(done)
		}
		if left > 0 {
			return fmt.Errorf("%s left out", count(left, "conversation or file was", "conversations or files were"))
		}
		return nil
	})
}

func notImported(path string, err error) error {
	if why := cause(err); why != err {
		return plainErrorf(why, "%s cannot be read", path)
	}
	return plainErrorf(err, "%s was not imported", path)
}

// presence says what the store has under the key of it: also the queues of a deleted
// conversation count. An import merges with nothing.
func presence(ctx context.Context, a *api.Client, it exchange.Item) (exchange.Presence, error) {
	has := exchange.NewHolder(it)
	found := exchange.Absent
	err := a.Dump(ctx, []channels.Key{it.Key}, func(r sessions.Record) error {
		switch {
		case r.Messages != nil:
			has.Add(r.Messages.Messages)
			found = exchange.Taken
		case r.Conversation != nil, r.Inbox != nil, r.Outbox != nil:
			found = exchange.Taken
		}
		return nil
	})
	if errors.Is(err, sessions.ErrNotFound) {
		return exchange.Absent, nil
	}
	if found == exchange.Taken && has.Holds() {
		found = exchange.Same
	}
	return found, err
}

func restore(ctx context.Context, a *api.Client, plan *exchange.Plan) (sessions.Restored, error) {
	taken, err := plan.Import(ctx, a.Restore)
	switch {
	case err != nil && taken == (sessions.Restored{}):
		err = fmt.Errorf("nothing was imported: %w", err)
	case err != nil:
		err = fmt.Errorf("only %s imported; run the same command again for the others: %w", count(taken.Conversations, "conversation was", "conversations were"), err)
	}
	return taken, err
}

// imports is what an import found, and what was new to the store.
type imports struct {
	*exchange.Plan
	Taken  sessions.Restored `json:"taken"`
	DryRun bool              `json:"dry_run,omitempty"`
}

func (e *env) sayImports(p imports) {
	verb := "imported"
	if p.DryRun {
		verb = "would import"
	}
	imported, left, already := p.Count()
	messages := 0
	calls := 0
	var out []string
	for _, it := range p.Items {
		switch {
		case it.LeftOut == "":
			messages, calls = messages+it.Messages, calls+it.Calls
			e.say("%s %s: %s from %s (%s)", verb, oneLine(it.Key.String()), count(it.Messages, "message", "messages"), oneLine(it.File), it.Format)
		case it.Key.IsZero():
			out = append(out, fmt.Sprintf("left out %s: %s", oneLine(it.File), oneLine(it.LeftOut)))
		default:
			out = append(out, fmt.Sprintf("left out %s from %s: %s", oneLine(it.Key.String()), oneLine(it.File), oneLine(it.LeftOut)))
		}
	}
	for _, line := range out {
		e.say("%s", line)
	}
	for _, n := range p.Notes {
		e.say("note: %s", oneLine(n))
	}
	if p.Others > 0 && p.DryRun {
		e.say("%s %s to no conversation, if new", verb, count(p.Others, "record that belongs", "records that belong"))
	}
	fresh := p.Taken.Others
	if fresh > 0 {
		e.say("%s %s to no conversation", verb, count(fresh, "record that belongs", "records that belong"))
	}
	switch there := p.Others - fresh; {
	case p.DryRun || there == 0:
	case imported+left+fresh+already == 0:
		e.say("nothing new (%s there already)", count(there, "record was", "records were"))
		return
	default:
		e.say("%s there already", count(there, "record was", "records were"))
	}
	if imported+left+fresh == 0 && already > 0 && !p.DryRun {
		e.say("nothing new")
		return
	}
	e.say("%s %s with %s and %s of tools, from %s.", verb, count(imported, "conversation", "conversations"),
		count(messages, "message", "messages"), count(calls, "call", "calls"), count(p.Files, "file", "files"))
}
