package api

import (
	"context"
	"time"
)

// HealthReport is how all is, and how it was in the last hour.
type HealthReport struct {
	// Status is what the verb status says.
	Status Status `json:"status"`
	// EverySeconds is the time between two values of [Figures].
	EverySeconds int `json:"every_seconds"`
	// Nodes are this one and those that share its store.
	Nodes []NodeFigures `json:"nodes"`
}

// NodeFigures are the figures of one node.
type NodeFigures struct {
	// Node is its id among `nodes`, and Host its name there. Both are empty if the store is
	// not shared.
	Node string `json:"node,omitempty"`
	Host string `json:"host,omitempty"`
	Self bool   `json:"self,omitempty"` // this node answers
	// Problem is why its figures are not here.
	Problem string   `json:"problem,omitempty"`
	Figures *Figures `json:"figures,omitempty"`
}

// Figures are those of the last hour. Each list has as many values, one for each
// every_seconds since From; null: nothing was measured, or the node did not run. Ages and
// durations are in seconds.
type Figures struct {
	From time.Time `json:"from"`
	// TurnsRunning are turns, and TurnsWaiting those that wait for a free place
	// (agent.max_turns).
	TurnsRunning []*float64 `json:"turns_running"`
	TurnsWaiting []*float64 `json:"turns_waiting"`
	// Waiting are messages without an answer, Unsent answers that are not delivered: how
	// many, and the age of the oldest. All nodes that share a store see the same ones.
	Waiting       []*float64 `json:"waiting"`
	OldestWaiting []*float64 `json:"oldest_waiting"`
	Unsent        []*float64 `json:"unsent"`
	OldestUnsent  []*float64 `json:"oldest_unsent"`
	// Failed are attempts to deliver that failed since the value before.
	Failed []*float64 `json:"failed"`
	// ModelCalls is how many calls of models ended since the value before, and ModelP50 and
	// ModelP95 how long half of them and 95 % of them took at most.
	ModelCalls []*float64 `json:"model_calls"`
	ModelP50   []*float64 `json:"model_p50"`
	ModelP95   []*float64 `json:"model_p95"`
	// Commits are those of messages, steps and turns.
	Commits   []*float64 `json:"commits"`
	CommitP50 []*float64 `json:"commit_p50"`
	CommitP95 []*float64 `json:"commit_p95"`
	// MemoryBytes is the resident memory.
	MemoryBytes []*float64 `json:"memory_bytes"`
	Goroutines  []*float64 `json:"goroutines"`
	// CPU is how many cores were in use since the value before.
	CPU []*float64 `json:"cpu"`
}

// ChannelDays are what the channels did in the last day.
type ChannelDays struct {
	// EverySeconds is how long each value of a [ChannelDay] counts for, and From when the
	// first one begins.
	EverySeconds int       `json:"every_seconds"`
	From         time.Time `json:"from"`
	// Channels are those of the configuration, by name.
	Channels []ChannelDay `json:"channels"`
}

// ChannelDay is the last day of a channel: each list has 48 values, the last one of the half
// hour that is not over. Several nodes are added up.
type ChannelDay struct {
	Name string `json:"name"`
	Type string `json:"type"`
	// Connected is how much of the half hour it was connected, 0 to 1; null: nobody looked,
	// because Dragoman did not run.
	Connected []*float64 `json:"connected"`
	// In are messages of people, Out messages that the network took, and Failed attempts to
	// deliver that failed.
	In     []int `json:"in"`
	Out    []int `json:"out"`
	Failed []int `json:"failed"`
}

// Figuring has the figures of a running daemon.
type Figuring interface {
	// Figures are those of this node and of those that share its store.
	Figures(ctx context.Context) ([]NodeFigures, error)
	// Days are those of the channels.
	Days(ctx context.Context) (ChannelDays, error)
}

// figuresEvery is the time between two figures; internal/health has it too.
const figuresEvery = 15

func (s *server) health(ctx context.Context, _ None) (HealthReport, error) {
	if s.Figures == nil {
		return HealthReport{}, ErrNoDaemon
	}
	now, err := s.status(ctx, None{})
	if err != nil {
		return HealthReport{}, err
	}
	nodes, err := s.Figures.Figures(ctx)
	return HealthReport{Status: now, EverySeconds: figuresEvery, Nodes: nodes}, err
}

func (s *server) channelDays(ctx context.Context, _ None) (ChannelDays, error) {
	if s.Figures == nil {
		return ChannelDays{}, ErrNoDaemon
	}
	return s.Figures.Days(ctx)
}
