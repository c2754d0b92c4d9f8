package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"math"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

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

// keyRow is a key and its conversation as the writer knows them.
type keyRow struct {
	key     channels.Key
	id      int64
	seq     int64
	msgSeq  int64
	waiting int64              // inbox rows that wait
	conv    *rows.Conversation // nil without a transcript
}

// keysMost bounds how many keys the writer remembers from one operation to
// the next.
const keysMost = 4096

// convColumns are those of a conversation c with its key k.
const convColumns = `k.key, k.id, k.seq, k.msg_seq, c.generation, c.from_seq, c.covers, c.title, c.created, c.updated, c.messages,
	c.input, c.output, c.cached, c.cost, c.settings, c.erasures`

// headQuery reads a key and its conversation, if it has one.
const headQuery = `SELECT k.key, k.id, k.seq, k.msg_seq, coalesce(c.generation, ''), coalesce(c.from_seq, 0), coalesce(c.covers, 0),
	coalesce(c.title, ''), coalesce(c.created, 0), coalesce(c.updated, 0), coalesce(c.messages, 0), coalesce(c.input, 0), coalesce(c.output, 0),
	coalesce(c.cached, 0), coalesce(c.cost, 0.0), coalesce(c.settings, ''), coalesce(c.erasures, 0), c.key_id IS NOT NULL FROM keys k LEFT JOIN conversations c ON c.key_id = k.id`

// scanKey reads convColumns, and with has what headQuery has more.
func scanKey(row scanner, has *bool) (*keyRow, error) {
	r, c := &keyRow{}, &rows.Conversation{}
	var name, settings string
	var created, updated int64
	dest := []any{
		&name, &r.id, &r.seq, &r.msgSeq, &c.Generation, &c.From, &c.Covers, &c.Title, &created, &updated, &c.Messages,
		&c.Usage.Input, &c.Usage.Output, &c.Usage.Cached, &c.Usage.Cost, &settings, &c.Erasures,
	}
	if has != nil {
		dest = append(dest, has)
	}
	if err := row.Scan(dest...); err != nil {
		return nil, err
	}
	if err := parseKey(&r.key, name); err != nil {
		return nil, err
	}
	if has != nil && !*has {
		return r, nil
	}
	c.Created, c.Updated = timeOf(created), timeOf(updated)
	r.conv = c
	if settings == "" {
		return r, nil
	}
	return r, decode([]byte(settings), &c.Settings)
}

func (r *keyRow) head() rows.Head {
	return rows.Head{Key: r.key, Seq: r.seq, MessageSeq: r.msgSeq, Waiting: int(r.waiting), Conversation: r.conv}
}

// find reads the row of k. Errors: sql.ErrNoRows.
func (t *tx) find(k channels.Key) (*keyRow, error) {
	if r := t.keys[k]; r != nil {
		return r, nil
	}
	var has bool
	r, err := scanKey(t.row(context.Background(), headQuery+` WHERE k.key = ?`, k.String()), &has)
	if err == nil {
		err = t.row(context.Background(), `SELECT count(*) FROM inbox WHERE state = 'waiting' AND id BETWEEN ? AND ?`, rowID(r.id, 0), rowID(r.id, maxSeq)).Scan(&r.waiting)
	}
	if err != nil {
		return nil, err
	}
	t.keys[k] = r
	return r, nil
}

// key finds the row of k, making it if there is none.
func (t *tx) key(k channels.Key) (*keyRow, error) {
	r, err := t.find(k)
	if errors.Is(err, sql.ErrNoRows) {
		r, t.wrote = &keyRow{key: k}, true
		err = t.row(context.Background(), `INSERT INTO keys (id, key) VALUES (1 + max(coalesce((SELECT max(id) FROM keys), 0), (SELECT last_key FROM meta)), ?) RETURNING id`, k.String()).Scan(&r.id)
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

// save writes what changed of a key, and of its conversation if it has one.
func (t *tx) save(before, r *keyRow) error {
	if before.seq != r.seq || before.msgSeq != r.msgSeq {
		if err := t.exec(`UPDATE keys SET seq = ?, msg_seq = ? WHERE id = ?`, r.seq, r.msgSeq, r.id); err != nil {
			return err
		}
	}
	c, was := r.conv, before.conv
	if c == nil {
		return nil
	}
	settings := settingsColumn(c.Settings)
	if was != nil {
		old, now := *was, *c
		same := settingsColumn(old.Settings) == settings && old.Created.Equal(now.Created) && old.Updated.Equal(now.Updated)
		if same && old.Generation == now.Generation && old.From == now.From && old.Covers == now.Covers && old.Title == now.Title &&
			old.Messages == now.Messages && old.Usage == now.Usage && old.Erasures == now.Erasures && r.id == before.id {
			return nil
		}
	}
	return t.exec(`INSERT INTO conversations (key_id, generation, from_seq, covers, title, created, updated, messages, input, output, cached, cost, settings, erasures)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (key_id) DO UPDATE SET generation = excluded.generation, from_seq = excluded.from_seq, covers = excluded.covers,
		title = excluded.title, created = excluded.created, updated = excluded.updated, messages = excluded.messages,
		input = excluded.input, output = excluded.output, cached = excluded.cached, cost = excluded.cost, settings = excluded.settings,
		erasures = excluded.erasures`,
		r.id, c.Generation, c.From, c.Covers, c.Title, nanos(c.Created), nanos(c.Updated), c.Messages,
		c.Usage.Input, c.Usage.Output, c.Usage.Cached, c.Usage.Cost, settings, c.Erasures)
}

func settingsColumn(s sessions.Settings) string {
	if rules.IsZeroSettings(s) {
		return ""
	}
	return string(encode(s))
}

// maxSeq is above every seq that a key can reach.
const maxSeq = 1<<32 - 1

// span are the ids of the rows of a key.
func span(key int64) (from, to int64) { return rowID(key, 0), rowID(key, maxSeq) }
