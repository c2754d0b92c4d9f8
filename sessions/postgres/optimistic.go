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

// Most steps belong to a claim, and rarely does anything else change its key
// meanwhile. So such a step runs without a lock: it reads the cached rows of the key,
// and its changes are sent at once, with the version of the row that they expect. If
// the row has another version nothing is changed, and the step runs again under the
// lock. So does a step that reads or changes anything else.

// keyCache has the rows of a key at one version of its row. It is never changed.
type keyCache struct {
	row keyRow
	in  []rows.In  // waiting; of each Inbound only the Key
	out []rows.Out // unsent
}

// maxCached is how many rows of a queue are cached.
const maxCached = 64

// errNotCached: a step reads more than the cache has.
var errNotCached = errors.New("not cached")

// tryUnlocked tries a step without a lock. done is false if it has to run under the lock.
func (b *backend) tryUnlocked(ctx context.Context, k channels.Key, f func(rows.Reader) (rows.Changes, error)) (done bool, err error) {
	b.mu.Lock()
	mine := b.claims[k]
	var cache *keyCache
	if mine != nil && mine.cache != nil && mine.cache.row.version == mine.version {
		cache = mine.cache
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
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), txTimeout)
	defer cancel()
	t := &tx{conn: conn, b: b, kinds: map[string]bool{}, owners: map[[2]string]bool{}, versions: map[channels.Key]int64{}}
	if cache == nil {
		if cache, err = t.loadCache(ctx, k); err != nil || cache == nil {
			return false, nil
		}
	}
	row := cache.row
	t.keys, t.cache = map[channels.Key]*keyRow{k: &row}, cache
	c, err := guard(func() (rows.Changes, error) { return f(reader{t, t}) })
	if err != nil || !isSmall(k, c) {
		return false, nil
	}
	ch := c.Chats[0]
	t.save(ch)
	if err := t.chat(ctx, ch); err != nil {
		return false, nil
	}
	t.add(c.Add)
	t.cache = nil
	err = t.flush(ctx)
	var pg *pgconn.PgError
	if retryable(err) || errors.As(err, &pg) && pg.Code == "22012" { // unlockedQuery divided by zero
		return false, nil
	}
	if err != nil {
		return true, err
	}
	b.committed(t, nil, t.due)
	b.mu.Lock()
	defer b.mu.Unlock()
	row.version, row.head = t.versions[k], ch.Head
	row.head.Claim = row.live
	mine.cache = cache.apply(row, ch, b.id)
	return true, nil
}

// loadCache reads the cache of a key, or returns nil if its queues are too long or this
// node does not hold it. It reads the version first: a change meanwhile makes another.
func (t *tx) loadCache(ctx context.Context, k channels.Key) (*keyCache, error) {
	n, row := &keyCache{}, []*keyRow{}
	name := k.String()
	batchAll(t, &row, scanKey, `SELECT `+keyColumns+` FROM keys WHERE key = $1`, name)
	batchAll(t, &n.in, func(row pgx.CollectableRow) (rows.In, error) { return scanIn(k, row) },
		`SELECT '', seq, state, data, '' FROM inbox WHERE key_id = `+idOfKey+` AND state = 'waiting' ORDER BY seq LIMIT $2`, name, maxCached)
	batchAll(t, &n.out, func(row pgx.CollectableRow) (rows.Out, error) { return scanOut(k, row) },
		`SELECT '', seq, data, label FROM outbox WHERE key_id = `+idOfKey+andUnsent+` ORDER BY seq LIMIT $2`, name, maxCached)
	if err := t.flush(ctx); err != nil || len(row) == 0 || !row[0].known || row[0].node != t.b.id || max(len(n.in), len(n.out)) == maxCached {
		return nil, err
	}
	n.row = *row[0]
	return n, nil
}

// isSmall reports whether c changes only k, only as a claim usually does, and fits
// into a batch.
func isSmall(k channels.Key, c rows.Changes) bool {
	if len(c.Chats) != 1 || len(c.Removed)+len(c.Records)+len(c.Marks)+len(c.Fenced) > 0 || c.Name != nil {
		return false
	}
	ch, size := c.Chats[0], 0
	for _, m := range ch.Messages {
		size += rules.Bytes(m)
	}
	return ch.Key == k && !ch.Gone && !ch.Reset && !ch.Cleared && !ch.DropFinished && ch.Large == nil && size < rules.PartBytes/4 && len(ch.Messages) < maxCached &&
		len(ch.Moves)+len(ch.Drop)+len(ch.Forget)+len(ch.Rewritten)+len(ch.Begun)+len(ch.Summaries) == 0
}

// apply returns the cache after a small change.
func (n *keyCache) apply(row keyRow, ch *rows.Chat, node string) *keyCache {
	next := &keyCache{row, slices.Clone(n.in), slices.Clone(n.out)}
	for _, p := range ch.In {
		next.in = put(next.in, p.In, p.State == rules.InWaiting, func(r rows.In) int64 { return r.Seq })
	}
	for _, o := range ch.Out {
		r := *o
		r.Fresh = false
		if r.State == sessions.DeliverySending {
			r.Node = node
		}
		next.out = put(next.out, r, rules.Unsent(r.State), func(r rows.Out) int64 { return r.Seq })
	}
	return next
}

// put puts v into list, which is sorted by seq, if v is open; otherwise it removes the
// row with that seq.
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

// inbox serves a step from the cache, as does outbox.
func (n *keyCache) inbox(k channels.Key, q rows.QueueFilter) iter.Seq2[rows.In, error] {
	if k != n.row.head.Key || q != (rows.QueueFilter{Open: true, Light: true}) {
		return yieldAll[rows.In](nil, errNotCached)
	}
	return yieldAll(n.in, nil)
}

func (n *keyCache) outbox(k channels.Key, q rows.QueueFilter) iter.Seq2[rows.Out, error] {
	i := slices.IndexFunc(n.out, func(o rows.Out) bool { return o.ID == q.ID })
	if i < 0 || q.ID == "" || k != n.row.head.Key {
		return yieldAll[rows.Out](nil, errNotCached)
	}
	return yieldAll(n.out[i:i+1], nil)
}
