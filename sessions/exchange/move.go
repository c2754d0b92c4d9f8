package exchange

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"

	"dragoman/channels"
	"dragoman/sessions"
)

// Progress is how far a [Move] has come.
type Progress struct {
	Step Step
	// Done and Total count messages. Total is 0 while they are being counted.
	Done, Total int
}

// Step is one part of a [Move].
type Step string

// The steps, in order.
const (
	Counting  Step = "counting"
	Copying   Step = "copying"
	Comparing Step = "comparing"
)

// Difference is where two stores do not hold the same: "the conversation
// telegram:1", "the facts". It shows nothing that somebody wrote.
type Difference struct{ Where string }

func (d *Difference) Error() string { return "exchange: compare: the copy differs in: " + d.Where }

// Move copies all that from holds to the empty store to, reads the copy again
// and compares both. It returns what there is; an error that is a [*Difference]
// says that the copy is not the same.
//
// Neither store may be used by anybody else meanwhile. From is only read. To is
// filled in many steps: a move that ends early leaves a part of it, which is
// of no use. The largest conversation has to fit into memory, not the store.
//
// Tell, if not nil, is called often.
func Move(ctx context.Context, from, to sessions.Copies, tell func(Progress)) (all Counts, err error) {
	if tell == nil {
		tell = func(Progress) {}
	}
	source, copied := digest{}, digest{}
	var done, read Counts
	// First everything is counted, and the records of no conversation are copied,
	// because a message may name the occurrence that fired it. Then come the others.
	for _, belongs := range []bool{false, true} {
		err := inParts(func(emit Emit) error {
			return from.Dump(ctx, nil, func(r sessions.Record) error {
				_, has := KeyOf(r)
				if !belongs {
					all.add(r)
					tell(Progress{Counting, all.Messages, 0})
				}
				if has != belongs {
					return nil
				}
				source.add(r)
				if done.add(r); has {
					tell(Progress{Copying, done.Messages, all.Messages})
				}
				return emit(r)
			})
		}, func(next func() (sessions.Record, error)) error { _, err := to.Restore(ctx, next); return err })
		if errors.Is(err, sessions.ErrConflict) {
			return all, fmt.Errorf("exchange: move: the target was not empty: %w", err)
		}
		if err != nil {
			return all, fmt.Errorf("exchange: move: %w", err)
		}
	}
	err = to.Dump(ctx, nil, func(r sessions.Record) error {
		copied.add(r)
		read.add(r)
		tell(Progress{Comparing, min(read.Messages, all.Messages), all.Messages})
		return nil
	})
	if err != nil {
		return all, fmt.Errorf("exchange: compare: %w", err)
	}
	return all, source.compare(copied)
}

// digest has one hash of all that belongs to a conversation, and of all records
// of one kind that belong to none, in the order of a Dump.
type digest map[string][sha256.Size]byte

// add takes r in. How messages are cut into records is the store's own affair.
func (d digest) add(r sessions.Record) {
	if r.Messages == nil {
		d.put(placeOf(r), r)
		return
	}
	for _, m := range r.Messages.Messages {
		d.put(placeOf(r), m)
	}
}

func (d digest) put(place string, v any) {
	raw, err := json.Marshal(v)
	if err != nil {
		raw = []byte(err.Error()) // both stores would have it
	}
	before := d[place]
	d[place] = sha256.Sum256(append(before[:], raw...))
}

// compare returns the first of the places in which a copy is not the same.
func (d digest) compare(copied digest) error {
	all := maps.Clone(d)
	maps.Copy(all, copied)
	for _, place := range slices.Sorted(maps.Keys(all)) {
		one, ok := d[place]
		if two, too := copied[place]; !ok || !too || one != two {
			return &Difference{place}
		}
	}
	return nil
}

// placeOf names the conversation of r, or its kind.
func placeOf(r sessions.Record) string {
	if k, has := KeyOf(r); has {
		return "the conversation " + k.String()
	}
	switch {
	case r.Quarantined != nil:
		return "the messages set aside"
	case r.Fact != nil:
		return "the facts"
	case r.Pairing != nil:
		return "the pairings"
	case r.Job != nil:
		return "the jobs"
	case r.Occurrence != nil:
		return "the occurrences of jobs"
	}
	return "the store's own record"
}

// KeyOf is the conversation that r belongs to, and whether it belongs to one.
func KeyOf(r sessions.Record) (k channels.Key, has bool) {
	if in := keyIn(r); in != nil {
		return *in, true
	}
	return k, false
}

// keyIn is where r has that key, or nil.
func keyIn(r sessions.Record) *channels.Key {
	switch {
	case r.Conversation != nil:
		return &r.Conversation.Key
	case r.Messages != nil:
		return &r.Messages.Key
	case r.Inbox != nil:
		return &r.Inbox.Inbound.Key
	case r.Outbox != nil:
		return &r.Outbox.Key
	}
	return nil
}

// Restore is [sessions.Copies.Restore].
type Restore = func(ctx context.Context, next func() (sessions.Record, error)) (sessions.Restored, error)

// How much is stored in one step, as soon as a conversation ends: enough that
// the commits cost little, and little enough to hold in memory.
const (
	batchRecords = 1000
	batchBytes   = 8 << 20
)

// errEnough: nobody reads on.
var errEnough = errors.New("enough")

// pull are the records that read emits; an error is the last.
func pull(read func(Emit) error) iter.Seq2[sessions.Record, error] {
	return func(yield func(sessions.Record, error) bool) {
		err := read(func(r sessions.Record) error {
			if !yield(r, nil) {
				return errEnough
			}
			return nil
		})
		if err != nil && !errors.Is(err, errEnough) {
			yield(sessions.Record{}, err)
		}
	}
}

// inParts hands all that read emits to store in parts that end where a conversation
// does. Store reads each part to its end.
func inParts(read func(Emit) error, store func(next func() (sessions.Record, error)) error) error {
	next, stop := iter.Pull2(pull(read))
	defer stop()
	r, err, more := next()
	for more && err == nil {
		records, bytes := 0, 0
		part := func() (sessions.Record, error) {
			if records > 0 {
				before, _ := KeyOf(r)
				if r, err, more = next(); !more {
					return r, io.EOF
				} else if err != nil {
					return r, err
				}
				if k, has := KeyOf(r); (!has || k != before) && (records >= batchRecords || bytes >= batchBytes) {
					return sessions.Record{}, io.EOF // r begins the next part
				}
			}
			records, bytes = records+1, bytes+size(r)
			return r, nil
		}
		if err := store(part); err != nil {
			return err
		}
	}
	return err
}

// size is how many bytes r is, about.
func size(r sessions.Record) (n int) {
	switch {
	case r.Messages != nil:
		for _, m := range r.Messages.Messages {
			n += bytesOf(m)
		}
	case r.Inbox != nil:
		n = len(r.Inbox.Inbound.Text)
	case r.Outbox != nil:
		n = len(r.Outbox.Text)
	case r.Quarantined != nil:
		n = len(r.Quarantined.Raw)
	}
	return n
}
