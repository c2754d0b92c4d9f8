package sessions

import (
	"context"

	"dragoman/channels"
)

// Writer is a person who wrote in a conversation, as the network named them in
// at least one stored message.
type Writer struct {
	Key channels.Key `json:"key,omitzero"`
	// IDs are those that the network gave together, in its order, at least one. A
	// message of a transcript has one.
	IDs  []string `json:"ids"`
	Name string   `json:"name,omitempty"`
	// Private marks a private message. Transcripts do not know.
	Private bool `json:"private,omitempty"`
}

// Directory lists the people of a store. It reads them from the stored messages:
// when somebody's last message is gone, so are they.
type Directory interface {
	// Writers lists who wrote on channel, each once, sorted by chat, ids and name:
	// those of inbox messages, answered or not, and of user messages in transcripts.
	// It may read each message of the channel once, which takes seconds for a million
	// and blocks no writer.
	Writers(ctx context.Context, channel string) ([]Writer, error)
	// FactScopes lists the scopes that begin with prefix and have facts, sorted.
	FactScopes(ctx context.Context, prefix string) ([]string, error)
}
