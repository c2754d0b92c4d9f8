package engine

import (
	"context"
	"fmt"
	"math"
	"slices"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

// A person replaces an earlier message by a new one. Nothing is deleted: a note in the
// transcript says which messages before it count no longer, and is stored in the same
// commit as the new message, which waits for its turn like any other. So what a turn and a
// summary see changes at once, whatever becomes of that turn, and neither of them knows
// about replacements.

// newestFirst tells which messages were replaced, to somebody who reads a transcript
// from its end. The zero value has seen none.
type newestFirst struct {
	hidden int64 // messages from this seq on are replaced; 0: none is
}

// hides reports whether m, the next older message, was replaced or is the note about that.
func (n *newestFirst) hides(m *sessions.Message) bool {
	switch {
	case n.hidden > 0 && m.Seq >= n.hidden:
		return true
	case m.Replaces > 0:
		n.hidden = max(m.Seq-m.Replaces, 1)
		return true
	}
	return false
}

// replaced returns the message that e replaces, without its text, or a reason why e may not.
func (st *step) replaced(c *chat, e sessions.Entry) (old sessions.Message, err error) {
	target, v := e.Replaces, c.Conversation
	no := func(why string) (sessions.Message, error) {
		return old, &sessions.ReplaceError{Why: fmt.Sprintf(why, target)}
	}
	switch {
	case v == nil || target < 1 || target > c.MessageSeq:
		return old, &sessions.ReplaceError{Why: fmt.Sprintf("there is no message %d in this conversation", target), Unknown: true}
	case c.Waiting > 0:
		// Their turn would answer what was replaced.
		return old, &sessions.ReplaceError{Why: "a message of this conversation is not answered yet; wait for the answer, or stop it", Later: true}
	case target <= v.From:
		return no("message %d belongs to an earlier part of this conversation, which a new one has ended")
	case target <= v.Covers:
		return no("message %d is part of a summary already, which the model goes on from")
	}
	ids := slices.Concat(e.Inbound.Sender.IDs, e.Own)
	var gone newestFirst
	for m := range st.messages(c.Key, rows.MessageFilter{After: target - 1, Newest: true, Light: true}) {
		hidden := gone.hides(&m)
		own := m.Role == sessions.RoleUser && !m.Synthetic && m.Sender != "" && slices.Contains(ids, m.Sender)
		switch {
		case m.Seq != target:
		case !own:
			return no("message %d is not one of yours")
		case hidden:
			return no("message %d does not count any more: it was replaced")
		default:
			old = m
		}
	}
	return old, st.err
}

// replace adds the note about what e replaces, if it replaces something. Files of the
// replaced message stay with the new one, unless that brings its own.
func (st *step) replace(c *chat, e *sessions.Entry) error {
	if e.Replaces == 0 {
		return nil
	}
	old, err := st.replaced(c, *e)
	if err != nil {
		return err
	}
	if len(e.Inbound.Attachments) == 0 {
		for _, a := range rules.Attachments(old.Attachments) {
			if a.File != "" && !a.Quoted {
				e.Inbound.Attachments = append(e.Inbound.Attachments, a)
			}
		}
	}
	note := sessions.ReplacedNote(e.Inbound, c.MessageSeq+1-e.Replaces)
	st.appendMessages(c, "", []sessions.Message{note}, sessions.AuthorOf(e.Inbound))
	c.Conversation.Erasures++
	return nil
}

// replacements returns those that concern messages of k from a seq on, oldest first.
func (v *view) replacements(k channels.Key, from int64) (list []sessions.Replacement) {
	head, _ := v.head(k)
	if head.Conversation == nil || head.Conversation.Erasures == 0 {
		return nil
	}
	for m := range v.messages(k, rows.MessageFilter{After: max(from-1, 0), Light: true}) {
		if m.Replaces > 0 {
			list = append(list, sessions.Replacement{First: max(m.Seq-m.Replaces, 1), By: m.Seq})
		}
	}
	return list
}

// Replacements returns those that concern messages of k from the seq from on, oldest first.
// In a conversation in which something was replaced or erased, it reads all messages from
// there to the end, without their texts.
func (s *Store) Replacements(ctx context.Context, k channels.Key, from int64) ([]sessions.Replacement, error) {
	v := s.viewOf(ctx, k)
	list := v.replacements(k, from)
	return list, s.wrap("replacements", v.err)
}

// markReplaced sets ReplacedBy of messages that were found.
func (v *view) markReplaced(found []sessions.Found) {
	oldest := map[channels.Key]int64{}
	for _, f := range found {
		oldest[f.Key] = min(f.Message.Seq, orMost(oldest[f.Key]))
	}
	lists := map[channels.Key][]sessions.Replacement{}
	for k, seq := range oldest {
		lists[k] = v.replacements(k, seq)
	}
	for i := range found {
		found[i].ReplacedBy = sessions.ReplacedBy(lists[found[i].Key], found[i].Message.Seq)
	}
}

// orMost is n, or the largest seq if n is 0.
func orMost(n int64) int64 {
	if n == 0 {
		return math.MaxInt64
	}
	return n
}
