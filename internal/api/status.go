package api

import (
	"cmp"
	"context"
	"time"

	"dragoman/channels"
	"dragoman/internal/plain"
	"dragoman/sessions"
)

// Info is the state of a process.
type Info struct {
	Version string    `json:"version"`
	PID     int       `json:"pid,omitempty"`
	Started time.Time `json:"started,omitzero"`
	Config  string    `json:"config,omitempty"` // where it came from, for people
	// ConfigFile is the path of the configuration, or "" for the built-in defaults.
	ConfigFile string `json:"config_file,omitempty"`
	StateDir   string `json:"state_dir,omitempty"`
	Store      string `json:"store,omitempty"`
	Model      string `json:"model,omitempty"`
	// ModelTrouble is nil unless the model's last call failed.
	ModelTrouble *Trouble `json:"model_trouble,omitempty"`
	// OtherTroubles are those of models for summaries and of models that
	// conversations name.
	OtherTroubles []OtherTrouble `json:"other_troubles,omitempty"`
	Listen        string         `json:"listen,omitempty"`
	// OpenAI says that OpenAI's API is served at Listen, below /v1.
	OpenAI bool `json:"openai,omitempty"`
	// Running is false if no daemon runs and the command opened the store itself.
	Running     bool                     `json:"running"`
	Turns       int                      `json:"turns"`
	OldestTurnS float64                  `json:"oldest_turn_seconds,omitempty"`
	Channels    map[string]ChannelStatus `json:"channels,omitempty"`
	Policy      []string                 `json:"policy,omitempty"`
	// Agents say in lines which personas are bound where.
	Agents   []string `json:"agents,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	// Refused is the last reload, if it was refused, so that an older configuration
	// counts.
	Refused *RefusedReload `json:"refused_reload,omitempty"`
	// DiskFull says that one of the warnings is about the disk.
	DiskFull bool `json:"disk_full,omitempty"`
}

// RefusedReload is a configuration that the daemon was asked to read and did not take.
type RefusedReload struct {
	At time.Time `json:"at"`
	// Why are its problems, one a line of its file, and never empty.
	Why []string `json:"why"`
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
	// Features say what is on in a running daemon, and why the rest is not; by name.
	Features []Feature `json:"features,omitempty"`
	// Nodes are those that share the store, if several can.
	Nodes []Node `json:"nodes,omitempty"`
	// QueueCounts are nil if the store cannot be read.
	*QueueCounts
}

// QueueCounts are the sizes of the queues.
type QueueCounts struct {
	Waiting     int       `json:"waiting"`   // inbox messages without an answer
	Postponed   int       `json:"postponed"` // of Waiting, not due yet
	Unsent      int       `json:"unsent"`    // deliveries that are queued, sending or unknown
	Answers     int       `json:"answers"`   // that Unsent belong to: one on IRC can be a hundred lines
	Unknown     int       `json:"unknown"`   // of Unsent, possibly sent already
	Dead        int       `json:"dead"`
	Quarantined int       `json:"quarantined"`
	Oldest      time.Time `json:"oldest,omitzero"`      // of Waiting; zero if none
	OldestSend  time.Time `json:"oldest_send,omitzero"` // of Unsent; zero if none
}

// ChannelStatus is how a channel is.
type ChannelStatus struct {
	State channels.State `json:"state"`
	// Reason is one word, from a short list: "banned". It is empty if State says it all.
	Reason string `json:"reason,omitempty"`
	// Detail is one short sentence: why, and what to do.
	Detail string    `json:"detail,omitempty"`
	Since  time.Time `json:"since"`
	// Unused says that nobody has set the channel up, and that nothing is wrong.
	Unused bool `json:"unused,omitempty"`
}

// ChannelStatusOf is s as it goes over the wire.
func ChannelStatusOf(s channels.Status) ChannelStatus { return ChannelStatus(s) }

// Trouble reports whether the channel has failed and an operator should know.
func (s ChannelStatus) Trouble() bool { return channels.Status(s).Trouble() }

func (s *server) status(ctx context.Context, _ None) (Status, error) {
	// Stats waits until the store has read its files, so that the warnings
	// include what it finds.
	counts, failed := s.Store.Stats(ctx)
	now := Status{Info: s.Info()}
	if s.Features != nil {
		now.Features = s.Features()
	}
	if err := s.Store.Check(ctx); err != nil {
		now.Problem = plain.Reason(err)
	}
	if s.Eraser.CutOff() {
		now.Warnings = append(now.Warnings, "an erasure was interrupted and is not complete; the next start of the daemon or the next sessions erase finishes it")
	}
	if failed != nil {
		// status still answers: it is the command to find out why.
		if now.Problem == "" {
			now.Problem = plain.Reason(failed)
		}
		return now, nil
	}
	list, err := s.nodes(ctx, None{})
	if err == nil { // else the store has begun to fail
		now.Nodes = list.Nodes
	}
	now.QueueCounts = new(QueueCounts(counts))
	return now, nil
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
	Host    string    `json:"host,omitempty"` // node.name, or the machine's
	Self    bool      `json:"self,omitempty"` // this node answers
	Version string    `json:"version,omitempty"`
	Roles   []string  `json:"roles"`
	Since   time.Time `json:"since"`
	// LagS is how long ago it last reported that it lives.
	LagS float64 `json:"lag_seconds"`
	// Chats is how many conversations it works on now.
	Chats int     `json:"chats"`
	Holds []Lease `json:"holds"`
	// Configuration is a hash of its configuration, without what is about one machine. Nodes
	// should have the same.
	Configuration string `json:"configuration,omitempty"`
}

// Lease is what one node has at a time, like "channel:telegram".
type Lease struct {
	Name  string    `json:"name"`
	Since time.Time `json:"since"`
}

// Name is what people call it.
func (n Node) Name() string {
	return cmp.Or(n.Host, n.ID)
}

func (s *server) nodes(ctx context.Context, _ None) (Nodes, error) {
	list := Nodes{Shared: s.Nodes != nil, Store: s.Info().Store, Nodes: []Node{}}
	if s.Nodes == nil {
		return list, nil
	}
	found, err := s.Nodes(ctx)
	for _, n := range found {
		list.Nodes = append(list.Nodes, nodeOf(n))
	}
	return list, err
}

func nodeOf(n sessions.Node) Node {
	return Node{
		ID: n.ID, Host: n.Host, Self: n.Self, Version: n.Version, Roles: append([]string{}, n.Roles...), Since: n.Since,
		LagS: n.Lag.Seconds(), Chats: n.Claims, Holds: each(n.Leases, func(l sessions.Lease) Lease { return Lease(l) }),
		Configuration: n.Configuration,
	}
}
