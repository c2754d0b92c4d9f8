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

// epoch is the column value of the first moment of 1970, because 0 means no time. No
// other time that stores keep has this value.
const epoch = math.MinInt64

// nanos is the column value of a time.
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

// maxSeq is above every seq that a key can reach.
const maxSeq = 1<<32 - 1

// rowID puts a key's id and a seq into one number, see schema.sql.
func rowID(key, seq int64) int64 { return key<<32 | min(seq, maxSeq) }

func seqOf(id int64) int64 { return id & maxSeq }

// span is the first and the last row id that a key can have.
func span(key int64) (from, to int64) { return rowID(key, 0), rowID(key, maxSeq) }

// keyRow is the head of a key, and the id of its row.
type keyRow struct {
	rows.Head
	id int64
}

const convColumns = `generation, from_seq, covers, title, created, updated, messages, input, output, cached, cost, settings, erasures, owners`

func convFields(c *rows.Conversation) []any {
	return []any{
		&c.Generation, &c.From, &c.Covers, &c.Title, asTime(&c.Created), asTime(&c.Updated), &c.Messages,
		&c.Usage.Input, &c.Usage.Output, &c.Usage.Cached, &c.Usage.Cost, asSettings(&c.Settings), &c.Erasures, asOwners(&c.Owners),
	}
}

// headColumns are those of a key k and its conversation c, which may be missing.
// allHeads reads all keys, talkHeads those with a conversation.
var (
	headColumns = `SELECT k.key, k.id, k.seq, k.msg_seq, c.key_id IS NOT NULL, coalesce(c.` +
		strings.Join(split(convColumns), `, 0), coalesce(c.`) + `, 0)`
	allHeads  = headColumns + ` FROM keys k LEFT JOIN conversations c ON c.key_id = k.id`
	talkHeads = headColumns + ` FROM conversations c JOIN keys k ON k.id = c.key_id`
	saveConv  = upsert("conversations", "key_id, "+convColumns, "key_id", convColumns)
)

// scanKey scans headColumns.
func scanKey(row scanner) (*keyRow, error) {
	r := &keyRow{}
	c := &rows.Conversation{}
	has := false
	err := row.Scan(append([]any{asKey(&r.Key), &r.id, &r.Seq, &r.MessageSeq, &has}, convFields(c)...)...)
	if has {
		r.Conversation = c
	}
	return r, err
}

// find returns the row of k. Errors: sql.ErrNoRows.
func (t *tx) find(k channels.Key) (*keyRow, error) {
	if r := t.keys[k]; r != nil {
		return r, nil
	}
	if r, ok := t.b.cache.head(k); ok && !t.touched[k] {
		t.keys[k] = &r
		return &r, nil
	}
	r, err := scanKey(t.row(context.Background(), allHeads+` WHERE k.key = ?`, k.String()))
	if err == nil {
		from, to := span(r.id)
		err = t.row(context.Background(), `SELECT count(*) FROM inbox WHERE state = 'waiting' AND id BETWEEN ? AND ?`, from, to).Scan(&r.Waiting)
	}
	if err != nil {
		return nil, err
	}
	t.keys[k] = r
	return r, nil
}

// key is find for a key that the transaction changes. It inserts the row if there is
// none.
func (t *tx) key(k channels.Key) *keyRow {
	r, err := t.find(k)
	if errors.Is(err, sql.ErrNoRows) {
		r = &keyRow{Head: rows.Head{Key: k}}
		t.wrote = true
		err = nil
		t.scan([]any{&r.id}, `INSERT INTO keys (id, key) VALUES (1 + max(coalesce((SELECT max(id) FROM keys), 0), (SELECT last_key FROM meta)), ?) RETURNING id`, k.String())
	}
	if err == nil && r.id >= 1<<31 {
		err = errors.New("too many conversations")
	}
	if err != nil {
		t.fail(err)
		return &keyRow{Head: rows.Head{Key: k}}
	}
	t.keys[k], t.touched[k] = r, true
	return r
}

// save writes the head of a key where it changed.
func (t *tx) save(before, r *keyRow) {
	if before.Seq != r.Seq || before.MessageSeq != r.MessageSeq {
		t.run(`UPDATE keys SET seq = ?, msg_seq = ? WHERE id = ?`, r.Seq, r.MessageSeq, r.id)
	}
	if r.Conversation != nil && !reflect.DeepEqual(before.Conversation, r.Conversation) {
		t.run(saveConv, append([]any{r.id}, convFields(r.Conversation)...)...)
	}
}
