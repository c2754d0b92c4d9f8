package exchange

import (
	"context"
	"io"
	"iter"

	"dragoman/sessions"
)

// Take hands the chosen records to take, in parts. Like [sessions.Copies.Restore],
// take stores a part whole or not at all. Records of no conversation come first,
// because a message may name the job that it came from, then a few whole
// conversations at a time, to bound memory and the time for which other writers wait.
// Take counts the new records, also when it returns an error: these are stored, and a
// second import continues after them.
func (p *Plan) Take(ctx context.Context, take func(context.Context, func() (sessions.Record, error)) (sessions.Restored, error)) (all sessions.Restored, err error) {
	part := func(next func() (sessions.Record, error)) error {
		got, err := take(ctx, next)
		if err == nil {
			all.Conversations += got.Conversations
			all.Others += got.Others
		}
		return err
	}
	if p.Others > 0 {
		err = inParts(only(false, p.records(ctx)), part)
	}
	if err == nil {
		err = inParts(only(true, p.records(ctx)), part)
	}
	return all, err
}

// How much is stored in one step, as soon as a conversation ends: enough that
// the commits cost little, and little enough to hold in memory.
const (
	batchRecords = 1000
	batchBytes   = 8 << 20
)

// records are those of a file or of a store; an error is the last.
type records = iter.Seq2[sessions.Record, error]

// inParts hands all to store in parts that end where a conversation does. Store
// reads each part to its end.
func inParts(all records, store func(func() (sessions.Record, error)) error) error {
	next, stop := iter.Pull2(all)
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

// only leaves out the records that belong to conversations, or the others.
func only(belongs bool, all records) records {
	return func(yield func(sessions.Record, error) bool) {
		for r, err := range all {
			if _, has := KeyOf(r); (err != nil || has == belongs) && !yield(r, err) {
				return
			}
		}
	}
}

// size is how many bytes r is, about.
func size(r sessions.Record) (n int) {
	switch {
	case r.Messages != nil:
		for _, said := range r.Messages.Messages {
			n += len(said.Content) + 100
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
