package main

import (
	"encoding/json"
	"time"

	"dragoman/channels"
	"dragoman/internal/api"
)

// shownDocument is the output of sessions show --json. docs/api.md promises
// these names; fields are only ever added.
type shownDocument struct {
	Key          channels.Key               `json:"key"`
	Title        string                     `json:"title"`
	Generation   string                     `json:"generation"` // the current one
	Created      time.Time                  `json:"created,omitzero"`
	Updated      time.Time                  `json:"updated,omitzero"`
	MessageCount int                        `json:"message_count"` // over all generations
	TotalTokens  int                        `json:"total_tokens"`
	Usage        api.Usage                  `json:"usage"`
	Model        string                     `json:"model"`         // its own; "" is the configured one
	SystemPrompt string                     `json:"system_prompt"` // its own, as well
	Tags         []string                   `json:"tags"`
	Metadata     map[string]json.RawMessage `json:"metadata"`
	Summary      *api.Summary               `json:"summary"` // of the current generation, or null
	Generations  []api.Generation           `json:"generations"`
	Earlier      int                        `json:"earlier"` // messages before those listed
	Later        int                        `json:"later"`   // and after them
	Messages     []shownMessage             `json:"messages"`
}

// shownMessage is a message in the JSON of "sessions show".
type shownMessage struct {
	api.Message
	// Generation is the one that the message belongs to.
	Generation string `json:"generation,omitempty"`
	// InProgress says that its turn is not finished: it has no seq yet.
	InProgress bool `json:"in_progress,omitempty"`
}

// document is s as JSON. Its lists are never null.
func (s view) document() shownDocument {
	c := s.head
	d := shownDocument{
		Key: c.Key, Title: c.Title, Generation: c.Generation, Created: c.Created, Updated: c.Updated,
		MessageCount: c.MessageCount, TotalTokens: c.TotalTokens, Usage: c.Usage,
		Model: c.Model, SystemPrompt: c.SystemPrompt, Tags: append([]string{}, c.Tags...), Metadata: c.Metadata,
		Summary: s.summary, Generations: append([]api.Generation{}, s.generations...),
		Earlier: s.earlier, Later: s.later, Messages: make([]shownMessage, 0, len(s.kept)+len(s.now.Messages)),
	}
	if d.Metadata == nil {
		d.Metadata = map[string]json.RawMessage{}
	}
	g := 0
	for _, m := range s.kept {
		for g+1 < len(s.generations) && s.generations[g+1].FirstSeq <= m.Seq {
			g++
		}
		one := shownMessage{Message: m}
		if g < len(s.generations) {
			one.Generation = s.generations[g].ID
		}
		d.Messages = append(d.Messages, one)
	}
	for _, m := range s.now.Messages {
		d.Messages = append(d.Messages, shownMessage{m, c.Generation, true})
	}
	return d
}
