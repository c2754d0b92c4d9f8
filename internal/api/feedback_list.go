package api

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"dragoman/channels"
	"dragoman/internal/people"
	"dragoman/sessions"
)

// FeedbackQuery chooses feedback. Empty fields match all of it.
type FeedbackQuery struct {
	Value string       `json:"value,omitempty"` // up or down
	Model string       `json:"model,omitempty"`
	Key   channels.Key `json:"key,omitzero"` // where it was given
	After string       `json:"after,omitempty"`
	Limit int          `json:"limit,omitempty"` // 1 to 200; left out: 100
}

// GivenFeedback is feedback in the list of all.
type GivenFeedback struct {
	// Key is the conversation in which it was given, and Seq the answer, left out if that is
	// no longer there, or has moved into another conversation. Turn gave the answer.
	Key   channels.Key `json:"key"`
	Seq   int64        `json:"seq,omitempty"`
	Turn  string       `json:"turn"`
	Model string       `json:"model,omitempty"` // that wrote the answer
	// Person gave it: an identity, or the one that stands for all that were joined with it.
	Person string `json:"person"`
	Value  string `json:"value"` // up or down
	// Note is left out if the caller may not read the conversation.
	Note string    `json:"note,omitempty"`
	At   time.Time `json:"at"`
}

// allFeedback reads what q chooses.
func (s *server) allFeedback(ctx context.Context, q FeedbackQuery) (all []GivenFeedback, err error) {
	if s.Notes == nil {
		return nil, nil
	}
	notes, err := s.Notes.Notes(ctx, sessions.NoteFilter{Kind: sessions.FeedbackKind})
	for _, n := range notes {
		f, known := readFeedback(n)
		if !known || q.Value != "" && q.Value != f.Value || q.Model != "" && q.Model != f.Model || !q.Key.IsZero() && q.Key != f.Key {
			continue
		}
		all = append(all, GivenFeedback{Key: f.Key, Seq: f.Seq, Turn: n.Name, Model: f.Model, Person: n.Owner, Value: f.Value, Note: f.Note, At: n.At})
	}
	return all, err
}

// listFeedback lists feedback, the newest first. What people wrote with it is words of
// their conversations.
func (s *server) listFeedback(ctx context.Context, q FeedbackQuery) (Page[GivenFeedback], error) {
	if q.Value != "" && q.Value != feedbackUp && q.Value != feedbackDown {
		return Page[GivenFeedback]{}, refuse("value", "value is up or down")
	}
	all, err := s.allFeedback(ctx, q)
	if err != nil {
		return Page[GivenFeedback]{}, err
	}
	at := func(f GivenFeedback) place { return place{At: f.At, ID: f.Turn + " " + f.Person} }
	list, err := pageAfter(all, at, newestFirst, q.After, q.Limit)
	if err != nil {
		return list, err
	}
	sights := map[channels.Key]people.Sight{}
	for i := range list.Data {
		if err := s.complete(ctx, &list.Data[i], sights); err != nil {
			return Page[GivenFeedback]{}, err
		}
	}
	return list, nil
}

// complete removes from f what the caller may not see or is no longer true. sights has what
// they see of conversations.
func (s *server) complete(ctx context.Context, f *GivenFeedback, sights map[channels.Key]people.Sight) error {
	sight, asked := sights[f.Key]
	if !asked {
		var err error
		sight, err = s.found(ctx, f.Key)
		if err != nil {
			return err
		}
		sights[f.Key] = sight
	}
	if !sight.May || f.Seq < sight.From {
		f.Note = ""
	}
	there, err := s.Store.Messages(ctx, f.Key, f.Seq-1, 1)
	if err != nil && !errors.Is(err, sessions.ErrNotFound) {
		return err
	}
	if len(there) == 0 || there[0].Seq != f.Seq || there[0].Turn != f.Turn {
		f.Seq = 0
	}
	return nil
}

// ModelFeedback counts what people think of the answers of a model.
type ModelFeedback struct {
	Model string `json:"model"`
	Up    int    `json:"up"`
	Down  int    `json:"down"`
}

// feedbackByModel counts feedback, the models with the most first.
func (s *server) feedbackByModel(ctx context.Context, _ None) (Page[ModelFeedback], error) {
	all, err := s.allFeedback(ctx, FeedbackQuery{})
	counts := map[string]*ModelFeedback{}
	for _, f := range all {
		c := counts[f.Model]
		if c == nil {
			c = &ModelFeedback{Model: f.Model}
			counts[f.Model] = c
		}
		if f.Value == feedbackUp {
			c.Up++
		} else {
			c.Down++
		}
	}
	var list []ModelFeedback
	for _, c := range counts {
		list = append(list, *c)
	}
	slices.SortFunc(list, func(a, b ModelFeedback) int {
		return cmp.Or(cmp.Compare(b.Up+b.Down, a.Up+a.Down), strings.Compare(a.Model, b.Model))
	})
	return pageOf(list, err)
}
