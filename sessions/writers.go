package sessions

import (
	"context"

	"dragoman/channels"
)

// Writer is somebody who wrote in a conversation, as the network named them
// for at least one message that is stored.
type Writer struct {
	Key channels.Key `json:"key,omitzero"`
	// IDs are those that the network gave together, in its order; a message of
	// a transcript has one. They are never empty.
	IDs  []string `json:"ids"`
	Name string   `json:"name,omitempty"`
	// Private says that it was a private message. A transcript does not tell.
	Private bool `json:"private,omitempty"`
}

// Directory tells who is known. What it says of people is in the stored messages
// and nowhere else: it is gone with the last message that has it.
type Directory interface {
	// Writers lists who wrote on channel, each that differs once, sorted by
	// chat, ids and name: those of the inbox, answered or not, and those of the
	// user messages in transcripts. It may read each message of the channel once,
	// which takes seconds for a million, and holds nobody up meanwhile.
	Writers(ctx context.Context, channel string) ([]Writer, error)
	// FactScopes lists the scopes that begin with prefix and have facts, sorted.
	FactScopes(ctx context.Context, prefix string) ([]string, error)
}
