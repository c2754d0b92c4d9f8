package api

import (
	"context"
	"errors"
	"time"

	"dragoman/channels"
	"dragoman/internal/people"
	"dragoman/sessions"
	"dragoman/sessions/erasure"
)

// resolve reads a target.
func (s *server) resolve(ctx context.Context, target string) (channels.Key, error) {
	k, err := people.Named(ctx, caller(ctx), s.Store, target, s.Now())
	if refused, ok := errors.AsType[*people.Refusal](err); ok {
		err = refuse("target", "%s", refused.Sentence)
	}
	return k, err
}

// Target is a conversation or a person: Name is a key, "channel:id" of a person, or a
// name under which a person was paired.
type Target struct {
	Name             string `json:"target"`
	OnlyConversation bool   `json:"only_conversation,omitempty"`
}

// ErasePlan is what an erasure would remove.
type ErasePlan struct {
	Erasure Erasure `json:"erasure"`
	// Conversations are removed as a whole.
	Conversations []ErasedConversation `json:"conversations"`
	// Names are keys without any data. They are removed, too.
	Names []channels.Key `json:"names,omitempty"`
	// Shared are conversations in which only the person's messages are replaced.
	Shared   []SharedPart `json:"shared"`
	Queued   int          `json:"queued"` // messages and deliveries, done ones included
	Facts    int          `json:"facts"`
	Pairings int          `json:"pairings"`
	// Notes are what subjects keep of the person or chat: tokens, reminders and the like.
	// Counts are sums by day.
	Notes  int `json:"notes,omitempty"`
	Counts int `json:"counts,omitempty"`
	// Joined are the identities that are erased with the target because they were joined
	// into one person: see [ListPeople].
	Joined []string `json:"joined,omitempty"`
	// Maybe are ids that may belong to the person or to somebody else. Their data is
	// kept.
	Maybe []Namesake `json:"maybe,omitempty"`
	// Unfinished is when an interrupted erasure began. It is finished before this one.
	Unfinished time.Time `json:"unfinished,omitzero"`
	// Elsewhere are other stores, which are not in use and are not erased from.
	Elsewhere []string `json:"elsewhere,omitempty"`
}

// Empty reports whether nothing was found to erase.
func (p ErasePlan) Empty() bool {
	return len(p.Conversations) == 0 && len(p.Shared) == 0 && p.Facts == 0 && p.Pairings == 0 && p.Queued == 0 && p.Notes == 0 && p.Counts == 0
}

// Erasure names what to erase for good; sessions.Erasure says what each part means.
type Erasure struct {
	Keys    []channels.Key `json:"keys,omitempty"`
	Scopes  []string       `json:"scopes,omitempty"`
	Senders []Sender       `json:"senders,omitempty"`
	Owners  []string       `json:"owners,omitempty"` // of notes and counts
	Files   []string       `json:"files,omitempty"`
}

// Sender is a person on a channel.
type Sender struct {
	Channel string `json:"channel"`
	ID      string `json:"id"`
}

// ErasedConversation is a conversation that an erasure removes.
type ErasedConversation struct {
	Key          channels.Key `json:"key"`
	Title        string       `json:"title,omitempty"`
	MessageCount int          `json:"message_count"`
}

// SharedPart is a person's part of a conversation with others.
type SharedPart struct {
	Key      channels.Key `json:"key"`
	Messages int          `json:"messages"`
	// Facts counts the memory of that chat. It is kept, because it does not say which
	// facts come from the person.
	Facts int `json:"facts,omitempty"`
}

// Namesake is somebody who may be the person.
type Namesake struct {
	// Person is "channel:id", a target for an erasure.
	Person string `json:"person"`
	// Chats are the conversations in which the namesake wrote.
	Chats []channels.Key `json:"chats,omitempty"`
}

// Erased counts what an erasure removed.
type Erased struct {
	Conversations int `json:"conversations"`
	Messages      int `json:"messages"`
	Queued        int `json:"queued"` // inbox and outbox rows, done ones included
	Facts         int `json:"facts"`
	Summaries     int `json:"summaries"`
	Pairings      int `json:"pairings"`
	Notes         int `json:"notes,omitempty"`
	Counts        int `json:"counts,omitempty"` // sums
	Noted         int `json:"noted"`            // entries in the channels' own files
	// Left has a sentence for each file outside the store that may still hold erased
	// data: its name and the remedy.
	Left []string `json:"left,omitempty"`
	// Files are the attachments that were deleted.
	Files []string `json:"files,omitempty"`
}

func (s *server) planErase(ctx context.Context, t Target) (ErasePlan, error) {
	k, err := s.resolve(ctx, t.Name)
	if err != nil {
		return ErasePlan{}, err
	}
	plan, err := s.Eraser.Plan(ctx, k, t.OnlyConversation)
	if err != nil {
		return ErasePlan{}, err
	}
	for i, c := range plan.Conversations {
		sight, err := s.sight(ctx, c.Key)
		if err != nil {
			return ErasePlan{}, err
		}
		if !sight.May {
			plan.Conversations[i].Title = ""
		}
	}
	return planOf(plan), nil
}

func planOf(plan erasure.Plan) ErasePlan {
	p := ErasePlan{
		Erasure:       Erasure{Keys: plan.Erasure.Keys, Scopes: plan.Erasure.Scopes, Owners: plan.Erasure.Owners, Files: plan.Erasure.Files},
		Conversations: []ErasedConversation{}, Names: plan.Names, Shared: []SharedPart{},
		Joined: plan.Joined, Queued: plan.Queued, Facts: plan.Facts, Pairings: plan.Pairings, Notes: plan.Notes, Counts: plan.Counts, Unfinished: plan.Unfinished, Elsewhere: plan.Elsewhere,
	}
	for _, who := range plan.Erasure.Senders {
		p.Erasure.Senders = append(p.Erasure.Senders, Sender(who))
	}
	for _, c := range plan.Conversations {
		p.Conversations = append(p.Conversations, ErasedConversation{Key: c.Key, Title: c.Title, MessageCount: c.Messages})
	}
	for _, part := range plan.Shared {
		p.Shared = append(p.Shared, SharedPart(part))
	}
	for _, who := range plan.Maybe {
		p.Maybe = append(p.Maybe, Namesake(who))
	}
	return p
}

func (s *server) erase(ctx context.Context, e Erasure) (Erased, error) {
	if len(e.Keys)+len(e.Senders)+len(e.Scopes)+len(e.Owners) == 0 {
		return Erased{}, refuse("", "there is nothing to erase")
	}
	what := sessions.Erasure{Keys: e.Keys, Scopes: e.Scopes, Owners: e.Owners, Files: e.Files}
	for _, who := range e.Senders {
		what.Senders = append(what.Senders, sessions.Sender(who))
	}
	got, err := s.Eraser.Erase(ctx, what)
	return Erased(got), err
}
