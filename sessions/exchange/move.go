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

// Difference is the error for two stores that differ. Where names the place, like "the
// conversation telegram:1" or "the facts", and shows no text of a message.
type Difference struct{ Where string }

func (d *Difference) Error() string { return "exchange: compare: the copy differs in: " + d.Where }

// Source is a store, or records that look like one. See engine.Store.Dump.
type Source interface {
	Dump(ctx context.Context, keys []channels.Key, emit func(sessions.Record) error) error
}

// Target is a store that records are copied into. See engine.Store.Restore.
type Target interface {
	Source
	Restore(ctx context.Context, next func() (sessions.Record, error)) (sessions.Restored, error)
}

// Move copies everything in from to the empty store to, reads the copy again and
// compares both. It returns the counts of from. Errors: *Difference if the copy is not
// equal.
//
// Nothing else may use either store meanwhile. Move only reads from. It fills to in many
// steps and leaves an incomplete copy if it fails. The largest conversation has to fit
// into memory, not the store.
//
// If report is not nil, Move calls it often.
func Move(ctx context.Context, from Source, to Target, report func(Progress)) (all Counts, err error) {
	if report == nil {
		report = func(Progress) {}
	}
	source, copied := digest{}, digest{}
	var done, read Counts
	// The first pass counts everything and copies the records of no conversation,
	// because a message may name the occurrence that fired it. The second copies the
	// conversations.
	for _, conversations := range []bool{false, true} {
		err := inBatches(func(emit Emit) error {
			return from.Dump(ctx, nil, func(r sessions.Record) error {
				if !conversations {
					all.add(r)
					report(Progress{Counting, all.Messages, 0})
				}
				if (keyOf(r) != nil) != conversations {
					return nil
				}
				source.add(r)
				done.add(r)
				if conversations {
					report(Progress{Copying, done.Messages, all.Messages})
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
		report(Progress{Comparing, min(read.Messages, all.Messages), all.Messages})
		return nil
	})
	if err != nil {
		return all, fmt.Errorf("exchange: compare: %w", err)
	}
	return all, source.compare(copied)
}

// digest has a hash of each conversation, and of each kind of record that belongs to
// none, in the order of a Dump. The keys are those of [Difference].
type digest map[string][sha256.Size]byte

// add adds r. It ignores how the store cuts messages into records.
func (d digest) add(r sessions.Record) {
	if r.Messages == nil {
		d.hash(groupOf(r), r)
		return
	}
	for _, m := range r.Messages.Messages {
		d.hash(groupOf(r), m)
	}
}

func (d digest) hash(group string, v any) {
	raw, err := json.Marshal(v)
	if err != nil {
		raw = []byte(err.Error()) // the same for both stores
	}
	before := d[group]
	d[group] = sha256.Sum256(append(before[:], raw...))
}

// compare returns the first Difference between d and copied.
func (d digest) compare(copied digest) error {
	all := maps.Clone(d)
	maps.Copy(all, copied)
	for _, group := range slices.Sorted(maps.Keys(all)) {
		one, ok := d[group]
		if two, too := copied[group]; !ok || !too || one != two {
			return &Difference{group}
		}
	}
	return nil
}

// groupOf names the conversation of r, or its kind.
func groupOf(r sessions.Record) string {
	if k := keyOf(r); k != nil {
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
	case r.Note != nil:
		return "the notes of the kind " + r.Note.Kind
	case r.Count != nil:
		return "the counts of the kind " + r.Count.Kind
	}
	return "the store's own record"
}

// keyOf returns the key in r, or nil if r belongs to no conversation.
func keyOf(r sessions.Record) *channels.Key {
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

// Restore restores records: see engine.Store.Restore.
type Restore = func(ctx context.Context, next func() (sessions.Record, error)) (sessions.Restored, error)

// A batch ends with the conversation in which it reaches one of these. That is enough to
// make commits cheap, and fits into memory.
const (
	batchRecords = 1000
	batchBytes   = 8 << 20
)

var errStopped = errors.New("stopped")

// iterate returns the records that read emits; its error comes last.
func iterate(read func(Emit) error) iter.Seq2[sessions.Record, error] {
	return func(yield func(sessions.Record, error) bool) {
		err := read(func(r sessions.Record) error {
			if !yield(r, nil) {
				return errStopped
			}
			return nil
		})
		if err != nil && !errors.Is(err, errStopped) {
			yield(sessions.Record{}, err)
		}
	}
}

// inBatches passes the records that read emits to store, in batches that end where a
// conversation does. store reads each batch to its end.
func inBatches(read func(Emit) error, store func(next func() (sessions.Record, error)) error) error {
	next, stop := iter.Pull2(iterate(read))
	defer stop()
	r, err, more := next()
	for more && err == nil {
		records, bytes := 0, 0
		nextInBatch := func() (sessions.Record, error) {
			if records > 0 {
				var before channels.Key
				if k := keyOf(r); k != nil {
					before = *k
				}
				r, err, more = next()
				if !more {
					return r, io.EOF
				} else if err != nil {
					return r, err
				}
				if k := keyOf(r); (k == nil || *k != before) && (records >= batchRecords || bytes >= batchBytes) {
					return sessions.Record{}, io.EOF // r begins the next batch
				}
			}
			records, bytes = records+1, bytes+sizeOf(r)
			return r, nil
		}
		if err := store(nextInBatch); err != nil {
			return err
		}
	}
	return err
}

// sizeOf is about how many bytes r has.
func sizeOf(r sessions.Record) (n int) {
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
	case r.Note != nil:
		n = len(r.Note.Data)
	}
	return n
}
