package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"dragoman/internal/api"
	"dragoman/sessions"
)

// queueCmd is "dragoman queue": what waits, failed or was set aside, so that
// nothing is lost in silence.
type queueCmd struct {
	List  queueListCmd  `cmd:"" default:"withargs" help:"List what is unanswered, undelivered, given up or set aside."`
	Show  queueShowCmd  `cmd:"" help:"Show one entry with its text."`
	Retry queueRetryCmd `cmd:"" help:"Retry entries now."`
	Drop  queueDropCmd  `cmd:"" help:"Give entries up."`
}

// queueListCmd is "dragoman queue list", and "dragoman queue" alone.
type queueListCmd struct {
	Limit int `default:"100" help:"How many (${default})."`
	jsonFlag
}

func (k *queueListCmd) Run(e *env, c *cli) error {
	if k.Limit < 1 {
		return &usageError{"--limit wants 1 or more"}
	}
	part := func(after string, limit int) api.QueueQuery { return api.QueueQuery{After: after, Limit: limit} }
	return listAll(e, c, k.JSON, api.ListQueue, k.Limit, part, func(items api.Page[api.QueueItem]) {
		if len(items.Data) == 0 {
			e.say("The queue is empty: every message is answered and every answer is delivered.")
			return
		}
		t := &table{head: []string{"ID", "CHAT", "STATE", "TRIES", "SINCE", "NEXT", "WHY"}, less: []int{3, 5, 4}}
		for _, i := range items.Data {
			t.add(i.ID, i.Key, i.State, fmt.Sprint(i.Attempts), e.when(i.At), e.when(i.NotBefore), i.Error)
		}
		t.print(e)
		if items.Next != "" {
			e.say("(there may be more: --limit)")
		}
	})
}

// limited are the arguments for one page of a list.
func limited(after string, limit int) api.Limited { return api.Limited{After: after, Limit: limit} }

// queueShowCmd is "dragoman queue show".
type queueShowCmd struct {
	ID string `arg:"" help:"The entry, like out/telegram:123456/7 (see dragoman queue list)."`
	jsonFlag
}

func (k *queueShowCmd) Run(e *env, c *cli) error {
	return e.queueError(k.ID, list(e, c, k.JSON, api.ShowQueue, api.Item{ID: k.ID}, func(i api.QueueItem) {
		e.say("id       %s\nchat     %s\nstate    %s\ntries    %d\nsince    %s\nnext     %s\nbytes    %d",
			i.ID, oneLine(i.Key), i.State, i.Attempts, e.when(i.At), e.when(i.NotBefore), i.Bytes)
		if i.Error != "" {
			e.say("why      %s", oneLine(i.Error))
		}
		e.say("\n%s", sessions.Printable(i.Text))
	}))
}

// queueRetryCmd is "dragoman queue retry": it makes entries due now.
type queueRetryCmd struct {
	ID []string `arg:"" help:"The entries, like out/telegram:123456/7."`
}

func (k *queueRetryCmd) Run(e *env, c *cli) error {
	return e.withAdmin(c, func(ctx context.Context, a *api.Client) error {
		return e.forEach(k.ID, "will be tried again now", func(id string) error { return api.RetryQueue.Call(ctx, a, api.Item{ID: id}) })
	})
}

// queueDropCmd is "dragoman queue drop": it gives entries up, after a question.
type queueDropCmd struct {
	ID  []string `arg:"" help:"The entries, like out/telegram:123456/7."`
	Yes bool     `short:"y" help:"Do not ask."`
}

func (k *queueDropCmd) Run(e *env, c *cli) error {
	if err := e.confirm(k.Yes, fmt.Sprintf("Give up %s?", oneLine(strings.Join(k.ID, ", ")))); err != nil {
		return err
	}
	return e.withAdmin(c, func(ctx context.Context, a *api.Client) error {
		return e.forEach(k.ID, "was given up", func(id string) error { return api.DropQueue.Call(ctx, a, api.Item{ID: id}) })
	})
}

// forEach continues after an entry that cannot be changed, and fails at the end.
func (e *env) forEach(ids []string, done string, f func(id string) error) error {
	var errs []error
	for _, id := range ids {
		if err := f(id); err != nil {
			errs = append(errs, e.queueError(id, err))
			continue
		}
		e.say("%s %s.", oneLine(id), done)
	}
	return errors.Join(errs...)
}

func (e *env) queueError(id string, err error) error {
	switch {
	case errors.Is(err, sessions.ErrNotFound):
		return fmt.Errorf("there is no entry %s; %s shows all", oneLine(id), e.command("queue list"))
	case errors.Is(err, sessions.ErrConflict):
		return plainErrorf(nil, "%s is done already, or being worked on right now", oneLine(id))
	}
	return err
}
