package exchange

import (
	"context"
	"errors"
	"io"
	"iter"

	"dragoman/sessions"
)

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
