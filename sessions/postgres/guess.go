package postgres

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

// Most steps are those of a claim, and few others change its key meanwhile. So
// they need no lock: a step reads what this process left of the key, and its
// changes are sent at once, with the version of the row that they are about. If
// that is not the row's any more, nothing happens, and the step is run again under
// the lock, as is one that reads or changes anything else.

// known is what a key was like when its row had that version. Nobody changes it.
type known struct {
	row keyRow
	in  []rows.In  // that wait, without what they say
	out []rows.Out // unsent
}

// knownMost is how many rows of a queue are kept.
const knownMost = 64

// errUnknown: a step asked for more than is known without a lock.
var errUnknown = errors.New("not known without a lock")

// guess tries a step without a lock. It reports false if it has to be done with one.
func (b *backend) guess(ctx context.Context, k channels.Key, f func(rows.Reader) (rows.Changes, error)) (done bool, err error) {
	b.mu.Lock()
	mine := b.claims[k]
	var was *known
	if mine != nil && mine.known != nil && mine.known.row.version == mine.version {
		was = mine.known
	}
	b.mu.Unlock()
	if mine == nil || b.fault != nil && b.fault() != nil {
		return false, nil
	}
	conn, err := b.pool.Acquire(ctx)
	if err != nil {
		return true, err
	}
	defer conn.Release()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	t := &tx{conn: conn, b: b, kinds: map[string]bool{}, saved: map[channels.Key]int64{}}
	if was == nil {
		if was, err = t.know(ctx, k); err != nil || was == nil {
			return false, nil
		}
	}
	row := was.row
	t.keys, t.known = map[channels.Key]*keyRow{k: &row}, was
	c, err := guard(func() (rows.Changes, error) { return f(reader{t, t}) })
	if err != nil || !small(k, c) {
		return false, nil
	}
	ch := c.Chats[0]
	t.save(ch)
	if err := t.chat(ctx, ch); err != nil {
		return false, nil
	}
	t.known = nil
	err = t.flush(ctx)
	var pg *pgconn.PgError
	if again(err) || errors.As(err, &pg) && pg.Code == "22012" {
		return false, nil
	}
	if err != nil {
		return true, err
	}
	b.changed(t, nil, t.due)
	b.mu.Lock()
	defer b.mu.Unlock()
	row.version, row.head = t.saved[k], ch.Head
	row.head.Claim = row.live
	mine.known = was.with(row, ch, b.id)
	return true, nil
}

// know reads what is known of a key; nil if that is too much. What changes
// meanwhile changes the version.
func (t *tx) know(ctx context.Context, k channels.Key) (*known, error) {
	n, row := &known{}, []*keyRow{}
	name := k.String()
	gather(t, &row, scanKey, `SELECT `+keyColumns+` FROM keys WHERE key = $1`, name)
	gather(t, &n.in, func(row pgx.CollectableRow) (rows.In, error) { return scanIn(k, row) },
		`SELECT '', seq, state, data, '' FROM inbox WHERE key_id = `+theKey+` AND state = 'waiting' ORDER BY seq LIMIT $2`, name, knownMost)
	gather(t, &n.out, func(row pgx.CollectableRow) (rows.Out, error) { return scanOut(k, row) },
		`SELECT '', seq, data FROM outbox WHERE key_id = `+theKey+unsent+` ORDER BY seq LIMIT $2`, name, knownMost)
	if err := t.flush(ctx); err != nil || len(row) == 0 || !row[0].known || row[0].node != t.b.id || max(len(n.in), len(n.out)) == knownMost {
		return nil, err
	}
	n.row = *row[0]
	return n, nil
}

// small reports whether c is what a claim does to its key, and fits into a batch.
func small(k channels.Key, c rows.Changes) bool {
	if len(c.Chats) != 1 || len(c.Removed)+len(c.Records)+len(c.Marks)+len(c.Fenced) > 0 || c.Name != nil {
		return false
	}
	ch, size := c.Chats[0], 0
	for _, m := range ch.Messages {
		size += rules.Bytes(m)
	}
	return ch.Key == k && !ch.Gone && !ch.Anew && !ch.Cleared && !ch.Settled && ch.Large == nil && size < rules.PartBytes/4 && len(ch.Messages) < knownMost &&
		len(ch.Moves)+len(ch.Drop)+len(ch.Forget)+len(ch.Rewritten)+len(ch.Begun)+len(ch.Summaries) == 0
}

// with is what is known after a small change.
func (n *known) with(row keyRow, ch *rows.Chat, node string) *known {
	next := &known{row, slices.Clone(n.in), slices.Clone(n.out)}
	for _, p := range ch.In {
		next.in = put(next.in, p.In, p.State == rules.InWaiting, func(r rows.In) int64 { return r.Seq })
	}
	for _, o := range ch.Out {
		r := *o
		if r.Fresh = false; r.State == sessions.DeliverySending {
			r.Node = node
		}
		next.out = put(next.out, r, rules.Unsent(r.State), func(r rows.Out) int64 { return r.Seq })
	}
	return next
}

// put has list, which is sorted by seq, hold v if it is open, else nothing with its seq.
func put[T any](list []T, v T, open bool, seq func(T) int64) []T {
	i, found := slices.BinarySearchFunc(list, seq(v), func(r T, at int64) int { return cmp.Compare(seq(r), at) })
	switch {
	case found && open:
		list[i] = v
	case found:
		list = slices.Delete(list, i, i+1)
	case open:
		list = slices.Insert(list, i, v)
	}
	return list
}

// inbox and outbox serve a step from what is known.
func (n *known) inbox(k channels.Key, q rows.Queued) iter.Seq2[rows.In, error] {
	if k != n.row.head.Key || q != (rows.Queued{Open: true, Light: true}) {
		return given[rows.In](nil, errUnknown)
	}
	return given(n.in, nil)
}

func (n *known) outbox(k channels.Key, q rows.Queued) iter.Seq2[rows.Out, error] {
	i := slices.IndexFunc(n.out, func(o rows.Out) bool { return o.ID == q.ID })
	if i < 0 || q.ID == "" || k != n.row.head.Key {
		return given[rows.Out](nil, errUnknown)
	}
	return given(n.out[i:i+1], nil)
}
