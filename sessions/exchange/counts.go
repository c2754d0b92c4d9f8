package exchange

import (
	"context"
	"fmt"
	"strings"

	"dragoman/sessions"
	"dragoman/sessions/rules"
)

// Counts is how much of each kind a store holds.
type Counts struct {
	Conversations int `json:"conversations"`
	Generations   int `json:"generations"`
	Messages      int `json:"messages"`
	Summaries     int `json:"summaries"`
	// Inbox and Outbox include answered and delivered messages, which make sure that
	// none is answered twice.
	Inbox       int `json:"inbox"`
	Waiting     int `json:"waiting"`
	Outbox      int `json:"outbox"`
	Unsent      int `json:"unsent"`
	Quarantined int `json:"set_aside"`
	Facts       int `json:"facts"`
	Pairings    int `json:"pairings"`
	Jobs        int `json:"jobs"`
	Occurrences int `json:"occurrences"`
	// Notes are the open records of all subjects, Sums what they counted by day.
	Notes int `json:"notes"`
	Sums  int `json:"sums"`
	// Erased counts the marks of erased messages, Days those of generations.
	Erased int `json:"erased"`
	Days   int `json:"days"`
}

// Count reads all of a store.
func Count(ctx context.Context, from Source) (Counts, error) {
	var c Counts
	err := from.Dump(ctx, nil, func(r sessions.Record) error {
		c.add(r)
		return nil
	})
	if err != nil {
		return c, fmt.Errorf("exchange: count: %w", err)
	}
	return c, nil
}

// Empty reports whether the store has nothing.
func (c Counts) Empty() bool { return c == Counts{} }

func (c *Counts) add(r sessions.Record) {
	switch {
	case r.Store != nil:
		c.Erased, c.Days = len(r.Store.Erased), len(r.Store.Days)
	case r.Conversation != nil:
		c.Conversations++
		c.Generations += len(r.Conversation.Generations)
		c.Summaries += len(r.Conversation.Summaries)
	case r.Messages != nil:
		c.Messages += len(r.Messages.Messages)
	case r.Inbox != nil:
		c.Inbox++
		c.Waiting += one(r.Inbox.State == rules.InWaiting)
	case r.Outbox != nil:
		c.Outbox++
		c.Unsent += one(rules.Unsent(r.Outbox.State))
	default:
		c.Quarantined += one(r.Quarantined != nil)
		c.Facts += one(r.Fact != nil)
		c.Pairings += one(r.Pairing != nil)
		c.Jobs += one(r.Job != nil)
		c.Occurrences += one(r.Occurrence != nil)
		c.Notes += one(r.Note != nil)
		c.Sums += one(r.Count != nil)
	}
}

func one(is bool) int {
	if is {
		return 1
	}
	return 0
}

// String lists the counts for people.
func (c Counts) String() string {
	var parts []string
	for _, part := range []struct {
		n         int
		one, many string
	}{
		{c.Conversations, "conversation", "conversations"},
		{c.Messages, "message", "messages"},
		{c.Generations, "generation", "generations"},
		{c.Summaries, "summary", "summaries"},
		{c.Inbox, "accepted message", "accepted messages"},
		{c.Waiting, "of them waiting", "of them waiting"},
		{c.Outbox, "delivery", "deliveries"},
		{c.Unsent, "of them not sent", "of them not sent"},
		{c.Quarantined, "message set aside", "messages set aside"},
		{c.Facts, "fact", "facts"},
		{c.Pairings, "pairing", "pairings"},
		{c.Jobs, "planned job", "planned jobs"},
		{c.Occurrences, "occurrence", "occurrences"},
		{c.Notes, "open record", "open records"},
		{c.Sums, "count", "counts"},
		{c.Erased, "mark of something erased", "marks of something erased"},
	} {
		switch part.n {
		case 0:
		case 1:
			parts = append(parts, "1 "+part.one)
		default:
			parts = append(parts, fmt.Sprintf("%d %s", part.n, part.many))
		}
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}
