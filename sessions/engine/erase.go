package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

// Erase forgets for good: see sessions.Lifetime. What is left in the files is
// scrubbed after the commit, if the backend can.
func (s *Store) Erase(ctx context.Context, e sessions.Erasure) (got sessions.Erased, err error) {
	x := &eraser{}
	err = s.update(ctx, "erase", func(st *step) error {
		x.step, x.got, x.files = st, sessions.Erased{}, map[string]bool{}
		return x.erase(e)
	}, e.Keys...)
	if err != nil {
		return sessions.Erased{}, err
	}
	got = x.got
	if scrubber, ok := s.back.(rows.Scrubber); ok {
		if err = scrubber.Scrub(context.WithoutCancel(ctx), e.Keys); err != nil {
			err = s.wrap("erase", fmt.Errorf("it is erased, but traces may be left in the files; erase again: %w", err))
		}
	}
	return got, err
}

// eraser is one erasure on its way.
type eraser struct {
	*step
	got   sessions.Erased
	files map[string]bool
}

func (x *eraser) erase(e sessions.Erasure) error {
	for _, k := range eachOnce(e.Keys) {
		c, err := x.chat(k)
		if err == nil && c.known {
			err = x.key(c)
		}
		if err != nil {
			return err
		}
	}
	for _, scope := range e.Scopes {
		n := x.got.Facts
		for r, err := range x.r.Records(x.ctx, factsOf(scope)) {
			if err != nil {
				return err
			}
			if r.Fact.Scope == scope {
				x.got.Facts++
			}
		}
		if x.got.Facts > n {
			x.changes.Removed = append(x.changes.Removed, factsOf(scope))
		}
	}
	senders := map[string][]string{} // ids by channel
	for _, s := range e.Senders {
		if s.Channel != "" && s.ID != "" {
			senders[s.Channel] = append(senders[s.Channel], s.ID)
		}
	}
	for channel, ids := range senders {
		if err := x.people(channel, ids); err != nil {
			return err
		}
	}
	if err := x.quarantined(e.Keys, senders); err != nil {
		return err
	}
	x.got.Files = slices.Sorted(maps.Keys(x.files))
	return nil
}

// formerFields is where earlier versions kept fields of other programs.
const formerFields = "imported_places"

// key forgets all of c.
func (x *eraser) key(c *chat) error {
	x.changes.Fenced = append(x.changes.Fenced, c.Key)
	for r, err := range x.r.Inbox(x.ctx, c.Key, rows.Queued{}) {
		if err != nil {
			return err
		}
		x.forgetIn(&r)
	}
	for _, err := range x.r.Outbox(x.ctx, c.Key, rows.Queued{}) {
		if err != nil {
			return err
		}
		x.got.Queued++
	}
	if c.Conversation != nil {
		x.got.Conversations++
		for m, err := range x.r.Messages(x.ctx, c.Key, rows.Said{Once: true, Light: true}) {
			if err != nil {
				return err
			}
			x.got.Messages++
			x.noteFiles(m.Attachments)
		}
		list, err := summaries(x.ctx, x.r, c.Key)
		if err != nil {
			return err
		}
		x.got.Summaries += len(list)
	}
	x.touch(c).Gone = true
	c.Conversation, c.known = nil, false
	return nil
}

// forgetIn counts an inbox row that is deleted.
func (x *eraser) forgetIn(r *rows.In) {
	x.noteFiles(r.Inbound.Attachments)
	x.got.Queued++
}

// noteFiles adds the kept files of list to those of what is erased.
func (x *eraser) noteFiles(list []channels.Attachment) {
	for _, a := range list {
		if a.File != "" {
			x.files[a.File] = true
		}
	}
}

// leastName is how long an id must be to be looked for in quarantined messages:
// shorter ones are in everything by chance.
const leastName = 5

// quarantined forgets what was set aside if the id of an erased chat or person is
// in it, as a whole. An adapter could not read it, so there is nothing else to go
// by.
func (x *eraser) quarantined(keys []channels.Key, senders map[string][]string) error {
	names := map[string][]string{}
	maps.Copy(names, senders)
	for _, k := range keys {
		names[k.Channel()] = append(slices.Clip(names[k.Channel()]), k.Chat())
	}
	for r, err := range x.r.Records(x.ctx, rows.Record{Quarantined: &sessions.QuarantineRecord{}}) {
		if err != nil {
			return err
		}
		a := r.Quarantined
		text := a.ID + "\n" + string(a.Raw)
		if slices.ContainsFunc(names[a.Channel], func(name string) bool {
			name, _, _ = strings.Cut(strings.TrimPrefix(name, "+"), "@") // as in WhatsApp's ids
			return len(name) >= leastName && rules.HasWord(text, name)
		}) {
			x.changes.Removed = append(x.changes.Removed, r)
			x.got.Queued++
		}
	}
	return nil
}

// people erases their messages in conversations that are kept, and their
// pairings.
func (x *eraser) people(channel string, ids []string) error {
	heads, err := collect(x.r.Heads(x.ctx, rows.ByKey, nil))
	if err != nil {
		return err
	}
	for _, h := range heads {
		if h.Key.Channel() != channel {
			continue
		}
		if err := x.takeOut(h.Key, ids); err != nil {
			return err
		}
	}
	for r, err := range x.r.Records(x.ctx, rows.Record{Pairing: &sessions.Pairing{Channel: channel}}) {
		if err != nil {
			return err
		}
		if r.Pairing.Channel == channel && slices.Contains(ids, r.Pairing.PersonID) {
			x.changes.Removed = append(x.changes.Removed, r)
			x.got.Pairings++
		}
	}
	return nil
}

// takeOut takes what people said out of one conversation.
func (x *eraser) takeOut(k channels.Key, ids []string) error {
	c, err := x.chat(k)
	if err != nil || !c.known {
		return err
	}
	before := x.got
	if err := errors.Join(x.queue(c, ids), x.transcript(c, ids)); err != nil {
		return err
	}
	if x.got.Queued == before.Queued && x.got.Messages == before.Messages {
		return nil
	}
	if v := c.Conversation; v != nil {
		rules.SetForeign(&v.Settings, nil) // they may be about the person
		delete(v.Settings.Metadata, formerFields)
		x.touch(c)
	}
	return x.vanish(c)
}

// queue takes the messages of people out of the inbox of c. If one of them
// waits, the turns of c begin anew.
func (x *eraser) queue(c *chat, ids []string) error {
	var others []rows.In
	waited := false
	for r, err := range x.r.Inbox(x.ctx, c.Key, rows.Queued{}) {
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(r.Inbound.Sender.IDs, func(id string) bool { return slices.Contains(ids, id) }) {
			if r.Turn != "" {
				others = append(others, r)
			}
			continue
		}
		x.forgetIn(&r)
		ch := x.touch(c)
		ch.Drop = append(ch.Drop, r.Seq)
		if r.State == rules.InWaiting {
			c.waiting--
			waited = true
		}
		if r.Turn != "" {
			x.endJournal(c, r.Turn)
		}
	}
	if waited {
		x.changes.Fenced = append(x.changes.Fenced, c.Key)
		for _, r := range others {
			x.endJournal(c, r.Turn)
			r.Turn = ""
			x.put(c, &r, false)
		}
	}
	return nil
}

// erasedText replaces a message whose sender is erased.
const erasedText = "[erased]"

// transcript erases what people said in c, copies of it that tools made, and
// the summaries that may tell of it.
func (x *eraser) transcript(c *chat, ids []string) error {
	v := c.Conversation
	if v == nil {
		return nil
	}
	var erased, copies []sessions.Message
	for m, err := range x.r.Messages(x.ctx, c.Key, rows.Said{Once: true, Light: true}) {
		switch {
		case err != nil:
			return err
		case m.Sender != "" && slices.Contains(ids, m.Sender):
			x.got.Messages++
			x.noteFiles(m.Attachments)
			m = rules.Clone(m)
			m.Content, m.Name, m.Sender, m.Attachments, m.Extra, m.Attached = erasedText, "", "", nil, nil, nil
			erased = append(erased, m)
		case m.Role == sessions.RoleTool && (m.Name == sessions.HistoryTool || m.Name == sessions.AttachmentTool):
			m = rules.Clone(m)
			m.Content, m.Extra, m.Attached = erasedText, nil, nil
			copies = append(copies, m)
		}
	}
	if len(erased) == 0 {
		return nil
	}
	v.Erasures++
	ch := x.touch(c)
	ch.Rewritten = append(erased, copies...)
	list, err := summaries(x.ctx, x.r, c.Key)
	v.Covers = 0
	for _, sum := range list {
		tells := slices.ContainsFunc(ch.Rewritten, func(m sessions.Message) bool { return v.From < m.Seq && m.Seq <= sum.CoversSeq })
		if tells {
			ch.Forget = append(ch.Forget, sum.CoversSeq)
			x.got.Summaries++
		} else {
			v.Covers = sum.CoversSeq
		}
	}
	return err
}

// vanish forgets c if nothing is left of it but its name.
func (x *eraser) vanish(c *chat) error {
	if v := c.Conversation; v != nil && (v.Messages > 0 || v.Title != "" || !rules.IsZeroSettings(v.Settings)) {
		return nil
	}
	dropped := x.touch(c).Drop
	for r, err := range x.r.Inbox(x.ctx, c.Key, rows.Queued{Light: true}) {
		if err != nil || !slices.Contains(dropped, r.Seq) {
			return err
		}
	}
	for _, err := range x.r.Outbox(x.ctx, c.Key, rows.Queued{}) {
		return err
	}
	if c.Conversation != nil {
		x.got.Conversations++
	}
	x.changes.Fenced = append(x.changes.Fenced, c.Key)
	x.touch(c).Gone = true
	c.Conversation, c.known = nil, false
	return nil
}
