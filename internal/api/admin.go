package api

import (
	"context"
	"net/http"
	"time"

	"dragoman/channels"
	"dragoman/internal/event"
	"dragoman/sessions"
	"dragoman/sessions/erasure"
)

// Job is a configured job as lists show it.
type Job struct {
	Name     string    `json:"name"`
	Schedule string    `json:"schedule"` // "every 30m", "0 8 * * * Europe/Rome"
	Target   string    `json:"target"`
	Next     time.Time `json:"next,omitzero"`
	// Last is the newest recorded occurrence.
	Last *sessions.Occurrence `json:"last,omitempty"`
}

// Scheduler lists and runs the configured jobs.
type Scheduler interface {
	Jobs(ctx context.Context) ([]Job, error)
	// RunJob fires a job now, besides its schedule. Errors: sessions.ErrNotFound.
	RunJob(ctx context.Context, name string) error
}

// Info is the state of a process.
type Info struct {
	Version  string    `json:"version"`
	PID      int       `json:"pid,omitempty"`
	Started  time.Time `json:"started,omitzero"`
	Config   string    `json:"config,omitempty"`
	StateDir string    `json:"state_dir,omitempty"`
	Store    string    `json:"store,omitempty"`
	Model    string    `json:"model,omitempty"`
	// ModelTrouble is nil unless the model's last call failed.
	ModelTrouble *Trouble `json:"model_trouble,omitempty"`
	// OtherTroubles are those of models for summaries and of models that
	// conversations name.
	OtherTroubles []OtherTrouble `json:"other_troubles,omitempty"`
	Listen        string         `json:"listen,omitempty"`
	// Running is false if no daemon runs and the command opened the store itself.
	Running     bool                       `json:"running"`
	Turns       int                        `json:"turns"`
	OldestTurnS float64                    `json:"oldest_turn_seconds,omitempty"`
	Channels    map[string]channels.Status `json:"channels,omitempty"`
	Policy      []string                   `json:"policy,omitempty"`
	Warnings    []string                   `json:"warnings,omitempty"`
	// DiskFull says that one of the warnings is about the disk.
	DiskFull bool `json:"disk_full,omitempty"`
}

// Trouble is why calls of a model fail, until one succeeds.
type Trouble struct {
	At     time.Time `json:"at"`
	Why    string    `json:"why"`
	InARow int       `json:"in_a_row"`
}

// OtherTrouble is trouble with a model other than the configured one.
type OtherTrouble struct {
	Model string `json:"model"`
	Trouble
}

// Status is Info and the state of the queues.
type Status struct {
	Info
	// Problem is why the store cannot write, or "".
	Problem string `json:"problem,omitempty"`
	// Nodes are those that share the store, if several can.
	Nodes []Node `json:"nodes,omitempty"`
	// Stats are nil if the store cannot be read.
	*sessions.Stats
}

// AdminOptions are what the verbs work with. Store, Eraser and Info must be set.
type AdminOptions struct {
	Store Store
	// Jobs is nil where jobs cannot be listed or run.
	Jobs Scheduler
	Info func() Info
	// Nodes lists the nodes that share the store. Nil: it is not shared.
	Nodes func(ctx context.Context) ([]sessions.Node, error)
	// Approve lets a person in and tells them. Nil: Store does it, and the
	// person is not told.
	Approve func(ctx context.Context, code string, now time.Time) (sessions.Pairing, error)
	// Phones links channels to phones.
	Phones Phones
	// Ask answers questions. Nil: no daemon runs.
	Ask Asker
	// Events receives what the operator ended, and must not block. Nil: events
	// are dropped.
	Events func(event.Event)
	// Audit gets two lines for everything that ends or renames something.
	Audit  erasure.Log
	Eraser *erasure.Eraser
	// Now is the clock. Default: time.Now.
	Now func() time.Time
}

// maxBody bounds a request; the longest is a title.
const maxBody = 64 << 10

// maxErasure bounds the request of an erasure: a person on IRC can have had
// thousands of masks.
const maxErasure = 4 << 20

// admin has the verbs' handlers as methods.
type admin struct{ AdminOptions }

// Admin serves the operator's verbs. See the package comment for who may reach it.
func Admin(o AdminOptions) http.Handler {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Approve == nil {
		o.Approve = o.Store.ApprovePairing
	}
	a := &admin{o}
	mux := http.NewServeMux()
	ReadStatus.serve(mux, a.status)
	ListNodes.serve(mux, a.nodes)
	Find.serve(mux, a.sessions)
	ReadConversation.serve(mux, o.Store.Conversation)
	ReadMessages.serve(mux, a.messages)
	ReadRunning.serve(mux, a.running)
	ReadSummary.serve(mux, a.summary)
	ListGenerations.serve(mux, a.generations)
	ReadNumbers.serve(mux, a.numbers)
	SearchAll.serve(mux, a.searchAll)
	Configure.serve(mux, a.configure)
	Rename.serve(mux, a.rename)
	Delete.serve(mux, a.remove)
	Join.serve(mux, a.join)
	PlanErase.serve(mux, a.planErase)
	ListFacts.serve(mux, a.facts)
	Forget.serve(mux, a.forget)
	ListQueue.serve(mux, a.queue)
	ShowQueue.serve(mux, o.Store.ShowQueue)
	RetryQueue.serve(mux, o.Store.RetryQueue)
	DropQueue.serve(mux, a.drop)
	ListJobs.serve(mux, a.jobs)
	ListOccurrences.serve(mux, a.occurrences)
	RunJob.serve(mux, a.runJob)
	ListPairings.serve(mux, a.pairings)
	ApprovePairing.serve(mux, a.approve)
	Unpair.serve(mux, a.unpair)
	Unlink.serve(mux, a.unlink)
	mux.Handle("POST "+Erase.path, http.MaxBytesHandler(answering(a.erase), maxErasure))
	mux.Handle("POST "+PutQuestion.path, Ask(o.Ask))
	mux.HandleFunc("POST "+linkPath, a.link)
	mux.HandleFunc("GET "+dumpPath, a.dump)
	mux.HandleFunc("POST "+restorePath, a.restore)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(formHeader, wireForm)
		mux.ServeHTTP(w, r)
	})
}

// Store is the store, by what the verbs do with it. All fields must be set, usually
// to the same engine.Store. The comments there are the contract.
type Store struct {
	Conversations
	Transcripts
	Queue
	JobLog
	People
	Facts
	Copies
	Health
}

// Conversations lists, counts and changes conversations.
type Conversations interface {
	Find(ctx context.Context, q sessions.Query) ([]sessions.Conversation, error)
	Conversation(ctx context.Context, k channels.Key) (sessions.Conversation, error)
	Generations(ctx context.Context, k channels.Key) ([]sessions.Generation, error)
	Configure(ctx context.Context, k channels.Key, change func(*sessions.Settings) error) error
	Rename(ctx context.Context, k channels.Key, title string) error
	Join(ctx context.Context, from, to channels.Key) error
	Delete(ctx context.Context, k channels.Key) error
	Days(ctx context.Context, from, to time.Time) ([]sessions.DayCount, error)
	Top(ctx context.Context, limit int) ([]sessions.Conversation, error)
}

// Transcripts shows and searches what was said.
type Transcripts interface {
	Messages(ctx context.Context, k channels.Key, after int64, limit int) ([]sessions.Message, error)
	SearchAll(ctx context.Context, s sessions.Search) ([]sessions.Found, error)
	History(ctx context.Context, k channels.Key, limit sessions.HistoryLimit) (sessions.History, error)
	Feed(ctx context.Context, k channels.Key, before int64, limit int) ([]sessions.FeedItem, error)
	Running(ctx context.Context, k channels.Key) (sessions.Pending, error)
}

// Queue shows and changes what waits in inbox, outbox and quarantine.
type Queue interface {
	ListQueue(ctx context.Context, limit int) ([]sessions.QueueItem, error)
	ShowQueue(ctx context.Context, id string) (sessions.QueueItem, error)
	RetryQueue(ctx context.Context, id string) error
	DropQueue(ctx context.Context, id string) error
}

// JobLog lists what became of jobs.
type JobLog interface {
	Occurrences(ctx context.Context, job string, limit int) ([]sessions.Occurrence, error)
}

// People lists, approves and removes people.
type People interface {
	Pairings(ctx context.Context, now time.Time) ([]sessions.Pairing, error)
	ApprovePairing(ctx context.Context, code string, now time.Time) (sessions.Pairing, error)
	Unpair(ctx context.Context, channel, personID string) error
}

// Facts shows and removes long-term memory.
type Facts interface {
	Recall(ctx context.Context, scope, query string, limit int) ([]sessions.Fact, error)
	Forget(ctx context.Context, scope string, id int64) error
}

// Copies reads and writes records of whole conversations.
type Copies interface {
	Dump(ctx context.Context, keys []channels.Key, emit func(sessions.Record) error) error
	Restore(ctx context.Context, next func() (sessions.Record, error)) (sessions.Restored, error)
}

// Health counts the queues and proves that the store can write.
type Health interface {
	Stats(ctx context.Context) (sessions.Stats, error)
	Check(ctx context.Context) error
}
