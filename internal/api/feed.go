package api

import (
	"context"
	"strconv"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

// FeedPart asks for one page of what the people of a conversation wrote and were sent.
type FeedPart struct {
	Key channels.Key `json:"key"`
	// Before is the Next of the page before.
	Before string `json:"before,omitempty"`
	// Limit is 1 to 200; left out: a hundred.
	Limit int `json:"limit,omitempty"`
}

// FeedItem is a message of a person, or one that was or will be sent, as its network has it.
type FeedItem struct {
	// Seq is its number among the rows of this conversation, as events name it. It is
	// another one than that of a [Message].
	Seq  int64     `json:"seq"`
	ID   string    `json:"id"`
	From string    `json:"from"` // "person" or "dragoman"
	Name string    `json:"name,omitempty"`
	Text string    `json:"text"`
	At   time.Time `json:"at"`
	// State is how far a delivery is: queued, sending, sent or unknown. What was given up
	// is in the queue, not here.
	State string `json:"state,omitempty"`
	// Waiting: a person's message has no answer yet.
	Waiting bool `json:"waiting,omitempty"`
	// Kind is why it was sent: answer, command, notice, job, apology, question or form.
	Kind string `json:"kind,omitempty"`
	// Turn is the turn that it answers, of which it is part Part of Parts.
	Turn        string       `json:"turn,omitempty"`
	Part        int          `json:"part,omitempty"`
	Parts       int          `json:"parts,omitempty"`
	Attachments []Attachment `json:"attachments,omitempty"`
}

func feedItemOf(f sessions.FeedItem) FeedItem {
	return FeedItem{
		Seq: f.Seq, ID: f.ID, From: f.From, Name: f.Name, Text: f.Text, At: f.At, State: string(f.State), Waiting: f.Waiting,
		Kind: string(f.Kind), Turn: f.Turn, Part: f.Part, Parts: f.Parts, Attachments: attachmentsOf(f.Attachments),
	}
}

// feed returns the newest items before a place, oldest first. It has no numbers of
// messages, so whoever may not see all of a conversation does not find it.
func (s *server) feed(ctx context.Context, p FeedPart) (Page[FeedItem], error) {
	none := Page[FeedItem]{}
	if err := s.readAll(ctx, p.Key); err != nil {
		return none, err
	}
	before := int64(0)
	if p.Before != "" {
		var err error
		before, err = strconv.ParseInt(p.Before, 10, 64)
		if err != nil || before < 1 {
			return none, refuse("before", "before is the next of the page before")
		}
	}
	limit := page(p.Limit)
	items, err := s.Store.Feed(ctx, p.Key, before, limit)
	if err != nil {
		return none, err
	}
	page := Page[FeedItem]{Data: each(items, feedItemOf)}
	if len(items) == limit && items[0].Seq > 1 {
		page.Next = strconv.FormatInt(items[0].Seq, 10)
	}
	return page, nil
}
