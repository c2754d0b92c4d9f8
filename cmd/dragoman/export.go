package main

import (
	"context"
	"errors"
	"io"
	"time"

	"dragoman/channels"
	"dragoman/internal/api"
	"dragoman/sessions"
	"dragoman/sessions/exchange"
)

// sessionsExportCmd is "dragoman sessions export". What it writes as jsonl can be
// imported again without loss.
type sessionsExportCmd struct {
	Key    string `arg:"" optional:"" help:"The conversation, like telegram:123456."`
	All    bool   `help:"All conversations; as jsonl the whole store, queues and pairings too."`
	Format string `default:"jsonl" enum:"json,jsonl,markdown" help:"jsonl: everything, one record per line; json: one document; markdown: the messages, to read."`
	Out    string `short:"o" placeholder:"FILE" aliases:"output" help:"Write to a new file instead of standard output."`
	Force  bool   `help:"Replace the file if it exists."`
}

// Run writes while it reads, so a transcript can be longer than memory.
func (k *sessionsExportCmd) Run(e *env, c *cli) error {
	if k.All == (k.Key != "") {
		return &usageError{"name one conversation, or add --all"}
	}
	var key channels.Key
	if !k.All {
		var err error
		if key, err = e.parseKey(k.Key); err != nil {
			return err
		}
	}
	return e.withAdmin(c, func(ctx context.Context, a *api.Client) error {
		return e.into(k.Out, k.Force, func(w io.Writer) error {
			out, err := exchange.NewWriter(w, exchange.Format(k.Format), exchange.WriterOptions{Zone: time.Local, List: k.All})
			if err != nil {
				return err
			}
			if k.All {
				err = a.Dump(ctx, nil, func(r sessions.Record) error {
					if isName(r) && exchange.Format(k.Format) != exchange.JSONL {
						return nil
					}
					return out.Put(r)
				})
			} else {
				err = e.exportOne(ctx, a, exchange.Format(k.Format), key, out)
			}
			return errors.Join(err, out.Close())
		}, nil)
	})
}

// exportOne writes the records of key. A store can know a key without a
// conversation: somebody asked to be paired, or only the name is left. As jsonl
// the queues of such a key are written; the other formats have only transcripts.
func (e *env) exportOne(ctx context.Context, a *api.Client, format exchange.Format, key channels.Key, out exchange.Writer) error {
	found := false
	var head *sessions.Record // of a key without a conversation
	err := a.Dump(ctx, []channels.Key{key}, func(r sessions.Record) error {
		if isName(r) {
			head = &r
			return nil
		}
		if head != nil && !found {
			if format != exchange.JSONL {
				return nil
			}
			if err := out.Put(*head); err != nil {
				return err
			}
		}
		found = true
		return out.Put(r)
	})
	if err == nil && !found {
		return e.noConversation(key)
	}
	return err
}

// isName reports whether r is the head of a key without a conversation.
func isName(r sessions.Record) bool {
	c := r.Conversation
	return c != nil && c.Created.IsZero() && len(c.Generations) == 0
}
