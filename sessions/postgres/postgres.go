// Package postgres keeps everything in a PostgreSQL database, which several
// nodes can share. River, in the same database, hands keys from one node to others.
//
// Its promise is that of package sessions: a method that returned nil has
// committed, and what is committed survives kill -9 and the failover to a
// synchronous standby. Every change locks the rows of its keys, in order, for as
// long as its transaction runs, or names the version of the one row that it is
// about (guess.go). One that meets another (a serialization failure,
// a deadlock, the same message accepted twice at once) is run again.
//
// Keys are woken by rows. A change that leaves a key with something to do takes a
// number for a wake-up, writes it into the key's row and claims the key for this
// node or hands River a job with it (spread.go says when), all in its own
// transaction. Whoever works on the job claims the key, which
// raises its epoch, and lets go of it in a transaction that looks under the lock
// of the row whether there is more to do, and clears the number if there is not.
// So no message comes between the last look and that, and a job whose number is
// not the row's is an old one that does nothing. What is due later has no job:
// each node looks for keys whose time has come.
//
// A node that works renews a row. When it fails to, it stops all that it does,
// and its peers take over its keys and leases once the row is out of date. A node
// that was only frozen is refused by the epoch: see rows.Head.
//
// What can fail, and how:
//
//   - The database cannot be reached, or it refuses: methods return the error. An
//     error of a commit whose connection broke does not tell whether it was
//     done; a repeat finds out.
//   - A pooler hands out another server connection for each transaction: Open
//     says so. A node listens on a connection of its own.
//   - A newer version changed the tables: Open says so.
//
// The goroutines are those of the pool of connections and, from Run or Hold on,
// those that keep this node alive and look after others, both of which
// Close ends, those of River in Run, and one for each call in Serve.
package postgres

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/dispatch"
	"dragoman/sessions/engine"
	"dragoman/sessions/rows"
)

var (
	_ sessions.Store = (*Store)(nil)
	_ rows.Backend   = (*backend)(nil)
)

// Options adjust a [Store]. The zero value works.
type Options struct {
	// Now is the clock; time.Now if nil.
	Now func() time.Time
	// Logger is told about failing handlers and about nodes. Nil discards.
	Logger *slog.Logger
	// Host names the place where this node runs, of which the caller knows that
	// there is only one at a time. What a process that died there was at is taken
	// over at once. "" is a place of its own.
	Host string
	// MaxConns bounds the connections to the database. 0 is 16.
	MaxConns int
	// TTL is how long a node is believed to live that does not renew its row. 0 is
	// six seconds.
	TTL time.Duration
	// Version and Roles are what sessions.Node says of this process.
	Version string
	Roles   []string
	// schema is where the tables are; "" is what the url says, or defaultSchema.
	schema string
	// cooldown is River's FetchCooldown; 0 is its own.
	cooldown time.Duration
}

// Store is the engine over rows in a database. Make it with [Open].
type Store struct {
	*engine.Store
	b *backend
}

// backend keeps rows in a database.
type backend struct {
	reader
	now    func() time.Time
	log    *slog.Logger
	pool   *pgxpool.Pool
	river  *river.Client[pgx.Tx]
	id     string // of this node
	host   string
	schema string
	ttl    time.Duration
	prefix string       // of delivery ids
	fault  func() error // a test's, before each commit

	version string
	roles   []string
	leases  dispatch.Leases
	node    node
	wire    wire
	// jobsCame has River ask for jobs.
	jobsCame chan struct{}

	mu     sync.Mutex
	run    *running
	claims map[channels.Key]*claim // of this process
	at     map[int64]bool          // the wake-ups that this process works on
	// doubted are wake-ups of which this process knows nothing, since when: see unheardOf.
	doubted map[int64]time.Time
	spread  spread
	free    chan struct{} // closed when another node has given a lease back
}

// Open opens the store in the database at url, making its tables if there are
// none. No error has the password of url in it.
func Open(ctx context.Context, url string, o Options) (*Store, error) {
	b, err := open(ctx, url, o)
	if err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	return &Store{engine.New(b, "postgres", b.now), b}, nil
}

// defaultSchema is where the tables are, unless the url has a search_path.
const defaultSchema = "dragoman"

func open(ctx context.Context, url string, o Options) (*backend, error) {
	b, err := connect(ctx, url, o)
	if err != nil {
		return nil, err
	}
	if err = b.migrate(ctx); err == nil {
		b.prefix, err = value[string](ctx, b.pool, `SELECT prefix FROM meta`)
	}
	if err == nil {
		b.river, err = b.newRiver(o.cooldown)
	}
	if err != nil {
		b.pool.Close()
		return nil, b.explain(err)
	}
	return b, nil
}

// connect makes the pool of connections to a server that the store can work with.
func connect(ctx context.Context, url string, o Options) (*backend, error) {
	if !strings.HasPrefix(url, "postgres://") && !strings.HasPrefix(url, "postgresql://") {
		return nil, errors.New("the url must begin with postgres://")
	}
	config, err := pgxpool.ParseConfig(url)
	if file, ok := errors.AsType[*fs.PathError](err); ok {
		return nil, fmt.Errorf("the url names a file that cannot be read: %w", file)
	}
	if err != nil && strings.Contains(err.Error(), "sslmode is invalid") {
		return nil, errors.New("the url has an unknown sslmode; use verify-full, or disable within a network of your own")
	}
	if err != nil { // its text may have the password in it
		return nil, errors.New("the url cannot be understood; write it like postgres://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=verify-full, with %XX for every special character of the password")
	}
	most := cmp.Or(o.MaxConns, 16)
	if most < 5 {
		return nil, fmt.Errorf("%d connections are too few; at least five are needed", most)
	}
	config.MaxConns = int32(most - 1) // one keeps the node alive
	// A machine that has lost its power refuses nothing: the next of the url's is tried.
	config.ConnConfig.ConnectTimeout = cmp.Or(config.ConnConfig.ConnectTimeout, 3*time.Second)
	params := config.ConnConfig.RuntimeParams
	schema, ttl := cmp.Or(o.schema, params["search_path"], defaultSchema), cmp.Or(o.TTL, 6*time.Second)
	delete(params, "search_path") // PgBouncer takes no connection that begins with it
	config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		return conn.PgConn().Exec(ctx, fmt.Sprintf(`SET search_path = %s; SET idle_in_transaction_session_timeout = %d`, quoted(schema), max(ttl, leastIdle).Milliseconds())).Close()
	}
	params["application_name"] = cmp.Or(params["application_name"], "dragoman")
	b := &backend{
		now: o.Now, log: o.Logger, host: o.Host, schema: schema, ttl: ttl, id: rand.Text(), claims: map[channels.Key]*claim{}, at: map[int64]bool{},
		version: o.Version, roles: append([]string{}, o.Roles...), wire: wire{ready: make(chan struct{}), asked: map[string]*asked{}, parts: map[[2]string][]byte{}, calls: map[[2]string]func(){}},
		jobsCame: make(chan struct{}, 1), free: make(chan struct{}), spread: spread{nudged: map[string]time.Time{}},
	}
	if b.now == nil {
		b.now = time.Now
	}
	if b.log == nil {
		b.log = slog.New(slog.DiscardHandler)
	}
	b.host = cmp.Or(b.host, b.id)
	b.node.lost, b.node.lose = context.WithCancel(context.Background())
	config.ConnConfig.DialFunc = ending(b.node.lost, config.ConnConfig.DialFunc)
	if b.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, errors.New("the url cannot be used")
	}
	b.reader = reader{b.pool, nil}
	if err = b.look(ctx); err != nil {
		b.pool.Close()
		return nil, b.explain(err)
	}
	return b, nil
}

// Snapshot runs f in one transaction that reads: see rows.Backend.
func (b *backend) Snapshot(ctx context.Context, f func(rows.Reader) error) error {
	return pgx.BeginTxFunc(ctx, b.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(t pgx.Tx) error {
		if _, err := t.Exec(ctx, anyIdle); err != nil {
			return err
		}
		return f(reader{t, nil})
	})
}

// Stats is sessions.Store's.
func (b *backend) Stats(ctx context.Context) (st sessions.Stats, err error) {
	var oldest, oldestSend int64
	err = b.pool.QueryRow(ctx, `SELECT w.n, w.late, coalesce(w.oldest, $2), o.n, o.unknown, coalesce(o.oldest, $2), o.dead, (SELECT count(*) FROM records WHERE kind = 'quarantined' AND kept) FROM
		(SELECT count(*) AS n, count(*) FILTER (WHERE due > $1) AS late, min(accepted) AS oldest FROM inbox WHERE state = 'waiting') w,
		(SELECT count(*) FILTER (WHERE state <> 'dead') AS n, count(*) FILTER (WHERE state <> 'dead' AND uncertain) AS unknown,
		min(created) FILTER (WHERE state <> 'dead') AS oldest, count(*) FILTER (WHERE state = 'dead') AS dead FROM outbox WHERE true`+undone+`) o`, nanos(b.now()), int64(never)).
		Scan(&st.Waiting, &st.Postponed, &oldest, &st.Unsent, &st.Unknown, &oldestSend, &st.Dead, &st.Quarantined)
	if err == nil {
		st.Oldest, st.OldestSend = timeOf(oldest), timeOf(oldestSend)
	}
	return st, err
}

// Check proves that the database can be written: it commits a change.
func (b *backend) Check(ctx context.Context) error {
	_, err := b.pool.Exec(ctx, `UPDATE meta SET checked = $1`, nanos(b.now()))
	return err
}

// What rewrites all tables of a database, without the rows that were deleted, and
// what removes the write-ahead log that is not needed any more, instead of using its
// files again. Each is run by itself.
const (
	rewriteQuery  = `VACUUM (FULL)`
	removeQueries = `ALTER SYSTEM SET wal_recycle = off; SELECT pg_reload_conf(); CHECKPOINT; SELECT pg_switch_wal(); CHECKPOINT; ALTER SYSTEM RESET wal_recycle; SELECT pg_reload_conf()`
)

// Kept is what PostgreSQL itself keeps of rows that were deleted, and what an
// operator does about it.
func (s *Store) Kept() []string {
	return []string{
		"PostgreSQL keeps deleted rows in its files until the tables are rewritten. To do that now, stop the daemons and run in psql, as the owner of the database: " + rewriteQuery + ";",
		"The write-ahead log keeps them until PostgreSQL writes over its files. To remove those now, run in psql as a superuser, one after the other: " + removeQueries + ";",
		"Archives of that log, standbys and backups made before now keep them until you remove those.",
		"If a restore left schemas whose names begin with " + s.b.schema + keptInfix + " they keep them until you remove those: DROP SCHEMA … CASCADE;",
	}
}

// Close is sessions.Store's. It ends Run, whose connections the pool would wait
// for.
func (b *backend) Close() error {
	b.mu.Lock()
	run := b.run
	b.mu.Unlock()
	if run != nil {
		run.stop()
		<-run.ended
	}
	b.leave()
	b.pool.Close()
	return nil
}
