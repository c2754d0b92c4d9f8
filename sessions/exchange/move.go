package exchange

import (
	"context"
	"errors"
	"fmt"
	"io"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rules"
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

// How much a Move stores in one step, as soon as a conversation ends: enough
// that the commits cost little, and little enough to hold in memory.
const (
	batchRecords = 1000
	batchBytes   = 8 << 20
)

// Move copies all that from holds to the empty store to, and then compares
// them, record by record and message by message. It returns what there is; an
// error that is a [*Difference] says that the copy is not the same.
//
// Neither store may be used by anybody else meanwhile. From is only read. To is
// filled in many steps: a move that ends early leaves a part of it, which is
// of no use. The largest conversation has to fit into memory, not the store.
//
// Tell, if not nil, is called often.
func Move(ctx context.Context, from, to sessions.Copies, tell func(Progress)) (Counts, error) {
	if tell == nil {
		tell = func(Progress) {}
	}
	from = dated{from}
	m := &mover{ctx: ctx, from: from, to: to, tell: tell}
	for _, step := range []func() error{m.others, m.conversations} {
		if err := step(); err != nil {
			return m.counts, fmt.Errorf("exchange: move: %w", err)
		}
	}
	err := Compare(ctx, from, to, func(done int) { tell(Progress{Comparing, done, m.counts.Messages}) })
	return m.counts, err
}

// dated is a store whose records have times that every store keeps: an older
// version wrote others.
type dated struct{ sessions.Copies }

func (d dated) Dump(ctx context.Context, keys []channels.Key, emit func(sessions.Record) error) error {
	return d.Copies.Dump(ctx, keys, func(r sessions.Record) error {
		r, _ = rules.Times(r)
		return emit(r)
	})
}

// mover is one Move.
type mover struct {
	ctx      context.Context
	from, to sessions.Copies
	tell     func(Progress)

	counts Counts
	batch  []sessions.Record
	bytes  int // of the batch, about
	copied int // messages
}

// others counts everything and copies what belongs to no conversation. It goes
// first because a message may name the occurrence that fired it.
func (m *mover) others() error {
	err := m.from.Dump(m.ctx, nil, func(r sessions.Record) error {
		m.counts.add(r)
		m.tell(Progress{Counting, m.counts.Messages, 0})
		if _, belongs := KeyOf(r); belongs {
			return nil
		}
		if len(m.batch) >= batchRecords {
			if err := m.flush(); err != nil {
				return err
			}
		}
		m.put(r)
		return nil
	})
	if err != nil {
		return err
	}
	return m.flush()
}

// conversations copies them, each as a whole.
func (m *mover) conversations() error {
	err := m.from.Dump(m.ctx, nil, func(r sessions.Record) error {
		if _, belongs := KeyOf(r); !belongs {
			return nil
		}
		// A conversation's record is the first of its records.
		if r.Conversation != nil && (len(m.batch) >= batchRecords || m.bytes >= batchBytes) {
			if err := m.flush(); err != nil {
				return err
			}
		}
		m.put(r)
		return nil
	})
	if err != nil {
		return err
	}
	return m.flush()
}

func (m *mover) put(r sessions.Record) {
	m.batch = append(m.batch, r)
	m.bytes += size(r)
}

// flush stores the batch.
func (m *mover) flush() error {
	if len(m.batch) == 0 {
		return nil
	}
	for _, r := range m.batch {
		if r.Messages != nil {
			m.copied += len(r.Messages.Messages)
		}
	}
	rest := m.batch
	err := m.to.Restore(m.ctx, func() (sessions.Record, error) {
		if len(rest) == 0 {
			return sessions.Record{}, io.EOF
		}
		next := rest[0]
		rest[0], rest = sessions.Record{}, rest[1:] // the store holds it from here on
		return next, nil
	})
	m.batch, m.bytes = nil, 0
	if errors.Is(err, sessions.ErrConflict) {
		return fmt.Errorf("the target was not empty: %w", err)
	}
	if err == nil {
		m.tell(Progress{Copying, m.copied, m.counts.Messages})
	}
	return err
}
