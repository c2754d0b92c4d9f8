// Package event defines the events about conversations and deliveries, and about the
// channels, models and disks that they need.
//
// The promise: an event has names, keys and counts, and never text from a conversation.
// It is emitted after its change is durable. It may be lost (a crash, a full queue) and
// is never emitted twice. The package starts no goroutines and cannot fail.
package event

import (
	"time"

	"dragoman/channels"
)

// Name says what happened.
type Name string

// The events.
const (
	SessionCreate    Name = "session_create"    // the first turn of a conversation or of a new generation
	SessionSave      Name = "session_save"      // a turn was stored
	SessionDelete    Name = "session_delete"    // deleted, expired, erased or joined into another
	ContextCompacted Name = "context_compacted" // a summary replaced older messages in the context
	TurnDone         Name = "turn_done"         // a turn ended, with any outcome
	DeliveryDead     Name = "delivery_dead"     // a delivery was given up
	ChannelFailed    Name = "channel_failed"    // a channel has not worked for a while
	ChannelBack      Name = "channel_back"      // it works again
	ModelDown        Name = "model_down"        // the model has not answered for a while
	ModelBack        Name = "model_back"        // it answers again
	DiskFull         Name = "disk_full"         // the store has not been able to write for a while, or the disk is almost full
)

// Names lists all events.
func Names() []Name {
	return []Name{
		SessionCreate, SessionSave, SessionDelete, ContextCompacted, TurnDone, DeliveryDead,
		ChannelFailed, ChannelBack, ModelDown, ModelBack, DiskFull,
	}
}

// Event is one event. Its JSON leaves out fields that do not apply.
type Event struct {
	Event Name      `json:"event"`
	At    time.Time `json:"at"`
	// Key is the conversation; zero if the event is not about one.
	Key channels.Key `json:"key,omitzero"`
	// Channel and Model name what failed or works again.
	Channel string `json:"channel,omitempty"`
	Model   string `json:"model,omitempty"`
	// Generation is the id of the conversation's generation, if known.
	Generation string `json:"generation,omitempty"`
	// Turn is the turn's id, Outcome how it ended: answered, failed, postponed,
	// interrupted, cancelled, refused.
	Turn    string `json:"turn,omitempty"`
	Outcome string `json:"outcome,omitempty"`
	Steps   int    `json:"steps,omitempty"` // model calls
	TookMS  int64  `json:"took_ms,omitempty"`
	// Messages counts the stored messages, or those before a summary.
	Messages int `json:"messages,omitempty"`
	// The tokens that the turn used, as the provider counts them.
	InputTokens  int     `json:"input_tokens,omitempty"`
	OutputTokens int     `json:"output_tokens,omitempty"`
	CachedTokens int     `json:"cached_tokens,omitempty"`
	Cost         float64 `json:"cost,omitempty"`
	// CoversSeq is the last message that a summary covers, Covered how many it covers.
	CoversSeq int64 `json:"covers_seq,omitempty"`
	Covered   int   `json:"covered,omitempty"`
	// OldTokens and NewTokens are how many tokens of a request the conversation used
	// before a summary and uses with it, both estimated and without the system prompt.
	// SavingsPercent is the difference, less than 0 if it grew.
	OldTokens      int `json:"old_tokens,omitempty"`
	NewTokens      int `json:"new_tokens,omitempty"`
	SavingsPercent int `json:"savings_percent,omitempty"`
	// Delivery is the id of a delivery, as networks get it. The verbs of dragoman queue
	// accept it, although the list of dragoman queue shows another id.
	Delivery string `json:"delivery,omitempty"`
	Attempts int    `json:"attempts,omitempty"`
	// Why is one word. For session_delete: deleted, expired, erased or joined. For
	// disk_full: disk (nothing can be stored) or almost_full.
	Why string `json:"why,omitempty"`
}
