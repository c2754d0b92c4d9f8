package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"math"
	"reflect"
	"strings"
	"time"

	"dragoman/channels"
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

// convColumns are those of a conversation.
const convColumns = `generation, from_seq, covers, title, created, updated, messages, input, output, cached, cost, settings, erasures`

func convFields(c *rows.Conversation) []any {
	return []any{
		&c.Generation, &c.From, &c.Covers, &c.Title, at(&c.Created), at(&c.Updated), &c.Messages,
		&c.Usage.Input, &c.Usage.Output, &c.Usage.Cached, &c.Usage.Cost, settings(&c.Settings), &c.Erasures,
	}
}

// headColumns are a key k and its conversation c, if it has one. headQuery reads
// those of all keys, talkQuery those with a conversation.
var (
	headColumns = `SELECT k.key, k.id, k.seq, k.msg_seq, c.key_id IS NOT NULL, coalesce(c.` +
		strings.Join(split(convColumns), `, 0), coalesce(c.`) + `, 0)`
	headQuery = headColumns + ` FROM keys k LEFT JOIN conversations c ON c.key_id = k.id`
	talkQuery = headColumns + ` FROM conversations c JOIN keys k ON k.id = c.key_id`
	saveQuery = upsert("conversations", "key_id, "+convColumns, "key_id", convColumns)
)

// scanKey reads headColumns.
func scanKey(row scanner) (*keyRow, error) {
	r, c, has := &keyRow{}, &rows.Conversation{}, false
	err := row.Scan(append([]any{named(&r.key), &r.id, &r.seq, &r.msgSeq, &has}, convFields(c)...)...)
	if has {
		r.conv = c
	}
	return r, err
}

func (r *keyRow) head() rows.Head {
	return rows.Head{Key: r.key, Seq: r.seq, MessageSeq: r.msgSeq, Waiting: int(r.waiting), Conversation: r.conv}
}

// find reads the row of k. Errors: sql.ErrNoRows.
func (t *tx) find(k channels.Key) (*keyRow, error) {
	if r := t.keys[k]; r != nil {
		return r, nil
	}
	if r, ok := t.store.recent.head(k); ok && !t.touched[k] {
		t.keys[k] = &r
		return &r, nil
	}
	r, err := scanKey(t.row(context.Background(), headQuery+` WHERE k.key = ?`, k.String()))
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
func (t *tx) key(k channels.Key) *keyRow {
	r, err := t.find(k)
	if errors.Is(err, sql.ErrNoRows) {
		r, t.wrote, err = &keyRow{key: k}, true, nil
		t.scan([]any{&r.id}, `INSERT INTO keys (id, key) VALUES (1 + max(coalesce((SELECT max(id) FROM keys), 0), (SELECT last_key FROM meta)), ?) RETURNING id`, k.String())
	}
	if err == nil && r.id >= 1<<31 {
		err = errors.New("too many conversations")
	}
	if err != nil {
		t.fail(err)
		return &keyRow{key: k}
	}
	t.keys[k], t.touched[k] = r, true
	return r
}

// save writes what changed of a key, and of its conversation if it has one.
func (t *tx) save(before, r *keyRow) {
	if before.seq != r.seq || before.msgSeq != r.msgSeq {
		t.run(`UPDATE keys SET seq = ?, msg_seq = ? WHERE id = ?`, r.seq, r.msgSeq, r.id)
	}
	if r.conv != nil && !reflect.DeepEqual(before.conv, r.conv) {
		t.run(saveQuery, append([]any{r.id}, convFields(r.conv)...)...)
	}
}

// maxSeq is above every seq that a key can reach.
const maxSeq = 1<<32 - 1

// span are the ids of the rows of a key.
func span(key int64) (from, to int64) { return rowID(key, 0), rowID(key, maxSeq) }
