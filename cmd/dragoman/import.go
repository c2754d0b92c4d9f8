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
	Format string `default:"auto" enum:"auto,json,jsonl,picoclaw,picoclaw-jsonl,openai,goose,molf,terrarium,sentinel" help:"The format of the files: auto (${default}), json and jsonl (Dragoman's own), picoclaw, picoclaw-jsonl, openai, goose, molf, terrarium, sentinel."`
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
		plan, err := exchange.Survey(ctx, k.Path, o, func(ctx context.Context, key channels.Key) (bool, error) { return taken(ctx, a, key) })
		if errors.Is(err, exchange.ErrNoKey) && k.Key == "" {
			return fmt.Errorf("%w; choose one with --key, like --key telegram:123456", notImported(k.Path, err))
		}
		if err != nil {
			return notImported(k.Path, err)
		}
		imported, left := plan.Count()
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

// taken reports whether the store has a conversation under key, or the queues of a
// deleted one. An import merges with neither.
func taken(ctx context.Context, a *api.Client, key channels.Key) (found bool, err error) {
	_, err = api.ReadConversation.Call(ctx, a, api.About{Key: key})
	if !errors.Is(err, sessions.ErrNotFound) {
		return err == nil, err
	}
	err = a.Dump(ctx, []channels.Key{key}, func(r sessions.Record) error {
		found = found || r.Inbox != nil || r.Outbox != nil
		return nil
	})
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
	imported, left := p.Count()
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
	case imported+left+fresh == 0:
		e.say("nothing new (%s there already)", count(there, "record was", "records were"))
		return
	default:
		e.say("%s there already", count(there, "record was", "records were"))
	}
	e.say("%s %s with %s and %s of tools, from %s.", verb, count(imported, "conversation", "conversations"),
		count(messages, "message", "messages"), count(calls, "call", "calls"), count(p.Files, "file", "files"))
}
