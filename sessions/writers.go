package sessions

import (
	"context"
	"slices"

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

// Directory tells who is known, and what can name them. What it says of people stands in the messages
// that are stored, and nowhere else: with the last message that has it, it is gone.
type Directory interface {
	// Writers lists who wrote on channel, each that differs once, sorted by
	// chat, ids and name: those of the inbox, answered or not, and those of the
	// user messages in transcripts. It may read each message of the channel once,
	// which takes seconds for a million, and holds nobody up meanwhile.
	Writers(ctx context.Context, channel string) ([]Writer, error)
	// Heads hands to emit what a Dump has of conversations and of facts, in its
	// order: titles, summaries, what was chosen, and no message. It costs what
	// that is and not the messages. It stops at emit's first error, which it
	// returns.
	Heads(ctx context.Context, emit func(Record) error) error
	// Scopes lists the scopes that begin with prefix and have facts, sorted.
	Scopes(ctx context.Context, prefix string) ([]string, error)
}

// KeysOf are the conversations in which one of senders wrote something that d
// has, in no order.
func KeysOf(ctx context.Context, d Directory, senders []Sender) (keys []channels.Key, err error) {
	ids := map[string][]string{}
	for _, s := range senders {
		ids[s.Channel] = append(ids[s.Channel], s.ID)
	}
	found := map[channels.Key]bool{}
	for channel, mine := range ids {
		writers, err := d.Writers(ctx, channel)
		if err != nil {
			return nil, err
		}
		for _, w := range writers {
			if !found[w.Key] && slices.ContainsFunc(w.IDs, func(id string) bool { return slices.Contains(mine, id) }) {
				found[w.Key] = true
				keys = append(keys, w.Key)
			}
		}
	}
	return keys, nil
}
