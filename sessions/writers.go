package sessions

import (
	"context"

	"dragoman/channels"
)

// Writer is a person who wrote in a conversation, as at least one stored message
// names them.
type Writer struct {
	Key channels.Key `json:"key,omitzero"`
	// IDs are the ids that the network gave for one message, in its order, at least
	// one. A transcript keeps only the first.
	IDs  []string `json:"ids"`
	Name string   `json:"name,omitempty"`
	// Private marks the writer of a private message. Transcripts do not have it.
	Private bool `json:"private,omitempty"`
}

// Directory lists the people of a store. It reads them from the stored messages, so
// a person disappears with their last message.
type Directory interface {
	// Writers lists who wrote on channel, each once, sorted by chat, ids and name: the
	// senders of inbox messages, answered or not, and of user messages in transcripts.
	// It may read each message of the channel once, which takes seconds for a million
	// messages but blocks no writes.
	Writers(ctx context.Context, channel string) ([]Writer, error)
	// FactScopes lists the scopes that begin with prefix and have facts, sorted.
	FactScopes(ctx context.Context, prefix string) ([]string, error)
}
