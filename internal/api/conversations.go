package api

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"dragoman/channels"
	"dragoman/internal/people"
	"dragoman/internal/stream"
	"dragoman/sessions"
)

func (s *server) emit(e stream.Event) {
	if s.Events != nil {
		e.At = s.Now()
		s.Events(e)
	}
}

// About names a conversation.
type About struct {
	Key channels.Key `json:"key"`
}

// ConversationQuery selects conversations. Zero fields match all of them.
type ConversationQuery struct {
	Channel string `json:"channel,omitempty"` // its name in the configuration
	Tag     string `json:"tag,omitempty"`
	// Text must be in the key or the title; case does not matter. Tag, Text and Meta find
	// the words of conversations that the caller may read, and no others.
	Text string `json:"text,omitempty"`
	// Meta has the values of metadata that a conversation must have, by name: strings as
	// they are, other values as compact JSON.
	Meta map[string]string `json:"meta,omitempty"`
	// Mine leaves out the conversations of others, which nobody with the scope chat sees.
	Mine bool `json:"mine,omitempty"`
	// Pinned asks for all that the caller pinned, and for nothing else.
	Pinned bool `json:"pinned,omitempty"`
	// Only chooses a kind: unread, waiting (for an answer, or an answer was given up),
	// private or groups. It asks for all of that kind, however old.
	Only string `json:"only,omitempty"`
	// After is the Next of the page before.
	After string `json:"after,omitempty"`
	// Limit is 1 to 200; left out: ten.
	Limit int `json:"limit,omitempty"`
}

func (q ConversationQuery) query() (sessions.Query, error) {
	like := sessions.Query{Channel: q.Channel, Tag: q.Tag, Text: q.Text, Metadata: q.Meta, Limit: cmp.Or(q.Limit, sessions.DefaultPage)}
	if q.After == "" {
		return like, nil
	}
	place, err := sessions.ParseCursor(q.After)
	if err != nil {
		return like, refuse("after", "after is the next of the page before")
	}
	like.After = &place
	return like, nil
}

// isByWords reports whether q selects by what people wrote about a conversation.
func (q ConversationQuery) isByWords() bool { return q.Text != "" || q.Tag != "" || len(q.Meta) > 0 }

// isByKey reports whether the key of k alone makes q select it.
func (q ConversationQuery) isByKey(k channels.Key) bool {
	named := strings.Contains(strings.ToLower(k.String()), strings.ToLower(q.Text))
	return named && q.Tag == "" && len(q.Meta) == 0
}

// find lists conversations. Those of others need the scope read, which shows their
// numbers and none of their words: see [server.listed]. Nor do their words find them:
// else somebody could guess a title letter by letter.
func (s *server) find(ctx context.Context, q ConversationQuery) (Page[Conversation], error) {
	like, err := q.query()
	if err != nil {
		return Page[Conversation]{}, err
	}
	if q.Pinned {
		return s.pinned(ctx)
	}
	keeps, err := s.only(ctx, q.Only)
	if err != nil {
		return Page[Conversation]{}, err
	}
	if q.Mine || !caller(ctx).May(people.Read) {
		like.Owners, err = s.Reads.Mine(ctx, caller(ctx))
		if err != nil {
			return Page[Conversation]{}, err
		}
		return s.findThose(ctx, like, keeps, func(k channels.Key) (bool, error) {
			sight, err := s.sight(ctx, k)
			return sight.Own, err
		})
	}
	if q.isByWords() && !AtSocket(ctx) {
		own, err := s.own(ctx)
		if err != nil {
			return Page[Conversation]{}, err
		}
		return s.findThose(ctx, like, keeps, func(k channels.Key) (bool, error) { return own[k].May || q.isByKey(k), nil })
	}
	if q.Only != "" {
		return s.findThose(ctx, like, keeps, func(channels.Key) (bool, error) { return true, nil })
	}
	found, err := s.Store.Find(ctx, like)
	if err != nil {
		return Page[Conversation]{}, err
	}
	return s.listing(ctx, found, len(found) == like.Limit)
}

// errEnough ends [server.each].
var errEnough = errors.New("api: enough")

// findThose is a page of what like selects, without what may or keep refuses. It reads as far
// as it takes to fill the page: a short page, or its Next, would tell of what is left out.
func (s *server) findThose(ctx context.Context, like sessions.Query, keep keeper, may func(channels.Key) (bool, error)) (Page[Conversation], error) {
	limit := like.Limit
	var kept []sessions.Conversation
	err := s.each(ctx, like, func(c sessions.Conversation) error {
		keeps, err := may(c.Key)
		if err == nil && keeps && keep != nil {
			keeps, err = keep(c)
		}
		if err == nil && keeps {
			kept = append(kept, c)
		}
		if len(kept) > limit {
			return errEnough
		}
		return err
	})
	if err != nil && !errors.Is(err, errEnough) {
		return Page[Conversation]{}, err
	}
	return s.listing(ctx, kept[:min(len(kept), limit)], len(kept) > limit)
}

// listing is a page of found. more: there may be another.
func (s *server) listing(ctx context.Context, found []sessions.Conversation, more bool) (Page[Conversation], error) {
	all := make([]Conversation, 0, len(found))
	for _, c := range found {
		one, err := s.listed(ctx, c)
		if err != nil {
			return Page[Conversation]{}, err
		}
		one.Cursor = c.Position().String()
		all = append(all, one)
	}
	may := func(k channels.Key) bool {
		sight, err := s.sight(ctx, k)
		return err == nil && sight.May
	}
	err := s.shown(ctx, all, may)
	if err != nil {
		return Page[Conversation]{}, err
	}
	page := Page[Conversation]{Data: all}
	if more && len(all) > 0 {
		page.Next = all[len(all)-1].Cursor
	}
	return page, nil
}

func (s *server) conversation(ctx context.Context, a About) (Conversation, error) {
	sight, err := s.read(ctx, a.Key)
	if err != nil {
		return Conversation{}, err
	}
	found, err := s.Store.Conversation(ctx, a.Key)
	one := []Conversation{conversationOf(found)}
	if errors.Is(err, sessions.ErrNotFound) {
		one[0], err = s.beginning(ctx, a.Key)
	}
	if err != nil {
		return Conversation{}, err
	}
	if one[0].Title == "" && one[0].Derived == "" {
		one[0].Derived, err = s.derived(ctx, a.Key, sight)
		if err != nil {
			return Conversation{}, err
		}
	}
	may := func(channels.Key) bool { return true } // it was asked above
	err = s.shown(ctx, one, may)
	return one[0], err
}

// shown adds to conversations what lists show beside the head: whose they are, what is new
// to the caller, and how they end.
func (s *server) shown(ctx context.Context, list []Conversation, may func(channels.Key) bool) error {
	err := s.placed(ctx, list)
	if err == nil {
		err = s.marked(ctx, list, may)
	}
	if err == nil {
		err = s.ended(ctx, list, may)
	}
	return err
}

// listed is c in a list, with a derived title if it has none. Of a conversation that the
// caller may not read only the key, the times and the numbers are left.
func (s *server) listed(ctx context.Context, c sessions.Conversation) (Conversation, error) {
	sight, err := s.sight(ctx, c.Key)
	if err != nil {
		return Conversation{}, err
	}
	if !sight.May {
		c.Title = ""
		c.Settings = sessions.Settings{}
	}
	one := conversationOf(c)
	if sight.May && c.Title == "" {
		one.Derived, err = s.derived(ctx, c.Key, sight)
	}
	return one, err
}

const (
	// derivedFrom is how many messages are read for a title at a time, and
	// maxDerivedReads how often, while only erased ones are found.
	derivedFrom     = 5
	maxDerivedReads = 10
	derivedSize     = 60 // bytes, about
)

// derived is a title for a conversation that has none: the first words of a
// person in it that the caller may see, or else the name or kind of the first file. What
// came before somebody is not in it.
func (s *server) derived(ctx context.Context, k channels.Key, sight people.Sight) (string, error) {
	after := max(sight.From-1, 0)
	file := ""
	erased := true
	for n := 0; erased && n < maxDerivedReads; n++ {
		first, err := s.Store.Messages(ctx, k, after, derivedFrom)
		if err != nil && !errors.Is(err, sessions.ErrNotFound) {
			return "", err
		}
		erased = false
		for _, m := range first {
			after = m.Seq
			if m.Role != sessions.RoleUser || m.Synthetic {
				continue
			}
			m = completed(m, sight.Group)
			if m.Content == erasedText {
				erased = true
			} else if words := firstWords(m.Said(), derivedSize); words != "" {
				return words, nil
			}
			if len(m.Attachments) > 0 {
				file = cmp.Or(file, firstWords(m.Attachments[0].Name, derivedSize), string(m.Attachments[0].Kind))
			}
		}
	}
	return file, nil
}

// erasedText is what a store leaves of an erased message. See [sessions.Erasure].
const erasedText = "[erased]"

func (s *server) generations(ctx context.Context, a About) (Page[Generation], error) {
	if _, err := s.read(ctx, a.Key); err != nil {
		return Page[Generation]{}, err
	}
	all, err := s.Store.Generations(ctx, a.Key)
	return pageOf(each(all, func(g sessions.Generation) Generation { return Generation(g) }), err)
}

// summary is the newest summary of the current generation, or null. It is of the
// conversation's beginning, which not everybody in it has seen.
func (s *server) summary(ctx context.Context, a About) (*Summary, error) {
	sight, err := s.read(ctx, a.Key)
	if err != nil || hidesSome(sight) {
		return nil, err
	}
	h, err := s.Store.History(ctx, a.Key, sessions.HistoryLimit{Messages: 1})
	return summaryOf(h.Summary), err
}

// remove deletes a transcript. It needs no right to read it: whoever runs the house
// clears it out.
func (s *server) remove(ctx context.Context, a About) error {
	err := s.Store.Delete(ctx, a.Key)
	if err == nil {
		s.emit(stream.Event{Event: stream.SessionDelete, Key: a.Key, Why: "deleted"})
	}
	return err
}

// Pair are two conversations.
type Pair struct {
	From channels.Key `json:"from"`
	To   channels.Key `json:"to"`
}

func (s *server) join(ctx context.Context, j Pair) error {
	if j.To.IsZero() {
		return refuse("to", "to is the key of the conversation that gets the messages, like telegram:123456")
	}
	if j.From == j.To {
		return refuse("to", "these are already one conversation")
	}
	if j.From.Channel() != j.To.Channel() {
		return refuse("to", "only conversations on the same channel can be joined")
	}
	for _, k := range []channels.Key{j.From, j.To} { // who reads one of them reads both afterwards
		if err := s.readAll(ctx, k); err != nil {
			return err
		}
	}
	if _, err := s.Store.Conversation(ctx, j.From); err != nil {
		return err
	}
	err := s.Store.Join(ctx, j.From, j.To)
	if err == nil {
		s.emit(stream.Event{Event: stream.SessionDelete, Key: j.From, Why: "joined"})
	}
	return err
}

// maxTitle is the longest title, in bytes: lists have no room for more.
const maxTitle = 200

// Title is the title of a conversation.
type Title struct {
	Key   channels.Key `json:"key"`
	Title string       `json:"title"`
}

func (s *server) rename(ctx context.Context, r Title) error {
	title := strings.TrimSpace(r.Title)
	if len(title) > maxTitle {
		return refuse("title", "a title has at most %d bytes", maxTitle)
	}
	if err := s.change(ctx, r.Key); err != nil {
		return err
	}
	return s.Store.Rename(ctx, r.Key, title)
}
