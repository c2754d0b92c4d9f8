package httpapi

import (
	"context"
	"fmt"
	"strings"

	"dragoman/channels"
	"dragoman/internal/event"
	"dragoman/sessions"
)

func (a *admin) status(ctx context.Context, _ *request) (any, error) {
	// Stats wait for a store that still reads its files, so that the warnings
	// have what it finds.
	st, err := a.Store.Stats(ctx)
	s := Status{Info: a.Info()}
	if err := a.Store.Check(ctx); err != nil {
		s.Problem = PlainReason(err)
	}
	if a.Eraser.CutOff() {
		s.Warnings = append(s.Warnings, "an erasure was interrupted and is not complete; the next start of the daemon or the next sessions erase finishes it")
	}
	if err != nil {
		// A store that cannot be read is what status is asked about, so it
		// still answers.
		if s.Problem == "" {
			s.Problem = PlainReason(err)
		}
		return s, nil
	}
	if list, err := a.listNodes(ctx); err == nil { // else the store was just about to fail
		s.Nodes = list.Nodes
	}
	s.Stats = &st
	return s, nil
}

// maxTitle is what a list can show and a person can mean, in bytes.
const maxTitle = 200

func (a *admin) rename(ctx context.Context, k channels.Key, r *request) (any, error) {
	title := strings.TrimSpace(r.body.Title)
	if len(title) > maxTitle {
		return nil, &badRequest{fmt.Sprintf("a title has at most %d bytes", maxTitle)}
	}
	return done{}, a.Audit.Record("rename", func() error { return a.Store.Rename(ctx, k, title) }, k)
}

func (a *admin) queue(ctx context.Context, r *request) (any, error) {
	return list(a.Store.ListQueue(ctx, r.limit()))
}

func (a *admin) queueItem(ctx context.Context, r *request) (any, error) {
	return a.Store.ShowQueue(ctx, r.text("id"))
}

func (a *admin) retry(ctx context.Context, r *request) (any, error) {
	return done{}, a.Store.RetryQueue(ctx, r.body.ID)
}

// drop also tells the hooks of a delivery, unless the gateway told them already
// when it gave it up.
func (a *admin) drop(ctx context.Context, r *request) (any, error) {
	was, err := a.Store.ShowQueue(ctx, r.body.ID)
	if err != nil {
		return nil, err
	}
	if err := a.Store.DropQueue(ctx, r.body.ID); err != nil {
		return nil, err
	}
	if was.Kind == "out" && was.State != string(sessions.DeliveryDead) {
		k, err := channels.ParseKey(was.Key)
		if err != nil {
			return nil, fmt.Errorf("httpapi: it was given up, but the hooks could not be notified: %w", err)
		}
		a.emit(event.Event{Event: event.DeliveryDead, Key: k, Delivery: was.Delivery, Attempts: was.Attempts})
	}
	return done{}, nil
}

func (a *admin) jobs(ctx context.Context, _ *request) (any, error) {
	if a.Jobs == nil {
		return []Job{}, nil
	}
	return list(a.Jobs.Jobs(ctx))
}

func (a *admin) occurrences(ctx context.Context, r *request) (any, error) {
	return list(a.Store.Occurrences(ctx, r.text("job"), r.limit()))
}

func (a *admin) runJob(ctx context.Context, r *request) (any, error) {
	if a.Jobs == nil {
		return nil, ErrNoDaemon
	}
	return done{}, a.Jobs.RunJob(ctx, r.body.Name)
}

func (a *admin) pairings(ctx context.Context, _ *request) (any, error) {
	return list(a.Store.Pairings(ctx, a.Now()))
}

func (a *admin) approve(ctx context.Context, r *request) (any, error) {
	return a.Approve(ctx, r.body.Code, a.Now())
}

func (a *admin) unpair(ctx context.Context, r *request) (any, error) {
	return done{}, a.Store.Unpair(ctx, r.body.Name, r.body.Person)
}

// list makes an empty list of nil, so that it is encoded as [].
func list[T any](items []T, err error) (any, error) {
	if items == nil {
		items = []T{}
	}
	return items, err
}
