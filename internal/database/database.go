// Package database opens the PostgreSQL database of a store for what is no row of
// it: files of messages, linked devices. Each is in the schema of the store, or in
// one beside it that has one owner at a time.
//
// The goroutines are those of the connections, which closing the database ends. No
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

// Open opens the database at url. Its schema is that of the store, which it makes, or
// if part is not empty one beside it, which may not be there. It has at most conns
// connections, and few while nothing happens.
func Open(ctx context.Context, url, part string, conns int) (*sql.DB, error) {
	config, schema, err := configOf(url, part)
	if err != nil {
		return nil, fmt.Errorf("database: %w", err)
	}
	db := connect(config, conns)
	if part == "" {
		err = makeSchema(ctx, db, schema)
	}
	if err != nil {
		return nil, fmt.Errorf("database: %w", errors.Join(err, db.Close()))
	}
	return db, nil
}

// Own is Open of a part that one process uses at a time, on one connection:
// whoever calls it takes the part from whoever did before. Statements of that one
// fail from then on, and its new connections with the error taken. That holds for
// a process that was frozen, too.
func Own(ctx context.Context, url, part string, taken error) (*sql.DB, error) {
	config, schema, err := configOf(url, part)
	if err != nil {
		return nil, fmt.Errorf("database: %w", err)
	}
	sum := sha256.Sum256([]byte(schema))
	config.RuntimeParams["application_name"] = fmt.Sprintf("dragoman-%s-%x", part[:min(len(part), 20)], sum[:8])
	first := connect(config, 1)
	epoch, err := take(ctx, first, schema)
	if err = errors.Join(err, first.Close()); err != nil {
		return nil, fmt.Errorf("database: %w", err)
	}
	return connect(config, 1, stdlib.OptionAfterConnect(func(ctx context.Context, conn *pgx.Conn) error {
		var mine bool
		err := conn.QueryRow(ctx, `SELECT epoch = $1 FROM dragoman_owner`, epoch).Scan(&mine)
		if err == nil && !mine {
			err = taken
		}
		return err
	})), nil
}

// take makes this process the owner. A connection of the one before that was let
// in before is there to be ended; one that comes later is refused.
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
		err = errors.New("a connection of the node that had it before does not end")
	}
	return epoch, err
}

// configOf reads url. Its schema is that of the store, or part beside it.
func configOf(url, part string) (*pgx.ConnConfig, string, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil { // its text may have the password in it
		return nil, "", errors.New("the url cannot be read; it is postgres://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=verify-full, with %XX for every special character of the password")
	}
	schema := cmp.Or(config.RuntimeParams["search_path"], defaultSchema)
	if part != "" {
		schema += "_" + part
	}
	if len(schema) > longestName {
		return nil, "", fmt.Errorf("the schema %s has a longer name than PostgreSQL takes", schema)
	}
	config.RuntimeParams["search_path"] = pgx.Identifier{schema}.Sanitize()
	config.RuntimeParams["application_name"] = cmp.Or(config.RuntimeParams["application_name"], "dragoman")
	return config, schema, nil
}

func connect(config *pgx.ConnConfig, conns int, o ...stdlib.OptionOpenDB) *sql.DB {
	db := stdlib.OpenDB(*config, o...)
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

// defaultSchema is that of the store, unless the url has a search_path.
const defaultSchema = "dragoman"

// longestName is how long PostgreSQL lets a name be.
const longestName = 63
