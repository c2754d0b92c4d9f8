package httpapi

import (
	"context"
	"fmt"
	"strings"

	"dragoman/channels"
	"dragoman/internal/event"
	"dragoman/sessions"
)

func (a *admin) status(ctx context.Context, _ done) (Status, error) {
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
	if list, err := a.nodes(ctx, done{}); err == nil { // else the store was just about to fail
		s.Nodes = list.Nodes
	}
	s.Stats = &st
	return s, nil
}

// maxTitle is what a list can show and a person can mean, in bytes.
const maxTitle = 200

// renaming gives a conversation a title.
type renaming struct {
	Key   channels.Key `json:"key"`
	Title string       `json:"title"`
}

func (a *admin) rename(ctx context.Context, r renaming) error {
	title := strings.TrimSpace(r.Title)
	if len(title) > maxTitle {
		return &badRequest{fmt.Sprintf("a title has at most %d bytes", maxTitle)}
	}
	if err := named(r.Key); err != nil {
		return err
	}
	return a.Audit.Record("rename", func() error { return a.Store.Rename(ctx, r.Key, title) }, r.Key)
}

// some asks for the first items of a list.
type some struct {
	Limit int `json:"limit,omitempty"`
}

func (a *admin) queue(ctx context.Context, s some) ([]sessions.QueueItem, error) {
	return list(a.Store.ListQueue(ctx, page(s.Limit)))
}

// drop also tells the hooks of a delivery, unless the gateway told them already
// when it gave it up.
func (a *admin) drop(ctx context.Context, id string) error {
	was, err := a.Store.ShowQueue(ctx, id)
	if err != nil {
		return err
	}
	if err := a.Store.DropQueue(ctx, id); err != nil {
		return err
	}
	if was.Kind == "out" && was.State != string(sessions.DeliveryDead) {
		k, err := channels.ParseKey(was.Key)
		if err != nil {
			return fmt.Errorf("httpapi: it was given up, but the hooks could not be notified: %w", err)
		}
		a.emit(event.Event{Event: event.DeliveryDead, Key: k, Delivery: was.Delivery, Attempts: was.Attempts})
	}
	return nil
}

func (a *admin) jobs(ctx context.Context, _ done) ([]Job, error) {
	if a.Jobs == nil {
		return []Job{}, nil
	}
	return list(a.Jobs.Jobs(ctx))
}

// past asks what became of the due times of a job; "" means all jobs.
type past struct {
	Job string `json:"job,omitempty"`
	some
}

func (a *admin) occurrences(ctx context.Context, p past) ([]sessions.Occurrence, error) {
	return list(a.Store.Occurrences(ctx, p.Job, page(p.Limit)))
}

func (a *admin) runJob(ctx context.Context, name string) error {
	if a.Jobs == nil {
		return ErrNoDaemon
	}
	return a.Jobs.RunJob(ctx, name)
}

func (a *admin) pairings(ctx context.Context, _ done) ([]sessions.Pairing, error) {
	return list(a.Store.Pairings(ctx, a.Now()))
}

func (a *admin) approve(ctx context.Context, code string) (sessions.Pairing, error) {
	return a.Approve(ctx, code, a.Now())
}

// paired is a person who was let in on a channel.
type paired struct {
	Channel string `json:"channel"`
	Person  string `json:"person"`
}

func (a *admin) unpair(ctx context.Context, p paired) error {
	return a.Store.Unpair(ctx, p.Channel, p.Person)
}
