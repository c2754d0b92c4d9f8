package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"dragoman/channels"
	"dragoman/internal/stream"
	"dragoman/sessions"
)

// What somebody has read, and pinned, is a note of theirs for each conversation. It is for
// their page and nobody else, so it is no act that the audit log has.

// markKind is the kind of these notes; their name is the conversation.
const markKind = "mark"

// mark is a note's data.
type mark struct {
	Read   int  `json:"read,omitempty"` // messages of the conversation that the person has seen
	Pinned bool `json:"pinned,omitempty"`
}

// ReadUpTo says how much of a conversation the caller has read.
type ReadUpTo struct {
	Key channels.Key `json:"key"`
	// Messages is its message_count when they read it. 0: all that there is now.
	Messages int `json:"messages,omitempty"`
}

// person is whose notes the caller's are: the same for each of their identities that read
// the same conversations.
func (s *server) person(ctx context.Context) (string, error) {
	return s.Directory.Holder(ctx, caller(ctx).ID)
}

// marks are those of the caller, by conversation.
func (s *server) marks(ctx context.Context) (map[string]mark, error) {
	if s.Notes == nil {
		return nil, nil
	}
	owner, err := s.person(ctx)
	if err != nil {
		return nil, err
	}
	notes, err := s.Notes.Notes(ctx, sessions.NoteFilter{Kind: markKind, Owner: owner})
	if err != nil {
		return nil, err
	}
	all := make(map[string]mark, len(notes))
	for _, n := range notes {
		var m mark
		if json.Unmarshal(n.Data, &m) == nil { // else it is of a newer version
			all[n.Name] = m
		}
	}
	return all, nil
}

// changeMark changes the caller's mark of a conversation that they may read, and tells their
// other pages. why is the word of the event.
func (s *server) changeMark(ctx context.Context, k channels.Key, why string, change func(*mark)) error {
	if s.Notes == nil {
		return fmt.Errorf("api: mark %s: %w", k, errors.ErrUnsupported)
	}
	if _, err := s.read(ctx, k); err != nil {
		return err
	}
	owner, err := s.person(ctx)
	if err != nil {
		return err
	}
	err = s.Notes.ChangeNotes(ctx, markKind, owner, func(have []sessions.Note) (put []sessions.Note, remove []string, err error) {
		m := mark{}
		at := slices.IndexFunc(have, func(n sessions.Note) bool { return n.Name == k.String() })
		if at >= 0 {
			_ = json.Unmarshal(have[at].Data, &m)
		}
		change(&m)
		if m == (mark{}) {
			return nil, []string{k.String()}, nil
		}
		if at < 0 && len(have) >= sessions.MaxNotes {
			remove = oldestRead(have)
		}
		return []sessions.Note{{Name: k.String(), Data: encode(m)}}, remove, nil
	})
	if err == nil {
		s.emit(stream.Event{Event: stream.MarkChange, Key: k, Person: owner, Why: why})
	}
	return err
}

// oldestRead is the mark that makes room for another: what was read longest ago and is not
// pinned. It counts as unread again.
func oldestRead(have []sessions.Note) []string {
	pinned := func(n sessions.Note) bool {
		var m mark
		return json.Unmarshal(n.Data, &m) != nil || m.Pinned
	}
	read := slices.DeleteFunc(slices.Clone(have), pinned)
	if len(read) == 0 {
		return nil // the store refuses one more
	}
	oldest := slices.MinFunc(read, func(a, b sessions.Note) int { return a.At.Compare(b.At) })
	return []string{oldest.Name}
}

// markRead notes how much the caller has read. It never goes back: two pages of one person
// may say so in any order.
func (s *server) markRead(ctx context.Context, r ReadUpTo) error {
	if r.Messages < 0 {
		return refuse("messages", "messages is 0 or more")
	}
	c, err := s.conversation(ctx, About{Key: r.Key})
	if err != nil {
		return err
	}
	read := min(cmp.Or(r.Messages, c.MessageCount), c.MessageCount)
	return s.changeMark(ctx, r.Key, "read", func(m *mark) { m.Read = max(m.Read, read) })
}

// markUnread takes the note back as far as the last message that counts as unread. It
// changes nothing where there is none.
func (s *server) markUnread(ctx context.Context, a About) error {
	c, err := s.conversation(ctx, a)
	if err != nil {
		return err
	}
	mine, err := s.writesAs(ctx)
	if err != nil {
		return err
	}
	newest, err := s.newest(ctx, a.Key, min(c.MessageCount, maxUnreadReads))
	if err != nil {
		return err
	}
	for i, m := range slices.Backward(newest) {
		if !isStep(&m) && !isOwn(a.Key, &m, mine) {
			read := c.MessageCount - (len(newest) - i)
			return s.changeMark(ctx, a.Key, "unread", func(m *mark) { m.Read = min(m.Read, read) })
		}
	}
	return nil
}

func (s *server) pin(ctx context.Context, a About) error {
	return s.changeMark(ctx, a.Key, "pinned", func(m *mark) { m.Pinned = true })
}

func (s *server) unpin(ctx context.Context, a About) error {
	return s.changeMark(ctx, a.Key, "unpinned", func(m *mark) { m.Pinned = false })
}

// writesAs are the identities of the caller.
func (s *server) writesAs(ctx context.Context) ([]string, error) {
	me := caller(ctx).ID
	mine, err := s.Directory.Identities(ctx, me)
	return append(mine, me), err
}

// marked adds to conversations what the caller has read and pinned of them. One that they
// may not read has no words, and nothing unread.
func (s *server) marked(ctx context.Context, list []Conversation, may func(channels.Key) bool) error {
	marks, err := s.marks(ctx)
	if err != nil || marks == nil {
		return err
	}
	mine, err := s.writesAs(ctx)
	if err != nil {
		return err
	}
	for i := range list {
		c := &list[i]
		if !may(c.Key) {
			continue
		}
		m := marks[c.Key.String()]
		c.Pinned = m.Pinned
		c.Unread, err = s.unread(ctx, c.Key, c.MessageCount-m.Read, mine)
		if err != nil {
			return err
		}
	}
	return nil
}

// pinned lists the conversations that the caller pinned and may still read, the most
// recently updated first.
func (s *server) pinned(ctx context.Context) (Page[Conversation], error) {
	marks, err := s.marks(ctx)
	if err != nil {
		return Page[Conversation]{}, err
	}
	var found []sessions.Conversation
	for name, m := range marks {
		k, err := channels.ParseKey(name)
		if err != nil || !m.Pinned {
			continue
		}
		sight, err := s.sight(ctx, k)
		if err != nil {
			return Page[Conversation]{}, err
		}
		c, err := s.Store.Conversation(ctx, k)
		switch {
		case errors.Is(err, sessions.ErrNotFound), err == nil && !sight.May: // it was deleted, or is theirs no longer
		case err != nil:
			return Page[Conversation]{}, err
		default:
			found = append(found, c)
		}
	}
	slices.SortFunc(found, func(a, b sessions.Conversation) int {
		return cmp.Or(b.Updated.Compare(a.Updated), cmp.Compare(a.Key.String(), b.Key.String()))
	})
	return s.listing(ctx, found, false)
}
