package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

// Erase erases what e names, in one step. With a local store it returns when the bytes are gone
// from the store's files, free pages and logs included. Deduplication ids of erased
// messages are kept as hashes, because a network may deliver them again. If Erase
// returns counts with an error, the rows are gone, but traces may be left in the
// store's files. Then call it again, and delete Erased.Files: a second call cannot
// name them.
func (s *Store) Erase(ctx context.Context, e sessions.Erasure) (got sessions.Erased, err error) {
	x := &eraser{}
	err = s.update(ctx, "erase", func(st *step) error {
		x.step = st
		x.got = sessions.Erased{}
		x.files = map[string]bool{}
		x.erase(e)
		return nil
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

// eraser is one run of an erasure's step.
type eraser struct {
	*step
	got   sessions.Erased
	files map[string]bool
}

func (x *eraser) erase(e sessions.Erasure) {
	for _, k := range sortedKeys(e.Keys) {
		if c := x.chat(k); c.known {
			x.eraseKey(c)
		}
	}
	for _, scope := range e.Scopes {
		n := x.got.Facts
		for r := range x.records(factsOf(scope)) {
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
		x.erasePeople(channel, ids)
	}
	x.eraseQuarantined(e.Keys, senders)
	x.eraseOwners(e)
	x.got.Files = slices.Sorted(maps.Keys(x.files))
}

// eraseOwners erases the notes and counts of everybody whom e names, and what became of their
// jobs.
func (x *eraser) eraseOwners(e sessions.Erasure) {
	list := x.owned(e)
	list = append(list, x.feedback(e)...)
	x.changes.Removed = append(x.changes.Removed, list...)
	x.got.Notes, x.got.Counts = countOwned(list)
}

// owned returns the notes and sums of everybody whom e names. What became of their jobs, and
// what these have used, names them, too.
func (v *view) owned(e sessions.Erasure) (list []rows.Record) {
	owners := ownersOf(e)
	jobs := map[string]bool{}
	if len(owners) > 0 {
		for r := range v.records(rows.Record{Occurrence: &sessions.Occurrence{}}) {
			owner := sessions.JobsOwner(r.Occurrence.Job)
			if owner != "" && slices.Contains(owners, owner) {
				list = append(list, r)
				jobs[r.Occurrence.Job] = true
			}
		}
	}
	for _, job := range slices.Sorted(maps.Keys(jobs)) {
		owners = append(owners, sessions.JobScope(job))
	}
	for _, owner := range owners {
		list = slices.AppendSeq(list, v.records(rows.Record{Note: &sessions.Note{Owner: owner}}))
		list = slices.AppendSeq(list, v.records(rows.Record{Count: &sessions.Count{Owner: owner}}))
	}
	return list
}

// countOwned counts the notes and the sums of list. An outcome of a job is a note, for people.
func countOwned(list []rows.Record) (notes, sums int) {
	for _, r := range list {
		switch {
		case r.Count != nil:
			sums++
		case r.Occurrence != nil || !Derived(r.Note.Kind):
			notes++
		}
	}
	return notes, sums
}

// feedback returns the notes about answers in conversations that e erases, without those
// of people whom it erases.
func (v *view) feedback(e sessions.Erasure) (list []rows.Record) {
	if len(e.Keys) == 0 {
		return nil
	}
	owners := ownersOf(e)
	for r := range v.records(rows.Record{Note: &sessions.Note{Kind: sessions.FeedbackKind}}) {
		if !slices.Contains(owners, r.Note.Owner) {
			list = append(list, r)
		}
	}
	if len(list) == 0 {
		return nil
	}
	turns := map[string]bool{}
	for _, k := range e.Keys {
		for m := range v.messages(k, rows.MessageFilter{Light: true}) {
			turns[m.Turn] = true // of another key, if that was joined into k
		}
	}
	return slices.DeleteFunc(list, func(r rows.Record) bool {
		named := func(k channels.Key) bool { return strings.HasPrefix(r.Note.Name, k.String()+"#") }
		return !turns[r.Note.Name] && !slices.ContainsFunc(e.Keys, named)
	})
}

// ownersOf are the owners whose notes and counts e erases, sorted.
func ownersOf(e sessions.Erasure) (owners []string) {
	for _, owner := range e.Owners {
		if owner != "" {
			owners = append(owners, owner)
		}
	}
	for _, s := range e.Senders {
		if s.Channel != "" && s.ID != "" {
			owners = append(owners, s.Owner())
		}
	}
	for _, k := range e.Keys {
		owners = append(owners, sessions.ChatScope(k))
	}
	slices.Sort(owners)
	return slices.Compact(owners)
}

// Owned counts the notes and the sums that e would erase.
func (s *Store) Owned(ctx context.Context, e sessions.Erasure) (notes, sums int, err error) {
	v := s.view(ctx)
	v.err = hasKey(e.Keys...)
	notes, sums = countOwned(append(v.owned(e), v.feedback(e)...))
	return notes, sums, s.wrap("owned", v.err)
}

// oldFieldsName is what earlier versions called sessions.FieldsName.
const oldFieldsName = "imported_places"

// eraseKey erases everything of c.
func (x *eraser) eraseKey(c *chat) {
	for r := range x.inbox(c.Key, rows.QueueFilter{}) {
		x.noteFiles(r.Inbound.Attachments)
		x.got.Queued++
	}
	for range x.outbox(c.Key, rows.QueueFilter{}) {
		x.got.Queued++
	}
	if c.Conversation != nil {
		for m := range x.messages(c.Key, rows.MessageFilter{Light: true}) {
			x.got.Messages++
			x.noteFiles(m.Attachments)
		}
		x.got.Summaries += len(x.summaries(c.Key))
	}
	x.deleteKey(c)
}

// deleteKey deletes the key c.
func (x *eraser) deleteKey(c *chat) {
	if c.Conversation != nil {
		x.got.Conversations++
	}
	x.changes.Fenced = append(x.changes.Fenced, c.Key)
	x.touch(c).Gone = true
	c.Conversation, c.known = nil, false
}

// noteFiles adds the files of list to those that the caller deletes.
func (x *eraser) noteFiles(list []channels.Attachment) {
	for _, a := range list {
		if a.File != "" {
			x.files[a.File] = true
		}
	}
}

// minIDLength is how long an id must be to be looked for in quarantined messages:
// shorter ones match by chance.
const minIDLength = 5

// eraseQuarantined deletes quarantined messages that contain the id of an erased chat
// or person as a whole word. No adapter could read them, so there is no better test.
func (x *eraser) eraseQuarantined(keys []channels.Key, senders map[string][]string) {
	ids := maps.Clone(senders)
	for _, k := range keys {
		ids[k.Channel()] = append(slices.Clip(ids[k.Channel()]), k.Chat())
	}
	for r := range x.records(rows.Record{Quarantined: &sessions.QuarantineRecord{}}) {
		a := r.Quarantined
		text := a.ID + "\n" + string(a.Raw)
		if slices.ContainsFunc(ids[a.Channel], func(id string) bool {
			id, _, _ = strings.Cut(strings.TrimPrefix(id, "+"), "@") // as in WhatsApp's ids
			return len(id) >= minIDLength && rules.HasWord(text, id)
		}) {
			x.changes.Removed = append(x.changes.Removed, r)
			x.got.Queued++
		}
	}
}

// erasePeople erases people's messages in the conversations that are kept, and their
// pairings.
func (x *eraser) erasePeople(channel string, ids []string) {
	for _, h := range slices.Collect(x.heads(rows.ByKey)) {
		if h.Key.Channel() == channel {
			x.eraseFrom(h.Key, ids)
		}
	}
	for r := range x.records(rows.Record{Pairing: &sessions.Pairing{Channel: channel}}) {
		if r.Pairing.Channel == channel && slices.Contains(ids, r.Pairing.PersonID) {
			x.changes.Removed = append(x.changes.Removed, r)
			x.got.Pairings++
		}
	}
}

// eraseFrom erases people's messages in one conversation.
func (x *eraser) eraseFrom(k channels.Key, ids []string) {
	c := x.chat(k)
	if !c.known {
		return
	}
	x.removeOwners(c, ids)
	before := x.got
	x.eraseInbox(c, ids)
	x.eraseMessages(c, ids)
	if x.got.Queued == before.Queued && x.got.Messages == before.Messages {
		return
	}
	if v := c.Conversation; v != nil {
		rules.SetForeign(&v.Settings, nil) // unknown fields may be about the person
		delete(v.Settings.Metadata, oldFieldsName)
		x.touch(c)
	}
	x.deleteIfEmpty(c)
}

// eraseInbox erases people's messages in the inbox of c. If one of them waits, the
// turns of c begin anew.
func (x *eraser) eraseInbox(c *chat, ids []string) {
	var others []rows.In
	waited := false
	for r := range x.inbox(c.Key, rows.QueueFilter{}) {
		if !slices.ContainsFunc(r.Inbound.Sender.IDs, func(id string) bool { return slices.Contains(ids, id) }) {
			if r.Turn != "" {
				others = append(others, r)
			}
			continue
		}
		x.noteFiles(r.Inbound.Attachments)
		x.got.Queued++
		ch := x.touch(c)
		ch.Drop = append(ch.Drop, r.Seq)
		if r.State == rules.InWaiting {
			c.Waiting--
			waited = true
		}
		x.endJournal(c, r.Turn)
	}
	if waited {
		x.changes.Fenced = append(x.changes.Fenced, c.Key)
		for _, r := range others {
			x.endJournal(c, r.Turn)
			r.Turn = ""
			x.put(c, &r, false)
		}
	}
}

// erasedText replaces a message whose sender is erased.
const erasedText = "[erased]"

// eraseMessages erases people's messages in the transcript of c, the results of tools
// that may repeat them, and the summaries that may.
func (x *eraser) eraseMessages(c *chat, ids []string) {
	v := c.Conversation
	if v == nil {
		return
	}
	var erased, copies []sessions.Message
	for m := range x.messages(c.Key, rows.MessageFilter{Light: true}) {
		switch {
		case m.Sender != "" && slices.Contains(ids, m.Sender):
			x.got.Messages++
			x.noteFiles(m.Attachments)
			m = rules.Clone(m)
			m.Content = erasedText
			m.Kind = ""
			m.ForModel = nil
			m.Name = ""
			m.Sender = ""
			m.Attachments = nil
			m.Extra = nil
			m.Attached = nil
			erased = append(erased, m)
		case m.IsCopy():
			m = rules.Clone(m)
			m.Content = erasedText
			m.ForModel = nil
			m.Extra = nil
			m.Attached = nil
			copies = append(copies, m)
		}
	}
	if len(erased) == 0 {
		return
	}
	v.Erasures++
	v.Covers = 0
	ch := x.touch(c)
	ch.Rewritten = append(erased, copies...)
	for _, sum := range x.summaries(c.Key) {
		if slices.ContainsFunc(ch.Rewritten, func(m sessions.Message) bool { return v.From < m.Seq && m.Seq <= sum.CoversSeq }) {
			ch.Forget = append(ch.Forget, sum.CoversSeq)
			x.got.Summaries++
		} else {
			v.Covers = sum.CoversSeq
		}
	}
}

// deleteIfEmpty deletes the key c if nothing else is left of it.
func (x *eraser) deleteIfEmpty(c *chat) {
	if v := c.Conversation; v != nil && (v.Messages > 0 || v.Title != "" || !rules.IsZeroSettings(v.Settings)) {
		return
	}
	dropped := x.touch(c).Drop
	for r := range x.inbox(c.Key, rows.QueueFilter{Light: true}) {
		if !slices.Contains(dropped, r.Seq) {
			return
		}
	}
	if first(x.outbox(c.Key, rows.QueueFilter{})) == nil {
		x.deleteKey(c)
	}
}
