// Package postgres is a store in a PostgreSQL database, which several nodes can
// share. River, in the same database, hands keys from one node to another.
//
// Its promise is that of package sessions: once a method returns nil its change is
// committed, and survives kill -9 and the failover to a synchronous standby. A
// transaction locks the rows of its keys, in order, until it ends, or names the
// version of the one row that it changes (optimistic.go). If it conflicts with
// another (a serialization failure, a deadlock, the same message accepted twice at
// once) it runs again.
//
// A row wakes its key. A change that leaves a key with work takes a number for a
// wake-up, writes it into the key's row, and claims the key for this node or gives
// River a job with the number (spread.go says when), all in its own transaction.
// The node that runs the job claims the key, which raises the key's epoch. It
// releases the key in a transaction that locks the row, checks for more work, and
// clears the number if there is none. So no message slips in between the check and
// the release, and a job whose number is not in the row is an old one and does
// nothing. Work that is due later has no job: each node polls for due keys.
//
// A working node renews its row in nodes. If it cannot, it stops, and its peers take
// over its keys and leases once the row has expired. If it was only frozen, the
// epoch refuses its writes: see rows.Head.
//
// Failures:
//
//   - The database cannot be reached, or refuses: methods return the error. If the
//     connection breaks during a commit, the error does not tell whether the change
//     was committed; a repeat finds out.
//   - A pooler hands out another server connection for each transaction: Open
//     refuses it. A node listens for notifications outside the pool.
//   - A newer version changed the tables: Open refuses them.
//
// Goroutines: the connection pool has its own, and from Run or Hold on four renew
// this node, watch the others, fold counts and set numbers aside; Close ends both kinds. Run owns River's, and
// Serve one for each call.
package postgres

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/dispatch"
	"dragoman/sessions/engine"
	"dragoman/sessions/rows"
)

var _ rows.Backend = (*backend)(nil)

// Options adjust a store. The zero value works.
type Options struct {
	// Now is the clock; time.Now if nil.
	Now func() time.Time
	// Logger gets failing handlers and news of nodes. Nil discards.
	Logger *slog.Logger
	// Host is where this node runs, for display. "" is its id.
	Host string
	// Installation is the id of the state directory of this process, and Place where that
	// is: on another machine, or in a copy of the directory, it differs. Only one process at
	// a time may have both, and this node takes over at once from one that died. If a live
	// node has the Installation in another place, this one refuses to start. "": unique.
	Installation, Place string
	// Configuration is a hash of the configuration, for sessions.Node: see Configured.
	Configuration string
	// MaxConns bounds the connections to the database. 0 is 16.
	MaxConns int
	// TTL is how long after its last renewal a node counts as alive. 0 is six seconds.
	TTL time.Duration
	// Version and Roles describe this process in sessions.Node.
	Version string
	Roles   []string
	// schema has the tables; "": the one in the url, or defaultSchema.
	schema string
	// cooldown is River's FetchCooldown; 0: River's default.
	cooldown time.Duration
}

// backend keeps rows in a database.
type backend struct {
	reader
	Options
	pool   *pgxpool.Pool
	river  *river.Client[pgx.Tx]
	former atomic.Bool  // nodes that do not know labels may read what this one writes
	id     string       // of this node
	prefix string       // of delivery ids
	fault  func() error // called before each commit; only tests set it
	leases dispatch.Leases
	node   node
	wire   wire
	seal   *sealer
	// formers are the listed nodes of versions that seal nothing: see former.go.
	formers atomic.Pointer[map[string]bool]
	// holders are the nodes that had a lease when this process last called them.
	holders sync.Map // of callee, by the lease's name
	// configured is the hash that Configured named last; nil: that of Options.
	configured atomic.Pointer[string]
	// refused counts refused notes since refusedAt. Both belong to the goroutine that
	// receives.
	refused   int
	refusedAt time.Time
	numbers   numbers
	// nudges makes River fetch jobs.
	nudges chan struct{}
	// added: this process may have added to counts since it last folded them.
	added atomic.Bool

	mu      sync.Mutex
	run     *running
	claims  map[channels.Key]*claim // of this process
	working map[int64]bool          // the wake-ups that this process works on
	// unknownWakes are wake-ups that the rows assign to this process and it does not
	// know, with the time when it first saw each: see lostWakes.
	unknownWakes map[int64]time.Time
	spread       spread
	free         chan struct{} // closed when another node has released a lease
}

// Open opens the store in the database at url, and creates the tables if they are
// missing. Its errors never contain the password of url.
func Open(ctx context.Context, url string, o Options) (*engine.Store, error) {
	b, err := open(ctx, url, o)
	if err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	return engine.New(b, "postgres", b.Now), nil
}

// Pool implements [sessions.Pooled].
func (b *backend) Pool() sessions.Pool {
	st := b.pool.Stat()
	return sessions.Pool{
		Used: int(st.AcquiredConns()), Idle: int(st.IdleConns()), Max: int(st.MaxConns()),
		Waits: st.EmptyAcquireCount(), Waited: st.EmptyAcquireWaitTime(),
	}
}

// defaultSchema has the tables, unless the url has a search_path.
const defaultSchema = "dragoman"

func open(ctx context.Context, url string, o Options) (*backend, error) {
	b, err := connect(ctx, url, o)
	if err != nil {
		return nil, err
	}
	if err = b.migrate(ctx); err == nil {
		err = b.lookForFormer(ctx)
	}
	if err == nil {
		err = b.openSealer(ctx)
	}
	if err == nil {
		b.prefix, err = value[string](ctx, b.pool, `SELECT prefix FROM meta`)
	}
	if err == nil {
		b.river, err = b.newRiver()
	}
	if err != nil {
		b.pool.Close()
		return nil, b.explain(err)
	}
	return b, nil
}

// connect makes the connection pool and checks the server.
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
	if err != nil { // its text may contain the password
		return nil, errors.New("the url cannot be understood; write it like postgres://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=verify-full, with %XX for every special character of the password")
	}
	most := cmp.Or(o.MaxConns, 16)
	if most < 5 {
		return nil, fmt.Errorf("%d connections are too few; at least five are needed", most)
	}
	config.MaxConns = int32(most - 1) // one renews the node
	// A machine without power does not refuse a connection. Then try the url's next host.
	config.ConnConfig.ConnectTimeout = cmp.Or(config.ConnConfig.ConnectTimeout, 3*time.Second)
	params := config.ConnConfig.RuntimeParams
	o.schema, o.TTL = cmp.Or(o.schema, params["search_path"], defaultSchema), cmp.Or(o.TTL, 6*time.Second)
	delete(params, "search_path") // PgBouncer refuses it as a startup parameter
	config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		return conn.PgConn().Exec(ctx, fmt.Sprintf(`SET search_path = %s; SET idle_in_transaction_session_timeout = %d`, quoted(o.schema), max(o.TTL, minIdleTimeout).Milliseconds())).Close()
	}
	params["application_name"] = cmp.Or(params["application_name"], "dragoman")
	o.Roles = append([]string{}, o.Roles...) // nil would be NULL
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	if o.Now == nil {
		o.Now = time.Now
	}
	b := &backend{
		Options: o, id: rand.Text(), claims: map[channels.Key]*claim{}, working: map[int64]bool{},
		wire:    wire{ready: make(chan struct{}), pending: map[string]*pendingCall{}, calls: map[[2]string]func(){}},
		numbers: numbers{wanted: make(chan struct{}, 1)}, nudges: make(chan struct{}, 1), free: make(chan struct{}), spread: spread{nudged: map[string]time.Time{}},
	}
	b.Host = cmp.Or(b.Host, b.id)
	b.node.lost, b.node.lose = context.WithCancel(context.Background())
	config.ConnConfig.DialFunc = dialUntil(b.node.lost, config.ConnConfig.DialFunc)
	if b.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, errors.New("the url cannot be used")
	}
	b.reader = reader{b.pool, nil}
	if err = b.checkServer(ctx); err != nil {
		b.pool.Close()
		return nil, b.explain(err)
	}
	return b, nil
}

// Snapshot runs f in one read-only transaction: see rows.Backend.
func (b *backend) Snapshot(ctx context.Context, f func(rows.Reader) error) error {
	return pgx.BeginTxFunc(ctx, b.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(t pgx.Tx) error {
		if _, err := t.Exec(ctx, noIdleTimeout); err != nil {
			return err
		}
		return f(reader{t, nil})
	})
}

// Stats counts the queues: see rows.Backend.
func (b *backend) Stats(ctx context.Context) (st sessions.Stats, err error) {
	var oldest, oldestSend int64
	err = b.pool.QueryRow(ctx, `SELECT w.n, w.late, coalesce(w.oldest, $2), o.n, o.unknown, coalesce(o.oldest, $2), o.dead, (SELECT count(*) FROM records WHERE kind = 'quarantined' AND kept) FROM
		(SELECT count(*) AS n, count(*) FILTER (WHERE due > $1) AS late, min(accepted) AS oldest FROM inbox WHERE state = 'waiting') w,
		(SELECT count(*) FILTER (WHERE state <> 'dead') AS n, count(*) FILTER (WHERE state <> 'dead' AND uncertain) AS unknown,
		min(created) FILTER (WHERE state <> 'dead') AS oldest, count(*) FILTER (WHERE state = 'dead') AS dead FROM outbox WHERE true`+andOpen+`) o`, nanos(b.Now()), int64(noTime)).
		Scan(&st.Waiting, &st.Postponed, &oldest, &st.Unsent, &st.Unknown, &oldestSend, &st.Dead, &st.Quarantined)
	if err == nil {
		st.Oldest, st.OldestSend = timeOf(oldest), timeOf(oldestSend)
	}
	return st, err
}

// Check commits a change, to prove that the database can be written.
func (b *backend) Check(ctx context.Context) error {
	_, err := b.pool.Exec(ctx, `UPDATE meta SET checked = $1`, nanos(b.Now()))
	return b.explainFull(err)
}

// rewriteQuery rewrites all tables of a database without their deleted rows.
// removeQueries remove the old files of the write-ahead log instead of recycling
// them; each must be run by itself.
const (
	rewriteQuery  = `VACUUM (FULL)`
	removeQueries = `ALTER SYSTEM SET wal_recycle = off; SELECT pg_reload_conf(); CHECKPOINT; SELECT pg_switch_wal(); CHECKPOINT; ALTER SYSTEM RESET wal_recycle; SELECT pg_reload_conf()`
)

// Kept says where PostgreSQL still keeps deleted rows, and how an operator removes
// them.
func (b *backend) Kept() []string {
	return []string{
		"PostgreSQL keeps deleted rows in its files until the tables are rewritten. To do that now, stop the daemons and run in psql, as the owner of the database: " + rewriteQuery + ";",
		"The write-ahead log keeps them until PostgreSQL writes over its files. To remove those now, run in psql as a superuser, one after the other: " + removeQueries + ";",
		"Archives of that log, standbys and backups made before now keep them until you remove those.",
		"If a restore left schemas whose names begin with " + b.schema + keptInfix + " they keep them until you remove those: DROP SCHEMA … CASCADE;",
	}
}

// Close closes the store. It ends Run first: closing the pool would wait for Run's
// connections.
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

// socket is a connection to a server that closes when this node is lost. Otherwise
// calls to a silent server would wait until the network gives up.
type socket struct {
	net.Conn
	stop func() bool
}

// Close closes the connection.
func (s socket) Close() error {
	s.stop()
	return s.Conn.Close()
}

// dialUntil wraps dial: its connections close when life ends.
func dialUntil(life context.Context, dial pgconn.DialFunc) pgconn.DialFunc {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return socket{conn, context.AfterFunc(life, func() { conn.Close() })}, nil
	}
}
