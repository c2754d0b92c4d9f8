package memory

import (
	"context"
	"hash/maphash"
	"iter"
	"maps"
	"slices"

	"dragoman/channels"
	"dragoman/sessions/rows"
)

// Records: see rows.Reader.
func (r reader) Records(ctx context.Context, like rows.Record) iter.Seq2[rows.Record, error] {
	return stream(ctx, r, func() ([]rows.Record, error) {
		switch {
		case like.Generation != nil:
			return r.b.generations(like.Generation), nil
		case like.Summary != nil:
			return r.b.summaries(like.Summary.Key)
		case like.Store != nil:
			return []rows.Record{{Store: &rows.Store{Name: r.b.Name, Days: maps.Clone(r.b.days), LastFact: r.b.lastFact}}}, nil
		case like.Mark != nil:
			return r.b.marks(*like.Mark), nil
		}
		return r.b.like(like), nil
	})
}

// marks are the one that is asked for, or all.
func (s *state) marks(like string) (list []rows.Record) {
	marks := []string{like}
	if like == "" {
		marks = s.Marks()
	}
	for _, mark := range marks {
		if s.erased[mark] {
			list = append(list, rows.Record{Mark: &mark})
		}
	}
	return list
}

// generations are those of a key, or the one of an ID.
func (s *state) generations(like *rows.Generation) (list []rows.Record) {
	some := []*chat{s.chats[like.Key]}
	if like.Key.IsZero() {
		if s.begins[like.ID] == 0 {
			return nil
		}
		some = slices.Collect(maps.Values(s.chats))
	}
	for _, c := range some {
		if c == nil || c.Conversation == nil {
			continue
		}
		for _, g := range c.Conversation.Generations {
			if like.ID == "" || like.ID == g.ID {
				list = append(list, rows.Record{Generation: &rows.Generation{Key: c.Key, Generation: g}})
			}
		}
	}
	return list
}

func (b *backend) summaries(k channels.Key) (list []rows.Record, err error) {
	c := b.chats[k]
	if c == nil || c.Conversation == nil {
		return nil, nil
	}
	if err := b.load(c); err != nil {
		return nil, err
	}
	for _, s := range c.Summaries {
		list = append(list, rows.Record{Summary: &rows.Summary{Key: k, Summary: s}})
	}
	return list, nil
}

// idFilter knows ids of deliveries by their hashes: one that it does not have is
// not there, one that it has may be, or may have been. A nil one takes none.
type idFilter map[uint64]struct{}

var idSeed = maphash.MakeSeed()

func (f idFilter) add(id string) {
	if f != nil {
		f[maphash.String(idSeed, id)] = struct{}{}
	}
}

// mayHave reports whether there may be a delivery of that id. The first who asks
// has all conversations looked through, once.
func (b *backend) mayHave(id string) bool {
	if b.sent == nil {
		all, err := b.looked()
		if err != nil {
			return true // who looks for it is told
		}
		b.sent = idFilter{}
		for _, c := range all {
			for _, o := range c.Out {
				b.sent.add(o.ID)
			}
		}
	}
	_, may := b.sent[maphash.String(idSeed, id)]
	return may
}
