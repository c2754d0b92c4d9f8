// Package event says what can happen to conversations, deliveries and what they
// depend on, in the words of those who want to hear of it.
//
// The promise: an event carries names, keys and counts, and never a word of
// what somebody wrote. It is told after the thing it tells of is durable. It
// may be lost (a crash, a full queue) and is never told twice. The package
// starts no goroutines and cannot fail.
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
	ContextCompacted Name = "context_compacted" // a summary took the place of older messages
	TurnDone         Name = "turn_done"         // a turn ended, however it ended
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

// Event is one thing that happened. Fields that say nothing about it are left
// out of its JSON.
type Event struct {
	Event Name      `json:"event"`
	At    time.Time `json:"at"`
	// Key is the conversation; zero where the event is about none.
	Key channels.Key `json:"key,omitzero"`
	// Channel and Model name what failed or is back.
	Channel string `json:"channel,omitempty"`
	Model   string `json:"model,omitempty"`
	// Generation is the id of the stretch of the conversation, where known.
	Generation string `json:"generation,omitempty"`
	// Turn is the turn's id, Outcome how it ended: answered, failed, postponed,
	// interrupted, cancelled, refused.
	Turn    string `json:"turn,omitempty"`
	Outcome string `json:"outcome,omitempty"`
	Steps   int    `json:"steps,omitempty"` // model calls
	TookMS  int64  `json:"took_ms,omitempty"`
	// Messages counts what was stored, or what there was before a summary.
	Messages int `json:"messages,omitempty"`
	// The tokens that the turn took, as the provider counts them.
	InputTokens  int     `json:"input_tokens,omitempty"`
	OutputTokens int     `json:"output_tokens,omitempty"`
	CachedTokens int     `json:"cached_tokens,omitempty"`
	Cost         float64 `json:"cost,omitempty"`
	// CoversSeq is the last message that a summary stands for, Covered how many
	// messages that are.
	CoversSeq int64 `json:"covers_seq,omitempty"`
	Covered   int   `json:"covered,omitempty"`
	// OldTokens is what the conversation took in a request before a summary,
	// NewTokens what it takes with it, both as estimated and without the system
	// prompt; SavingsPercent is the difference, less than 0 if it grew.
	OldTokens      int `json:"old_tokens,omitempty"`
	NewTokens      int `json:"new_tokens,omitempty"`
	SavingsPercent int `json:"savings_percent,omitempty"`
	// Delivery is the id of a delivery, as networks are told it; dragoman queue
	// takes it for the id that its list shows.
	Delivery string `json:"delivery,omitempty"`
	Attempts int    `json:"attempts,omitempty"`
	// Why is one word: of session_delete deleted, expired, erased or joined; of
	// disk_full disk (nothing can be stored) or almost_full.
	Why string `json:"why,omitempty"`
}
