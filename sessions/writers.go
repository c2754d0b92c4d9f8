package sessions

import "dragoman/channels"

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
