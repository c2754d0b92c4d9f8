package api

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"dragoman/channels"
	"dragoman/internal/event"
	"dragoman/sessions"
)

// Listed is a conversation in a list.
type Listed struct {
	sessions.Conversation
	// Derived is the beginning of the first message, for a conversation without
	// a title. It is not stored.
	Derived string `json:"derived_title,omitempty"`
	// Cursor is the "after" of the next page.
	Cursor string `json:"cursor,omitempty"`
	// These are names of the document of a whole conversation; see
	// docs/sessions.md. Conversation has the same values under other names.
	MessageCount int    `json:"message_count"`
	TotalTokens  int    `json:"total_tokens"`
	SystemPrompt string `json:"system_prompt,omitempty"`
}

// Name is the title, or the derived one.
func (l Listed) Name() string {
	return cmp.Or(l.Title, l.Derived)
}

func (a *admin) emit(e event.Event) {
	if a.Events != nil {
		e.At = a.Now()
		a.Events(e)
	}
}

func (a *admin) sessions(ctx context.Context, q sessions.Query) ([]Listed, error) {
	found, err := a.Store.Find(ctx, q)
	if err != nil {
		return nil, err
	}
	all := make([]Listed, 0, len(found))
	for _, c := range found {
		l, err := a.listed(ctx, c)
		if err != nil {
			return nil, err
		}
		l.Cursor = c.Position().String()
		all = append(all, l)
	}
	return all, nil
}

// listed adds a derived title to c if it has no title.
func (a *admin) listed(ctx context.Context, c sessions.Conversation) (l Listed, err error) {
	l = Listed{Conversation: c, MessageCount: c.Messages, TotalTokens: c.Usage.Input + c.Usage.Output, SystemPrompt: c.System}
	if c.Title == "" {
		l.Derived, err = a.derived(ctx, c.Key)
	}
	return l, err
}

const (
	// derivedFrom is how many messages are read for a title at a time, and
	// maxDerivedReads how often, while only erased ones are found.
	derivedFrom     = 5
	maxDerivedReads = 10
	derivedSize     = 60 // bytes, about
)

// derived is a title for a conversation that has none: the first words of a
// person in it.
func (a *admin) derived(ctx context.Context, k channels.Key) (string, error) {
	after, erased := int64(0), true
	for n := 0; erased && n < maxDerivedReads; n++ {
		first, err := a.Store.Messages(ctx, k, after, derivedFrom)
		if err != nil && !errors.Is(err, sessions.ErrNotFound) {
			return "", err
		}
		erased = false
		for _, m := range first {
			after = m.Seq
			if m.Role != sessions.RoleUser || m.Synthetic {
				continue
			}
			if m.Content == erasedText {
				erased = true
			} else if words := firstWords(m.Content); words != "" {
				return words, nil
			}
		}
	}
	return "", nil
}

// erasedText is what a store leaves of an erased message. See [sessions.Erasure].
const erasedText = "[erased]"

// firstWords is the beginning of text without its quotations, cut between words
// if possible.
func firstWords(text string) string {
	for strings.HasPrefix(text, ">") {
		_, text, _ = strings.Cut(text, "\n")
	}
	if len(text) > 4*derivedSize {
		text = strings.ToValidUTF8(text[:4*derivedSize], "")
	}
	words := strings.Join(strings.Fields(text), " ")
	if len(words) <= derivedSize {
		return words
	}
	cut := strings.ToValidUTF8(words[:derivedSize], "")
	if i := strings.LastIndexByte(cut, ' '); i > derivedSize/2 {
		cut = cut[:i]
	}
	return cut + "…"
}

func (a *admin) generations(ctx context.Context, k channels.Key) ([]sessions.Generation, error) {
	return list(a.Store.Generations(ctx, k))
}

// summary is the newest summary of the current generation, or null.
func (a *admin) summary(ctx context.Context, k channels.Key) (*sessions.Summary, error) {
	h, err := a.Store.History(ctx, k, sessions.HistoryLimit{Messages: 1})
	return h.Summary, err
}

// Numbers are statistics of the conversations.
type Numbers struct {
	Days []sessions.DayCount `json:"days"` // the last seven, without gaps
	Top  []Listed            `json:"top"`  // by tokens
}

const numbersDays = 7

func (a *admin) numbers(ctx context.Context, _ None) (n Numbers, err error) {
	today := a.Now().UTC().Truncate(24 * time.Hour)
	from, to := today.AddDate(0, 0, 1-numbersDays), today.AddDate(0, 0, 1)
	counted, err := a.Store.Days(ctx, from, to)
	if err != nil {
		return n, err
	}
	n.Top = []Listed{}
	for day := from; day.Before(to); day = day.AddDate(0, 0, 1) {
		d := sessions.DayCount{Day: day.Format(time.DateOnly)}
		if i := slices.IndexFunc(counted, func(c sessions.DayCount) bool { return c.Day == d.Day }); i >= 0 {
			d = counted[i]
		}
		n.Days = append(n.Days, d)
	}
	top, err := a.Store.Top(ctx, 10)
	if err != nil {
		return n, err
	}
	for _, c := range top {
		l, err := a.listed(ctx, c)
		if err != nil {
			return n, err
		}
		n.Top = append(n.Top, l)
	}
	return n, nil
}

func (a *admin) remove(ctx context.Context, k channels.Key) error {
	return a.Audit.Record("delete", func() error {
		err := a.Store.Delete(ctx, k)
		if err == nil {
			a.emit(event.Event{Event: event.SessionDelete, Key: k, Why: "deleted"})
		}
		return err
	}, k)
}

// Pair are two conversations.
type Pair struct {
	From channels.Key `json:"from"`
	To   channels.Key `json:"to"`
}

func (a *admin) join(ctx context.Context, j Pair) error {
	if j.From == j.To {
		return &Refusal{Sentence: "these are already one conversation"}
	}
	if j.From.Channel() != j.To.Channel() {
		return &Refusal{Sentence: "only conversations on the same channel can be joined"}
	}
	if _, err := a.Store.Conversation(ctx, j.From); err != nil {
		return err
	}
	return a.Audit.Record("join", func() error {
		err := a.Store.Join(ctx, j.From, j.To)
		if err == nil {
			a.emit(event.Event{Event: event.SessionDelete, Key: j.From, Why: "joined"})
		}
		return err
	}, j.From, j.To)
}
