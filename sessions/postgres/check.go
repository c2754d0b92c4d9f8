package postgres

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// Check returns why no store can be opened in the database at url, or nil. It changes
// nothing, so a daemon may run meanwhile.
func Check(ctx context.Context, url string) error {
	b, err := connect(ctx, url, Options{})
	if err != nil {
		return fmt.Errorf("postgres: %w", err)
	}
	defer b.pool.Close()
	rivers, err := b.riverMigrator()
	if err == nil {
		_, err = b.migrated(ctx, rivers)
	}
	if err != nil {
		return fmt.Errorf("postgres: %w", b.explain(err))
	}
	return nil
}

// exposedQuery finds out whether everybody on the server may connect to the database, as is
// the default.
const exposedQuery = `SELECT EXISTS (SELECT 1 FROM pg_database, aclexplode(coalesce(datacl, acldefault('d', datdba)))
	WHERE datname = current_database() AND grantee = 0 AND privilege_type = 'CONNECT')`

// Exposed returns a warning if every user of the server may connect to the database at url:
// NOTIFY and LISTEN ask for no other right. Otherwise it is "".
func Exposed(ctx context.Context, url string) (warning string, err error) {
	b, err := connect(ctx, url, Options{})
	if err != nil {
		return "", fmt.Errorf("postgres: %w", err)
	}
	defer b.pool.Close()
	exposed, err := value[bool](ctx, b.pool, exposedQuery)
	if err != nil {
		return "", fmt.Errorf("postgres: %w", b.explain(err))
	}
	if !exposed {
		return "", nil
	}
	database, user := quoted(b.pool.Config().ConnConfig.Database), quoted(b.pool.Config().ConnConfig.User)
	return fmt.Sprintf("every user of the PostgreSQL server may connect to the database %s, and can then disturb the nodes with notifications: run REVOKE CONNECT ON DATABASE %s FROM PUBLIC, after GRANT CONNECT ON DATABASE %s TO %s", database, database, database, user), nil
}

var errPooler = errors.New("a pooler in front of PostgreSQL hands out another connection for each transaction; connect to PostgreSQL itself, or set pool_mode = session for this database in PgBouncer")

// checkServer refuses servers that this package cannot work with. To find a pooler
// that shares connections, it compares server processes: without such a pooler a
// connection keeps its process, and two connections have two. Its query is not
// prepared, because that would fail behind such a pooler.
func (b *backend) checkServer(ctx context.Context) error {
	var pids []int
	for range 2 {
		conn, err := b.pool.Acquire(ctx)
		if err != nil {
			return err
		}
		defer conn.Release()
		for range 2 {
			var pid, version int
			var encoding string
			var standby, readOnly bool
			err = conn.QueryRow(ctx, `SELECT pg_backend_pid(), current_setting('server_version_num')::int, current_setting('server_encoding'),
				pg_is_in_recovery(), current_setting('transaction_read_only')::bool`, pgx.QueryExecModeExec).Scan(&pid, &version, &encoding, &standby, &readOnly)
			switch {
			case err != nil:
				return err
			case version < 140000:
				return fmt.Errorf("the server is PostgreSQL %d; Dragoman needs 14 or newer", version/10000)
			case encoding != "UTF8":
				return fmt.Errorf("the database is encoded in %s; Dragoman needs one in UTF8", encoding)
			case standby:
				return errors.New("the server is a read-only standby: name the primary in store.url, or all servers with target_session_attrs=read-write")
			case readOnly:
				return errors.New("the database is read-only: default_transaction_read_only is on")
			}
			pids = append(pids, pid)
		}
	}
	if pids[0] != pids[1] || pids[0] == pids[2] {
		return errPooler
	}
	return b.checkRights(ctx)
}

// checkRights refuses a user who lacks a right.
func (b *backend) checkRights(ctx context.Context) error {
	var user, database string
	var create, use, all pgtype.Bool // use is not valid without the schema, all without tables
	err := b.pool.QueryRow(ctx, `SELECT current_user, current_database(), CASE WHEN s IS NULL THEN has_database_privilege(current_database(), 'CREATE') ELSE has_schema_privilege(s, 'CREATE') END,
		has_schema_privilege(s, 'USAGE'), (SELECT bool_and(has_table_privilege(oid, 'SELECT') AND has_table_privilege(oid, 'INSERT') AND has_table_privilege(oid, 'UPDATE') AND has_table_privilege(oid, 'DELETE'))
		FROM pg_class WHERE relnamespace = s AND relkind = 'r') FROM to_regnamespace($1) s`, quoted(b.schema)).Scan(&user, &database, &create, &use, &all)
	switch {
	case err != nil:
		return err
	case all.Valid && !all.Bool || use.Valid && !use.Bool:
		return fmt.Errorf("the user %q may not use the tables in the schema %q: connect as their owner, or have the owner run GRANT ALL ON SCHEMA, ALL TABLES and ALL SEQUENCES IN SCHEMA", user, b.schema)
	case !all.Valid && !create.Bool && use.Valid:
		return fmt.Errorf("the user %q may not create tables in the schema %q: run GRANT CREATE ON SCHEMA %s TO %s as its owner", user, b.schema, quoted(b.schema), quoted(user))
	case !all.Valid && !create.Bool:
		return fmt.Errorf("the user %q may not create a schema in the database %q: run GRANT CREATE ON DATABASE %s TO %s as its owner", user, database, quoted(database), quoted(user))
	}
	return nil
}

// problem replaces the text of an error by a sentence for operators.
type problem struct {
	sentence string
	error
}

func (p *problem) Error() string { return p.sentence }
func (p *problem) Unwrap() error { return p.error }

// explain gives the usual errors of a database one sentence for operators. The driver
// repeats its text for each address that it tried.
func (b *backend) explain(err error) error {
	c := b.pool.Config().ConnConfig
	where := net.JoinHostPort(c.Host, fmt.Sprint(c.Port))
	for _, f := range c.Fallbacks {
		if at := net.JoinHostPort(f.Host, fmt.Sprint(f.Port)); !strings.Contains(where, at) {
			where += ", " + at
		}
	}
	say := func(format string, args ...any) error { return &problem{fmt.Sprintf(format, args...), err} }
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch pg.Code {
		case "28P01", "28000":
			return say("PostgreSQL at %s refuses the user %q (%s): correct the password in store.url, or pg_hba.conf on the server", where, c.User, pg.Message)
		case "3D000":
			return say("PostgreSQL at %s has no database %q: create it, or correct store.url", where, c.Database)
		case "42501":
			return say("PostgreSQL at %s does not let the user %q change the tables (%s): start this version once as their owner", where, c.User, pg.Message)
		case "53100":
			return say("the disk of PostgreSQL at %s is full (%s): make room there; nothing can be stored until then", where, pg.Message)
		case "53300":
			return say("PostgreSQL at %s has no connection left (%s): lower store.max_conns, or raise max_connections on the server", where, pg.Message)
		case "57P01", "57P03":
			return say("PostgreSQL at %s is starting or stopping (%s): try again", where, pg.Message)
		}
		return err
	}
	connecting, ok := errors.AsType[*pgconn.ConnectError](err)
	if !ok {
		return err
	}
	text := connecting.Error()
	if bad, ok := errors.AsType[x509.HostnameError](err); ok {
		return say("the certificate of PostgreSQL at %s is for another name: %v", where, bad)
	}
	if bad, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return say("the certificate of PostgreSQL at %s is not trusted (%v): name the file of its CA with sslrootcert= in store.url", where, bad)
	}
	if strings.Contains(text, "server refused TLS") {
		return say("PostgreSQL at %s does not speak TLS, which sslmode asks for in store.url: turn ssl on there", where)
	}
	if strings.Contains(text, "read only connection") {
		return say("PostgreSQL at %s: all servers are read-only standbys", where)
	}
	var cause error = connecting
	if op, ok := errors.AsType[*net.OpError](err); ok {
		cause = op.Err
	}
	if errors.Is(err, context.DeadlineExceeded) {
		cause = errors.New("no answer in time")
	}
	return say("PostgreSQL at %s cannot be reached: %v", where, cause)
}
