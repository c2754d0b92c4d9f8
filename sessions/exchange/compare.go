package exchange

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"dragoman/sessions"
)

// Difference is where two stores do not hold the same. It names places and
// fields, and never what somebody wrote.
type Difference struct {
	Where string // "message 12 of telegram:1"
	What  string
}

func (d *Difference) Error() string {
	return fmt.Sprintf("exchange: compare: %s: %s", d.Where, d.What)
}

// Compare reads two stores side by side and returns nil if they hold the same,
// and a [*Difference] where they first do not. Tell is called with how many
// messages were compared.
func Compare(ctx context.Context, a, b sessions.Copies, tell func(messages int)) error {
	nextA, stopA := iter.Pull(pieces(ctx, a))
	defer stopA()
	nextB, stopB := iter.Pull(pieces(ctx, b))
	defer stopB()
	for messages := 0; ; {
		one, more := nextA()
		two, other := nextB()
		if one.err != nil || two.err != nil {
			return fmt.Errorf("exchange: compare: %w", cmp.Or(one.err, two.err))
		}
		switch {
		case !more && !other:
			return nil
		case !more:
			return &Difference{two.where, "only the copy has it"}
		case !other:
			return &Difference{one.where, "the copy lacks it"}
		case one.where != two.where:
			return &Difference{one.where, "the copy has " + two.where + " in its place"}
		}
		if err := one.compare(two); err != nil {
			return err
		}
		if one.message {
			messages++
			if messages%batchRecords == 0 {
				tell(messages)
			}
		}
	}
}

// piece is the smallest thing that is compared: a message or a record.
type piece struct {
	where   string
	value   any
	message bool
	err     error
}

// pieces are those of a store, in the order of its Dump; an error is the last.
// How messages are cut into records is the store's own affair.
func pieces(ctx context.Context, s sessions.Copies) iter.Seq[piece] {
	return func(yield func(piece) bool) {
		stopped := false
		hand := func(p piece) error {
			if !yield(p) {
				stopped = true
				return context.Canceled
			}
			return nil
		}
		err := s.Dump(ctx, nil, func(r sessions.Record) error {
			if r.Messages == nil {
				return hand(piece{where: placeOf(r), value: r})
			}
			for _, m := range r.Messages.Messages {
				where := fmt.Sprintf("message %d of %s", m.Seq, r.Messages.Key)
				if err := hand(piece{where: where, value: m, message: true}); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil && !stopped {
			yield(piece{err: err})
		}
	}
}

// placeOf names a record.
func placeOf(r sessions.Record) string {
	switch {
	case r.Store != nil:
		return "the store's own record"
	case r.Conversation != nil:
		return "the conversation " + r.Conversation.Key.String()
	case r.Inbox != nil:
		return fmt.Sprintf("inbox entry %d of %s", r.Inbox.Seq, r.Inbox.Inbound.Key)
	case r.Outbox != nil:
		return fmt.Sprintf("delivery %d of %s", r.Outbox.Seq, r.Outbox.Key)
	case r.Aside != nil:
		return fmt.Sprintf("%s %q, set aside", r.Aside.Channel, r.Aside.ID)
	case r.Fact != nil:
		return fmt.Sprintf("fact %d", r.Fact.ID)
	case r.Pairing != nil:
		return fmt.Sprintf("the pairing of %s:%s", r.Pairing.Channel, r.Pairing.PersonID)
	case r.Job != nil:
		return "the job " + r.Job.Job
	case r.Occurrence != nil:
		return fmt.Sprintf("the occurrence of %s at %s", r.Occurrence.Job, r.Occurrence.Due.UTC().Format(time.RFC3339))
	}
	return "an empty record"
}

// compare looks at two pieces of the same place as JSON, which holds all of
// them.
func (p piece) compare(other piece) error {
	one, err := json.Marshal(p.value)
	if err != nil {
		return fmt.Errorf("exchange: compare: %w", err)
	}
	two, err := json.Marshal(other.value)
	if err != nil {
		return fmt.Errorf("exchange: compare: %w", err)
	}
	if bytes.Equal(one, two) {
		return nil
	}
	names := differing(one, two)
	if len(names) == 1 { // a record: its only field is what it is
		var a, b map[string]json.RawMessage
		if json.Unmarshal(one, &a) == nil && json.Unmarshal(two, &b) == nil {
			if inner := differing(a[names[0]], b[names[0]]); len(inner) > 0 {
				names = inner
			}
		}
	}
	return &Difference{p.where, "the copy differs in " + strings.Join(names, ", ")}
}

// differing are the fields that two JSON objects do not share.
func differing(one, two []byte) (names []string) {
	var a, b map[string]json.RawMessage
	if json.Unmarshal(one, &a) != nil || json.Unmarshal(two, &b) != nil {
		return nil
	}
	all := maps.Clone(a)
	maps.Copy(all, b)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !bytes.Equal(a[name], b[name]) {
			names = append(names, name)
		}
	}
	return names
}
