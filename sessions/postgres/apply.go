package postgres

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"dragoman/sessions"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

// apply queues changes.
func (t *tx) apply(ctx context.Context, c rows.Changes) error {
	if err := t.checkNumber(&c); err != nil {
		return err
	}
	if err := t.lockAll(ctx, c); err != nil {
		return err
	}
	for _, k := range c.Fenced {
		if r := t.keys[k]; r.known {
			t.notifyHolder(r, note{Kind: isFence, Key: k, Epoch: r.live})
			t.queue(`UPDATE keys SET live = 0, rest = 0, failures = 0 WHERE id = $1`, r.id)
			r.rest = 0
		}
	}
	for _, ch := range c.Chats {
		if err := t.chat(ctx, ch); err != nil {
			return err
		}
	}
	for _, ch := range c.Chats { // after all moves: a head's due time depends on its rows
		if !ch.Gone {
			if !slices.Contains(c.Fenced, ch.Key) {
				t.notifyHolder(t.keys[ch.Key], changeOf(ch.Key))
			}
			t.save(ch)
		}
	}
	if err := t.lockNotesOf(ctx, c.Removed, c.Records); err != nil {
		return err
	}
	t.putRecords(&c)
	var placeholders []int64 // rows that were inserted only to lock a key
	for _, r := range t.keys {
		if !r.known {
			placeholders = append(placeholders, r.id)
		}
	}
	if len(placeholders) > 0 {
		t.queue(`DELETE FROM keys WHERE id = ANY($1) AND NOT known`, placeholders)
	}
	return nil
}

// notifyHolder sends n to the node that has claimed a key, if that is another one.
func (t *tx) notifyHolder(r *keyRow, n note) {
	n.From = t.b.id
	if r.live != 0 && r.node != n.From {
		data := n.Data
		n.Data = nil
		l := t.b.lettersTo(r.node, n, data)
		t.queue(notifyQuery, l.channels, l.payloads)
	}
}

// lockAll locks, in order, the keys that c changes and its step did not read.
func (t *tx) lockAll(ctx context.Context, c rows.Changes) error {
	list := slices.Clone(c.Fenced)
	for _, ch := range c.Chats {
		list = append(list, ch.Key)
		for _, m := range ch.Moves {
			list = append(list, m.From)
		}
	}
	slices.SortFunc(list, compareKeys)
	for _, k := range slices.Compact(list) {
		if _, err := t.lockKey(ctx, k); err != nil {
			return err
		}
	}
	return nil
}

// queue adds a statement to the batch.
func (t *tx) queue(query string, args ...any) *pgx.QueuedQuery { return t.batch.Queue(query, args...) }

// flush sends the batch.
func (t *tx) flush(ctx context.Context) error {
	if t.cache != nil {
		return errNotCached
	}
	if t.batch.Len() == 0 {
		return nil
	}
	batch := t.batch
	t.batch = pgx.Batch{}
	return t.conn.SendBatch(ctx, &batch).Close()
}

// chat queues the changes of one key, except its head.
func (t *tx) chat(ctx context.Context, ch *rows.Chat) error {
	r := t.keys[ch.Key]
	if ch.Gone {
		t.deleteInbox(r, `key_id = $1`)
		t.deleteTranscript(r.id)
		for _, table := range []string{"outbox", "steps"} {
			t.queue(`DELETE FROM `+table+` WHERE key_id = $1`, r.id)
		}
		t.queue(`DELETE FROM keys WHERE id = $1`, r.id)
		r.gone = true
		return nil
	}
	for _, m := range ch.Moves {
		t.move(r, t.keys[m.From], m)
	}
	if ch.DropFinished {
		t.deleteInbox(r, `key_id = $1 AND state <> 'waiting'`)
		t.queue(`DELETE FROM outbox WHERE key_id = $1 AND state IN ('sent', 'dead', 'dropped')`, r.id)
	}
	if ch.Cleared {
		t.deleteTranscript(r.id)
	} else if ch.Reset {
		t.deleteGenerations(r.id)
	}
	if len(ch.Drop) > 0 {
		t.deleteInbox(r, `key_id = $1 AND seq = ANY($3)`, ch.Drop)
	}
	if len(ch.Forget) > 0 {
		t.queue(`DELETE FROM summaries WHERE key_id = $1 AND covers = ANY($2)`, r.id, ch.Forget)
	}
	for _, turn := range ch.Ended {
		t.queue(`DELETE FROM steps WHERE key_id = $1 AND turn = $2`, r.id, rules.Hash(turn))
	}
	t.putQueues(r, ch)
	return t.putTranscript(ctx, r, ch)
}

func (t *tx) deleteTranscript(key int64) {
	t.queue(`DELETE FROM messages WHERE key_id = $1`, key)
	t.deleteGenerations(key)
}

// deleteGenerations deletes the generations of a key and their summaries.
func (t *tx) deleteGenerations(key int64) {
	t.queue(`DELETE FROM summaries WHERE key_id = $1`, key)
	t.queue(`DELETE FROM generations WHERE key_id = $1`, key)
}

// deleteInbox deletes inbox rows of r and keeps their hashes: see rules.Marks.
func (t *tx) deleteInbox(r *keyRow, where string, args ...any) {
	t.queue(`WITH gone AS (DELETE FROM inbox WHERE `+where+` RETURNING dedupe, about)
		INSERT INTO marks (hash) SELECT dedupe FROM gone
		UNION SELECT encode(sha256('\x00'::bytea || $2::bytea || '\x00'::bytea || about), 'hex') FROM gone WHERE about <> '' ON CONFLICT DO NOTHING`,
		append([]any{r.id, []byte(r.head.Key.String())}, args...)...)
}

// move gives the rows of another key to r, or renumbers those of r.
func (t *tx) move(r, from *keyRow, m rows.Move) {
	if from != r {
		t.deleteGenerations(from.id)
		t.queue(`DELETE FROM steps WHERE key_id = $2 AND turn IN (SELECT turn FROM steps WHERE key_id = $1)`, from.id, r.id)
		t.queue(`UPDATE steps SET key_id = $2 WHERE key_id = $1`, from.id, r.id)
	}
	for table, by := range map[string]int64{"inbox": m.Queues, "outbox": m.Queues, "messages": m.Message} {
		t.queue(`UPDATE `+table+` SET key_id = $2, seq = seq + $3 WHERE key_id = $1`, from.id, r.id, by)
	}
}

func (t *tx) putQueues(r *keyRow, ch *rows.Chat) {
	for _, p := range ch.In {
		if !p.Fresh {
			t.queue(`UPDATE inbox SET state = $3, due = $4, data = $5 WHERE key_id = $1 AND seq = $2`, r.id, p.Seq, p.State, nanos(p.Due), encode(inData{In: &p.In}))
			continue
		}
		m := p.Inbound
		m.Key, m.Reaction = ch.Key, "" // as in all stores
		m = t.b.inFormerWords(m)
		about := cmp.Or(m.Edits, m.MessageID) // by which it is recognised when it is erased: see rules.ErasedMark
		messageID := ""
		if m.MessageID != "" {
			messageID = rules.Hash(m.MessageID)
		}
		t.queue(`INSERT INTO inbox (key_id, seq, state, beat, due, accepted, dedupe, message_id, about, data, inbound) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
			ON CONFLICT (key_id, seq) DO UPDATE SET state = excluded.state, due = excluded.due, data = excluded.data, inbound = excluded.inbound`,
			r.id, p.Seq, p.State, p.Source == sessions.SourceHeartbeat, nanos(p.Due), nanos(p.Accepted),
			rules.Hash(rules.Dedupe(m)), messageID, []byte(about), encode(inData{In: &p.In}), encode(m))
	}
	for _, o := range ch.Out {
		rec := o.OutboxRecord
		rec.Key = ch.Key
		if rec.ID == "" {
			rec.ID = fmt.Sprintf("%s-%d-%d", t.b.prefix, r.id, o.Seq)
		}
		o.OutboxRecord = rec
		data := outData{OutboxRecord: t.b.withoutLabel(rec)}
		if rec.State == sessions.DeliverySending {
			data.Node = t.b.id
		}
		if !o.Fresh {
			t.queue(`UPDATE outbox SET state = $3, due = $4, uncertain = $5, data = $6 WHERE key_id = $1 AND seq = $2`, r.id, o.Seq, string(o.State), nanos(o.NotBefore), o.Uncertain, encode(data))
			continue
		}
		t.queue(`INSERT INTO outbox (key_id, seq, state, due, created, uncertain, id, data, label) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
			r.id, o.Seq, string(o.State), nanos(o.NotBefore), nanos(o.Created), o.Uncertain, rules.Hash(rec.ID), encode(data), encode(rec.Label))
	}
	for _, s := range ch.Steps {
		t.queue(`INSERT INTO steps (key_id, turn, data) VALUES ($1, $2, $3)`, r.id, rules.Hash(s.Turn), encode(s.Step))
	}
}

func (t *tx) putTranscript(ctx context.Context, r *keyRow, ch *rows.Chat) error {
	for list, err := range ch.Added() {
		if err == nil {
			err = t.putMessages(ctx, r, list, `INSERT INTO messages (key_id, seq, role, at, words, data, content) VALUES ($1, $2, $3, $4, array_to_tsvector($5::text[]), $6, $7)`)
		}
		if err != nil {
			return err
		}
	}
	err := t.putMessages(ctx, r, ch.Rewritten, `UPDATE messages SET role = $3, at = $4, words = array_to_tsvector($5::text[]), data = $6, content = $7 WHERE key_id = $1 AND seq = $2`)
	if err != nil {
		return err
	}
	for _, g := range ch.Begun {
		g.LastSeq = 0
		t.queue(`INSERT INTO generations (key_id, first, name, data) VALUES ($1, $2, $3, $4)`, r.id, g.FirstSeq, g.ID, encode(g))
	}
	for _, s := range ch.Summaries {
		t.queue(`INSERT INTO summaries (key_id, covers, generation, data) VALUES ($1, $2, $3, $4)`, r.id, s.CoversSeq, s.Generation, encode(s))
	}
	return nil
}

// putMessages queues query for each message, and sends the batch when it is large.
func (t *tx) putMessages(ctx context.Context, r *keyRow, list []sessions.Message, query string) error {
	for _, m := range list {
		content, words := encode(m.Content), searchable(m)
		m.Content = ""
		t.queue(query, r.id, m.Seq, string(m.Role), nanos(m.At), words, encode(m), content)
		t.size += len(content)
		if t.batch.Len() >= maxBatch || t.size >= rules.PartBytes {
			t.size = 0
			if err := t.flush(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// dueQuery computes when a key has work: the first message that people sent, the
// earliest heartbeat, or the first delivery.
const dueQuery = `SELECT least(
	(SELECT i.due FROM inbox i WHERE i.key_id = k.id AND i.state = 'waiting' AND NOT i.beat ORDER BY i.seq LIMIT 1),
	(SELECT min(i.due) FROM inbox i WHERE i.key_id = k.id AND i.state = 'waiting' AND i.beat),
	(SELECT o.due FROM outbox o WHERE o.key_id = k.id AND o.state IN ('queued', 'sending', 'unknown', 'dead') AND o.state <> 'dead' ORDER BY o.seq LIMIT 1))`

// These write the head of a key. wakeQuery is for a key without a pending wake-up. It
// also sets when the key has work; if that is now, the node $8 claims the key, or
// River gets a job if $8 is empty or dead. heldQuery is for other keys: the node that
// works on one checks for more work before it releases the key.
const (
	headQuery = `UPDATE keys SET known = true, seq = $2, msg_seq = $3, waiting = $4, updated = $5, conversation = $6, version = version + 1, due = `
	nextQuery = `SELECT k.id, CASE WHEN d.due IS NOT NULL THEN greatest(d.due, k.rest) END AS due FROM keys k, LATERAL (` + dueQuery + ` AS due) d WHERE k.id = $1`
	heldQuery = headQuery + `$7 WHERE id = $1 RETURNING due, wake, live, version`
	// unlockedQuery divides by zero, and so fails the whole batch, if the version differs.
	unlockedQuery = `WITH u AS (` + headQuery + `$7 WHERE id = $1 AND version = $8 AND live = $9 RETURNING due, wake, live, version) SELECT max(due), max(wake), max(live), max(version) * (1 / count(*)) FROM u`
	wakeQuery     = `WITH n AS (SELECT *, CASE WHEN due <= $7 THEN nextval('epochs') ELSE 0 END AS wake, EXISTS (SELECT 1 FROM nodes WHERE id = $8 AND expires > clock_timestamp()) AS mine FROM (` + nextQuery + `) k),
		u AS (` + headQuery + `n.due, wake = n.wake, live = CASE WHEN mine THEN n.wake ELSE 0 END, node = CASE WHEN mine AND n.wake > 0 THEN $8 ELSE '' END,
			rest = CASE WHEN mine AND n.wake > 0 THEN 0 ELSE rest END FROM n WHERE keys.id = n.id RETURNING keys.id AS key, n.due, keys.wake, live, version),
		` + jobQuery + ` SELECT due, wake, live, version FROM u`
	// jobQuery inserts River jobs for the wake-ups in u, in the statement that makes them.
	jobQuery = `j AS (INSERT INTO river_job (kind, args, max_attempts) SELECT 'wake_up', jsonb_build_object('key', key, 'wake', wake), 25 FROM u WHERE wake > 0 AND live = 0)`
)

// save queues the head of a key, which wakes or claims the key if it is due.
func (t *tx) save(ch *rows.Chat) {
	r := t.keys[ch.Key]
	var updated *int64
	text := ""
	if c := ch.Conversation; c != nil {
		n := nanos(c.Updated)
		updated, text = &n, encode(conversation(*c))
	}
	r.known = true
	now := t.b.Now()
	query, args := heldQuery, []any{r.id, ch.Seq, ch.MessageSeq, ch.Waiting, updated, text, int64(noTime)}
	switch {
	case t.cache != nil:
		query, args = unlockedQuery, append(args, r.version, r.live)
	case r.wake == 0:
		if t.run == nil {
			t.run = t.b.reserve()
		}
		node := ""
		if t.run != nil {
			node = t.b.id
		}
		args[6] = nanos(now)
		query, args = wakeQuery, append(args, node)
	}
	t.queue(query, args...).QueryRow(func(row pgx.Row) error {
		var due *int64
		var wake, live, version int64
		if err := row.Scan(&due, &wake, &live, &version); err != nil {
			return err
		}
		t.versions[ch.Key] = version
		switch {
		case wake != r.wake && live > 0:
			t.claims = append(t.claims, t.b.addClaim(t.run.ctx, wakeUp{r.id, wake}, sessions.Claim{Key: ch.Key, Epoch: live}, version))
		case wake != r.wake:
			t.woken = true
		case due != nil && *due > nanos(now) && (t.due.IsZero() || *due < nanos(t.due)):
			t.due = timeOf(*due)
		}
		return nil
	})
}
