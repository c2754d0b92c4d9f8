package api

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"dragoman/channels"
	"dragoman/internal/event"
	"dragoman/internal/plain"
	"dragoman/sessions"
)

func (a *admin) status(ctx context.Context, _ None) (Status, error) {
	// Stats waits until the store has read its files, so that the warnings
	// include what it finds.
	st, err := a.Store.Stats(ctx)
	s := Status{Info: a.Info()}
	if err := a.Store.Check(ctx); err != nil {
		s.Problem = plain.Reason(err)
	}
	if a.Eraser.CutOff() {
		s.Warnings = append(s.Warnings, "an erasure was interrupted and is not complete; the next start of the daemon or the next sessions erase finishes it")
	}
	if err != nil {
		// status still answers: it is the command to find out why.
		if s.Problem == "" {
			s.Problem = plain.Reason(err)
		}
		return s, nil
	}
	if list, err := a.nodes(ctx, None{}); err == nil { // else the store has begun to fail
		s.Nodes = list.Nodes
	}
	s.Stats = &st
	return s, nil
}

// maxTitle is the longest title, in bytes: lists have no room for more.
const maxTitle = 200

// Title is the title of a conversation.
type Title struct {
	Key   channels.Key `json:"key"`
	Title string       `json:"title"`
}

func (a *admin) rename(ctx context.Context, r Title) error {
	title := strings.TrimSpace(r.Title)
	if len(title) > maxTitle {
		return &Refusal{Sentence: fmt.Sprintf("a title has at most %d bytes", maxTitle)}
	}
	if err := requireKey(r.Key); err != nil {
		return err
	}
	return a.Audit.Record("rename", func() error { return a.Store.Rename(ctx, r.Key, title) }, r.Key)
}

// Limited asks for the first items of a list.
type Limited struct {
	Limit int `json:"limit,omitempty"`
}

func (a *admin) queue(ctx context.Context, s Limited) ([]sessions.QueueItem, error) {
	return list(a.Store.ListQueue(ctx, page(s.Limit)))
}

// drop also emits the end of a delivery, unless the gateway did so when it gave
// the delivery up.
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
			return fmt.Errorf("api: it was given up, but the hooks could not be notified: %w", err)
		}
		a.emit(event.Event{Event: event.DeliveryDead, Key: k, Delivery: was.Delivery, Attempts: was.Attempts})
	}
	return nil
}

func (a *admin) jobs(ctx context.Context, _ None) ([]Job, error) {
	if a.Jobs == nil {
		return []Job{}, nil
	}
	return list(a.Jobs.Jobs(ctx))
}

// JobLimited asks for the outcomes of a job's due times; "" means all jobs.
type JobLimited struct {
	Job   string `json:"job,omitempty"`
	Limit int    `json:"limit,omitempty"`
}

func (a *admin) occurrences(ctx context.Context, p JobLimited) ([]sessions.Occurrence, error) {
	return list(a.Store.Occurrences(ctx, p.Job, page(p.Limit)))
}

func (a *admin) runJob(ctx context.Context, name string) error {
	if a.Jobs == nil {
		return ErrNoDaemon
	}
	return a.Jobs.RunJob(ctx, name)
}

func (a *admin) pairings(ctx context.Context, _ None) ([]sessions.Pairing, error) {
	return list(a.Store.Pairings(ctx, a.Now()))
}

func (a *admin) approve(ctx context.Context, code string) (sessions.Pairing, error) {
	return a.Approve(ctx, code, a.Now())
}

// Paired is a person who was let in on a channel.
type Paired struct {
	Channel string `json:"channel"`
	Person  string `json:"person"`
}

func (a *admin) unpair(ctx context.Context, p Paired) error {
	return a.Store.Unpair(ctx, p.Channel, p.Person)
}

// Nodes are the nodes that work on the store.
type Nodes struct {
	// Shared is false for a store that only one node can open. Then Nodes is empty.
	Shared bool   `json:"shared"`
	Store  string `json:"store,omitempty"` // its type
	Nodes  []Node `json:"nodes"`
}

// Node is one process that works on the store.
type Node struct {
	ID      string    `json:"id"`
	Host    string    `json:"host,omitempty"` // and its state directory
	Self    bool      `json:"self,omitempty"` // this node answers
	Version string    `json:"version,omitempty"`
	Roles   []string  `json:"roles"`
	Since   time.Time `json:"since"`
	// LagS is how long ago it last reported that it lives.
	LagS float64 `json:"lag_seconds"`
	// Chats is how many conversations it works on now.
	Chats int              `json:"chats"`
	Holds []sessions.Lease `json:"holds"` // leases that one node has at a time, like "channel:telegram"
}

// Name is what people call it.
func (n Node) Name() string {
	return cmp.Or(n.Host, n.ID)
}

func (a *admin) nodes(ctx context.Context, _ None) (Nodes, error) {
	list := Nodes{Shared: a.Nodes != nil, Store: a.Info().Store, Nodes: []Node{}}
	if a.Nodes == nil {
		return list, nil
	}
	found, err := a.Nodes(ctx)
	for _, n := range found {
		list.Nodes = append(list.Nodes, nodeOf(n))
	}
	return list, err
}

func nodeOf(n sessions.Node) Node {
	return Node{
		ID: n.ID, Host: n.Host, Self: n.Self, Version: n.Version, Roles: append([]string{}, n.Roles...), Since: n.Since,
		LagS: n.Lag.Seconds(), Chats: n.Claims, Holds: append([]sessions.Lease{}, n.Leases...),
	}
}
