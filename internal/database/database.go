// Package database opens the PostgreSQL database of a store for other data than its rows:
// files of messages, and linked devices. They are in the store's schema, or in a part, a
// schema beside it that can have one owner at a time.
//
// The goroutines are those of the connections. They end when the database is closed. No
// error has the password of a url in it.
package database

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// Open opens the database at url with at most conns connections. They use the store's
// schema, which Open creates, or if part is not empty the schema of that part, which may not
// exist. Idle connections are closed after a minute.
func Open(ctx context.Context, url, part string, conns int) (*sql.DB, error) {
	config, schema, err := configOf(url, part)
	if err != nil {
		return nil, fmt.Errorf("database: %w", err)
	}
	db := connect(config, schema, conns, nothing)
	if part == "" {
		err = makeSchema(ctx, db, schema)
	}
	if err != nil {
		return nil, fmt.Errorf("database: %w", errors.Join(err, db.Close()))
	}
	return db, nil
}

// Own is Open for a part that one process uses at a time, on one connection. It takes the
// part from the former owner: its statements fail from then on, and its new connections with
// the error taken, even if that process was frozen meanwhile.
func Own(ctx context.Context, url, part string, taken error) (*sql.DB, error) {
	config, schema, err := configOf(url, part)
	if err != nil {
		return nil, fmt.Errorf("database: %w", err)
	}
	sum := sha256.Sum256([]byte(schema))
	config.RuntimeParams["application_name"] = fmt.Sprintf("dragoman-%s-%x", part[:min(len(part), 20)], sum[:8])
	first := connect(config, schema, 1, nothing)
	epoch, err := take(ctx, first, schema)
	if err = errors.Join(err, first.Close()); err != nil {
		return nil, fmt.Errorf("database: %w", err)
	}
	return connect(config, schema, 1, func(ctx context.Context, conn *pgx.Conn) error {
		var mine bool
		err := conn.QueryRow(ctx, `SELECT epoch = $1 FROM dragoman_owner`, epoch).Scan(&mine)
		if err == nil && !mine {
			err = taken
		}
		return err
	}), nil
}

// take makes this process the owner and ends the former owner's connections. Those that it
// opens later are refused.
func take(ctx context.Context, db *sql.DB, schema string) (epoch int64, err error) {
	if err := makeSchema(ctx, db, schema); err != nil {
		return 0, err
	}
	if _, err := db.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS dragoman_owner (one boolean PRIMARY KEY CHECK (one), epoch bigint NOT NULL)`); err != nil {
		return 0, err
	}
	err = db.QueryRowContext(ctx, `INSERT INTO dragoman_owner AS o VALUES (true, 1) ON CONFLICT (one) DO UPDATE SET epoch = o.epoch + 1 RETURNING epoch`).Scan(&epoch)
	if err != nil {
		return 0, err
	}
	var alive bool
	err = db.QueryRowContext(ctx, `SELECT coalesce(bool_or(NOT pg_terminate_backend(pid, 5000)), false) FROM pg_stat_activity
		WHERE application_name = current_setting('application_name') AND datname = current_database() AND usename = current_user AND pid <> pg_backend_pid()`).Scan(&alive)
	if err == nil && alive {
		err = errors.New("a connection of the node that owned it before does not end")
	}
	return epoch, err
}

// configOf parses url and returns the schema of the store, or of a part.
func configOf(url, part string) (*pgx.ConnConfig, string, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil { // which may have the password in it
		return nil, "", errors.New("the url cannot be read; it is postgres://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=verify-full, with %XX for every special character of the password")
	}
	schema := cmp.Or(config.RuntimeParams["search_path"], defaultSchema)
	if part != "" {
		schema += "_" + part
	}
	if len(schema) > longestName {
		return nil, "", fmt.Errorf("the schema %s has a longer name than PostgreSQL takes", schema)
	}
	delete(config.RuntimeParams, "search_path") // PgBouncer refuses it as a startup parameter
	config.RuntimeParams["application_name"] = cmp.Or(config.RuntimeParams["application_name"], "dragoman")
	return config, schema, nil
}

// nothing is for [connect].
func nothing(context.Context, *pgx.Conn) error { return nil }

// connect returns a pool of connections that use schema. then runs on each new one.
func connect(config *pgx.ConnConfig, schema string, conns int, then func(context.Context, *pgx.Conn) error) *sql.DB {
	db := stdlib.OpenDB(*config, stdlib.OptionAfterConnect(func(ctx context.Context, conn *pgx.Conn) error {
		if _, err := conn.Exec(ctx, `SET search_path = `+pgx.Identifier{schema}.Sanitize()); err != nil {
			return err
		}
		return then(ctx, conn)
	}))
	db.SetMaxOpenConns(conns)
	db.SetConnMaxIdleTime(time.Minute)
	return db
}

func makeSchema(ctx context.Context, db *sql.DB, schema string) error {
	var there bool
	err := db.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = $1)`, schema).Scan(&there)
	if err == nil && !there {
		_, err = db.ExecContext(ctx, `CREATE SCHEMA IF NOT EXISTS `+pgx.Identifier{schema}.Sanitize())
	}
	return err
}

// defaultSchema is the store's, unless the url has a search_path.
const defaultSchema = "dragoman"

// longestName is PostgreSQL's limit for a name, in bytes.
const longestName = 63
