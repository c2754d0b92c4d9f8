package forms

import (
	"encoding/json"
	"time"

	"dragoman/agent"
	"dragoman/sessions"
)

// record is the data of a note: one form. It only gains fields.
type record struct {
	Turn  string         `json:"turn"`
	Call  string         `json:"call"`
	Nth   int            `json:"nth"`
	Item  string         `json:"item"` // of the queue: makes its turn due
	Who   []string       `json:"who"`  // who may answer: identities like telegram:42
	Name  string         `json:"name,omitempty"`
	Form  agent.Form     `json:"form"`
	At    int            `json:"at,omitempty"` // the field that is asked
	Value map[string]any `json:"value,omitempty"`
	// Action is "" while the form waits.
	Action agent.Action `json:"action,omitempty"`
	Asked  time.Time    `json:"asked"`
	Until  time.Time    `json:"until"`
	// Last is the message that was taken last, and Said what was answered.
	Last string `json:"last,omitempty"`
	Said string `json:"said,omitempty"`
	// Private: the chat has one person.
	Private bool `json:"private,omitempty"`

	id string // the note's name
}

func (r *record) waits(now time.Time) bool { return r.Action == "" && now.Before(r.Until) }

func recordOf(n sessions.Note) *record {
	var r record
	if json.Unmarshal(n.Data, &r) != nil || r.Turn == "" {
		return nil
	}
	r.id = n.Name
	return &r
}
