package memory

import (
	"maps"
	"slices"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/dispatch"
	"dragoman/sessions/rules"
)

// change is one atomic step: f checks, then changes, then notes here what it
// means for the dispatcher and for the disk.
type change struct {
	now          time.Time
	items        []dispatch.Item
	fenced       []channels.Key
	fencedBefore []channels.Key // by other steps of the same commit

	notes  []*note
	common Common
	people bool // pairings changed
	days   bool
	write  bool // commit it even if nothing changed
}

// note is what changed of one chat.
type note struct {
	step      *change
	chat      *chat
	said      int64 // messages above it are new
	gone      bool
	anew      bool
	deleted   bool
	summaries bool
	in        []*inRow
	out       []*outRow
	ended     []string
	steps     []TurnStep
}

// touch notes that c changes. It comes before the change.
func (ch *change) touch(c *chat) *note {
	if n := c.note; n != nil && n.step == ch {
		return n
	}
	c.touched++
	n := &note{step: ch, chat: c, said: c.msgSeq}
	c.note = n
	ch.notes = append(ch.notes, n)
	return n
}

func (n *note) row(r *inRow) {
	if !slices.Contains(n.in, r) {
		n.in = append(n.in, r)
	}
}

// in notes that r, a row of c, changed, for the disk and for the dispatcher.
func (ch *change) in(c *chat, r *inRow) {
	ch.touch(c).row(r)
	ch.items = append(ch.items, r.item())
}

// out is in for deliveries.
func (ch *change) out(c *chat, o *outRow) {
	if n := ch.touch(c); !slices.Contains(n.out, o) {
		n.out = append(n.out, o)
	}
	ch.items = append(ch.items, o.item())
}

// journal adds a step to the journal of a turn.
func (ch *change) journal(c *chat, turn string, step sessions.Step) {
	n := ch.touch(c)
	n.steps = append(n.steps, TurnStep{turn, step})
	c.steps[turn] = append(c.steps[turn], step)
}

// end removes the journal of a turn.
func (ch *change) end(c *chat, turn string) {
	if _, ok := c.steps[turn]; ok {
		n := ch.touch(c)
		n.ended = append(n.ended, turn)
		delete(c.steps, turn)
	}
}

func (ch *change) aside(a *asideRow) { ch.common.Asides = append(ch.common.Asides, a.image()) }

func (ch *change) occurred(o *occurrence) {
	ch.common.Occurrences = append(ch.common.Occurrences, o.Occurrence)
}

// export is what the disk has to store, and false if that is nothing.
func (ch *change) export(s *Store) (c Change, changed bool) {
	for _, n := range ch.notes {
		c.Chats = append(c.Chats, n.export())
	}
	c.Common = ch.common
	if ch.people {
		c.Common.Pairings = s.pairingList()
	}
	if ch.days {
		c.Common.Days = maps.Clone(s.days)
	}
	common := c.Common
	changed = ch.write || len(c.Chats) > 0 || ch.people || ch.days || len(common.Facts)+len(common.Forgotten)+len(common.Due)+
		len(common.Occurrences)+len(common.Asides)+len(common.Erased) > 0
	c.Common.Name, c.Common.Prefix = s.restored, s.prefix
	c.Common.LastIn, c.Common.LastOut, c.Common.LastFact, c.Common.Updates = s.lastIn, s.lastOut, s.lastFact, s.updates
	return c, changed
}

func (n *note) export() ChatChange {
	c := n.chat
	x := ChatChange{Head: c.head(), Gone: n.gone, Anew: n.anew, Deleted: n.deleted}
	if n.gone {
		x.Head = Head{Key: c.key}
		return x
	}
	if n.anew {
		all := c.content()
		x.Messages, x.In, x.Out = all.Messages, all.In, all.Out
		x.Summaries = list(all.Summaries)
		for turn, steps := range all.Journals {
			for _, step := range steps {
				x.Steps = append(x.Steps, TurnStep{turn, step})
			}
		}
		return x
	}
	if c.conv != nil {
		first := len(c.conv.messages) - min(int(c.msgSeq-n.said), len(c.conv.messages))
		x.Messages = slices.Clone(c.conv.messages[first:])
		if n.summaries {
			x.Summaries = list(c.conv.summaries)
		}
	}
	for _, r := range n.in {
		x.In = append(x.In, r.image())
	}
	for _, o := range n.out {
		x.Out = append(x.Out, o.record())
	}
	x.Ended, x.Steps = n.ended, n.steps
	return x
}

// list is a copy that is not nil: none and no change are two things.
func list(summaries []sessions.Summary) *[]sessions.Summary {
	all := append([]sessions.Summary{}, summaries...)
	return &all
}

func (r *inRow) image() InRow { return InRow{r.n, *r.record()} }

func (a *asideRow) image() AsideRow {
	row := AsideRow{a.id, sessions.AsideRecord{Aside: a.aside, At: rules.Time(a.at), Dropped: a.dropped}}
	row.Raw = slices.Clone(row.Raw)
	return row
}

func (s *Store) pairingList() *[]sessions.Pairing {
	list := make([]sessions.Pairing, 0, len(s.pairings))
	for _, p := range s.pairings {
		list = append(list, *p)
	}
	return &list
}

// common is everything that belongs to no conversation.
func (s *Store) common() Common {
	c := Common{
		Name: s.restored, Prefix: s.prefix, LastIn: s.lastIn, LastOut: s.lastOut, LastFact: s.lastFact, Updates: s.updates,
		Days: maps.Clone(s.days), Pairings: s.pairingList(), Due: maps.Clone(s.due), Erased: slices.Sorted(maps.Keys(s.erased)),
	}
	for _, scope := range slices.Sorted(maps.Keys(s.facts)) {
		for _, f := range s.facts[scope] {
			c.Facts = append(c.Facts, sessions.FactRecord{Scope: scope, Fact: f})
		}
	}
	for _, o := range s.occurrences {
		c.Occurrences = append(c.Occurrences, o.Occurrence)
	}
	for _, a := range s.asides {
		c.Asides = append(c.Asides, a.image())
	}
	return c
}
