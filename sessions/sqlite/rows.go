package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/dispatch"
	"dragoman/sessions/rules"
)

// instant is the time of an operation.
type instant = time.Time

// epoch is how the first moment of 1970 stands in columns, where 0 means no
// time: no time that stores keep has this number.
const epoch = math.MinInt64

// nanos is how times stand in columns.
func nanos(t time.Time) int64 {
	t = rules.Time(t)
	if t.IsZero() {
		return 0
	}
	return cmp.Or(t.UnixNano(), epoch)
}

// latest is the later of two times of which 0 is none. A clock that was set
// back takes no conversation back: retention goes by its last update.
func latest(a, b int64) int64 {
	if a == 0 || b == 0 {
		return cmp.Or(a, b)
	}
	return max(a, b)
}

func timeOf(n int64) time.Time {
	switch n {
	case 0:
		return time.Time{}
	case epoch:
		n = 0
	}
	return time.Unix(0, n).UTC()
}

// rowID puts a key's id and a seq into one number, see schema.
func rowID(key, seq int64) int64 { return key<<32 | seq }

func seqOf(id int64) int64 { return id & math.MaxUint32 }

func parseKey(k *channels.Key, s string) error {
	parsed, err := channels.ParseKey(s)
	if err != nil {
		return damaged("a conversation has no valid name (%v)", err)
	}
	*k = parsed
	return nil
}

// keyRow is a key and its conversation as the writer knows them. Columns that
// an operation changes are written at its end.
type keyRow struct {
	key      channels.Key
	id       int64
	seq      int64
	msgSeq   int64
	conv     *convRow // nil without a transcript
	inDirty  bool     // waits for save
	convNews bool     // conv was changed
}

type convRow struct {
	generation       string
	from, covers     int64
	title            string
	created, updated int64
	messages         int64
	usage            sessions.Usage
	settings         string // JSON, or ""
}

// keysMost bounds how many keys the writer remembers from one operation to
// the next.
const keysMost = 4096

// key finds the row of k, making it if there is none.
func (t *tx) key(k channels.Key) (*keyRow, error) {
	if r := t.keys[k]; r != nil {
		return r, nil
	}
	r, err := t.find(k)
	if errors.Is(err, sql.ErrNoRows) {
		r = &keyRow{key: k}
		err = t.row(`INSERT INTO keys (id, key) VALUES (1 + max(coalesce((SELECT max(id) FROM keys), 0), (SELECT last_key FROM meta)), ?) RETURNING id`, k.String()).Scan(&r.id)
	}
	if err != nil {
		return nil, err
	}
	if r.id >= 1<<31 {
		return nil, errors.New("too many conversations")
	}
	t.keys[k] = r
	return r, nil
}

// find reads the row of k. Errors: sql.ErrNoRows.
func (t *tx) find(k channels.Key) (*keyRow, error) {
	if r := t.keys[k]; r != nil {
		return r, nil
	}
	r := &keyRow{key: k}
	var c convRow
	var has bool
	err := t.row(`SELECT k.id, k.seq, k.msg_seq, c.key_id IS NOT NULL, coalesce(c.generation, ''), coalesce(c.from_seq, 0), coalesce(c.covers, 0),
		coalesce(c.title, ''), coalesce(c.created, 0), coalesce(c.updated, 0), coalesce(c.messages, 0),
		coalesce(c.input, 0), coalesce(c.output, 0), coalesce(c.cached, 0), coalesce(c.cost, 0.0), coalesce(c.settings, '')
		FROM keys k LEFT JOIN conversations c ON c.key_id = k.id WHERE k.key = ?`, k.String()).
		Scan(&r.id, &r.seq, &r.msgSeq, &has, &c.generation, &c.from, &c.covers, &c.title, &c.created, &c.updated, &c.messages,
			&c.usage.Input, &c.usage.Output, &c.usage.Cached, &c.usage.Cost, &c.settings)
	if err != nil {
		return nil, err
	}
	if has {
		r.conv = &c
	}
	return r, nil
}

// conversation finds k with its transcript. Errors: ErrNotFound.
func (t *tx) conversation(k channels.Key) (*keyRow, error) {
	r, err := t.find(k)
	if errors.Is(err, sql.ErrNoRows) || err == nil && r.conv == nil {
		return nil, fmt.Errorf("%w: conversation %s", sessions.ErrNotFound, k)
	}
	return r, err
}

// touch has save write r.
func (t *tx) touch(r *keyRow, conv bool) {
	r.convNews = r.convNews || conv
	if !r.inDirty {
		r.inDirty = true
		t.dirty = append(t.dirty, r)
	}
}

// save writes the keys and conversations that an operation has changed.
func (t *tx) save() error {
	for _, r := range t.dirty {
		if err := t.exec(`UPDATE keys SET seq = ?, msg_seq = ? WHERE id = ?`, r.seq, r.msgSeq, r.id); err != nil {
			return err
		}
		if c := r.conv; r.convNews && c != nil {
			err := t.exec(`INSERT INTO conversations (key_id, generation, from_seq, covers, title, created, updated, messages, input, output, cached, cost, settings)
				VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
				ON CONFLICT (key_id) DO UPDATE SET generation = excluded.generation, from_seq = excluded.from_seq, covers = excluded.covers,
				title = excluded.title, updated = excluded.updated, messages = excluded.messages,
				input = excluded.input, output = excluded.output, cached = excluded.cached, cost = excluded.cost, settings = excluded.settings`,
				r.id, c.generation, c.from, c.covers, c.title, c.created, c.updated, c.messages,
				c.usage.Input, c.usage.Output, c.usage.Cached, c.usage.Cost, c.settings)
			if err != nil {
				return err
			}
		}
		r.inDirty, r.convNews = false, false
	}
	t.dirty = t.dirty[:0]
	return nil
}

// check refuses claims that are over, those included that an earlier
// operation of the same batch has fenced.
func (t *tx) check(c sessions.Claim) error {
	for _, k := range t.fenced {
		if k == c.Key {
			return sessions.ErrFenced
		}
	}
	return t.store.work.Check(c)
}

// claimed is update under a claim.
func (s *Store) claimed(ctx context.Context, what string, c sessions.Claim, f func(*tx, *keyRow) error) error {
	return s.update(ctx, what, func(t *tx) error {
		if err := t.check(c); err != nil {
			return err
		}
		r, err := t.key(c.Key)
		if err != nil {
			return err
		}
		return f(t, r)
	})
}

// waiting counts the messages of k without an answer, with what the batch has
// added so far.
func (t *tx) waiting(k channels.Key) int {
	n := t.store.work.Waiting(k)
	for _, c := range t.counts {
		if c.key == k {
			n += c.n
		}
	}
	return n
}

// item is what the dispatcher has to know of an inbox row.
func (t *tx) item(r *keyRow, w inRow) dispatch.Item {
	lane := dispatch.Chat
	if w.origin == sessions.OriginHeartbeat {
		lane = dispatch.Heartbeat
	}
	return dispatch.Item{
		Key: r.key, Seq: w.seq, Lane: lane, Due: w.due, Turn: w.turn, Since: w.accepted,
		Row: rowID(r.id, w.seq), Gone: w.state != rules.InWaiting,
	}
}

// inboxItem notes what became of an inbox row for the dispatcher.
func (t *tx) inboxItem(r *keyRow, w inRow) { t.items = append(t.items, t.item(r, w)) }

// row and rows read with one of the reading connections. Reads are short and
// bounded; ctx is looked at before, not during one.
func (s *Store) row(ctx context.Context, query string, args ...any) scanner {
	if err := s.readable(ctx); err != nil {
		return failed{err}
	}
	stmt, err := s.reads.get(query)
	if err != nil {
		return failed{err}
	}
	return stmt.QueryRowContext(context.WithoutCancel(ctx), args...)
}

func (s *Store) rows(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if err := s.readable(ctx); err != nil {
		return nil, err
	}
	stmt, err := s.reads.get(query)
	if err != nil {
		return nil, err
	}
	return stmt.QueryContext(context.WithoutCancel(ctx), args...)
}

func (s *Store) readable(ctx context.Context) error {
	select {
	case <-s.closing:
		return errClosed
	default:
		return ctx.Err()
	}
}

// messageRest is what of a message is not a column of its own.
type messageRest struct {
	Name        string                     `json:"name,omitempty"`
	Sender      string                     `json:"sender,omitempty"`
	ToolCalls   []sessions.ToolCall        `json:"tool_calls,omitempty"`
	ToolCallID  string                     `json:"tool_call_id,omitempty"`
	At          time.Time                  `json:"at,omitzero"`
	Turn        string                     `json:"turn,omitempty"`
	Model       string                     `json:"model,omitempty"`
	Usage       *sessions.Usage            `json:"usage,omitempty"`
	Synthetic   bool                       `json:"synthetic,omitempty"`
	Summary     bool                       `json:"summary,omitempty"`
	Failed      bool                       `json:"failed,omitempty"`
	Attachments []channels.Attachment      `json:"attachments,omitempty"`
	Attached    *sessions.Attached         `json:"attached,omitempty"`
	Extra       map[string]json.RawMessage `json:"extra,omitempty"`
}

// inboundRest is what of an inbound message is not a column of its own.
type inboundRest struct {
	Sender      channels.Person       `json:"sender"`
	Prefix      string                `json:"prefix,omitempty"`
	Private     bool                  `json:"private,omitempty"`
	Addressed   bool                  `json:"addressed,omitempty"`
	Edits       string                `json:"edits,omitempty"`
	Deletes     channels.Deletion     `json:"deletes,omitempty"`
	Quote       *channels.Quote       `json:"quote,omitempty"`
	Forwarded   *channels.Forward     `json:"forwarded,omitempty"`
	Attachments []channels.Attachment `json:"attachments,omitempty"`
	At          time.Time             `json:"at,omitzero"`
}

// encode writes v for a rest column. Our own types do not fail to encode;
// cleaning has taken care of the times.
func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("sqlite: encode %T: %v", v, err))
	}
	return b
}

func decode(b []byte, v any) error {
	if err := json.Unmarshal(b, v); err != nil {
		return damaged("a row cannot be read (%v)", err)
	}
	return nil
}
