package database_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"dragoman/internal/database"
	"dragoman/internal/testkit/pgtest"
)

func TestMain(m *testing.M) {
	code := m.Run()
	pgtest.Stop()
	os.Exit(code)
}

// The last process that calls Own owns a part. The former owner is cut off, even in the
// middle of a transaction, and cannot come back.
func TestOwn(t *testing.T) {
	url := pgtest.Database(t, "", "")
	taken := errors.New("taken")
	a, err := database.Own(t.Context(), url, "whats-app", taken)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if _, err := a.Exec(`CREATE TABLE keys (k text)`); err != nil {
		t.Fatal(err)
	}
	tx, err := a.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(`INSERT INTO keys VALUES ('of a')`); err != nil {
		t.Fatal(err)
	}
	b, err := database.Own(t.Context(), url, "whats-app", taken)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if _, err := tx.Exec(`INSERT INTO keys VALUES ('of a, later')`); err == nil {
		t.Error("the former owner's transaction goes on")
	}
	_ = tx.Rollback()
	if _, err := a.Exec(`INSERT INTO keys VALUES ('of a, again')`); !errors.Is(err, taken) {
		t.Errorf("a statement of the former owner = %v, want %v", err, taken)
	}
	if _, err := b.Exec(`INSERT INTO keys VALUES ('of b')`); err != nil {
		t.Error(err)
	}
	looker, err := database.Open(t.Context(), url, "whats-app", 1)
	if err != nil {
		t.Fatal(err)
	}
	defer looker.Close()
	var all string
	if err := looker.QueryRow(`SELECT string_agg(k, ';') FROM keys`).Scan(&all); err != nil || all != "of b" {
		t.Errorf("the keys are %q, %v", all, err)
	}
	if _, err := database.Own(t.Context(), url, strings.Repeat("x", 60), taken); err == nil || !strings.Contains(err.Error(), "longer name") {
		t.Errorf("Own of a long name = %v", err)
	}
}

// PgBouncer with pool_mode = session is between many daemons and their database.
func TestThroughPgBouncer(t *testing.T) {
	url := pgtest.Pooler(t, pgtest.Database(t, "", ""), "pool_mode = session")
	db, err := database.Open(t.Context(), url, "", 2)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(`CREATE TABLE files (f text)`); err != nil {
		t.Fatal(err)
	}
	own, err := database.Own(t.Context(), url, "phone", errors.New("taken"))
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	var schema string
	if err := own.QueryRow(`SELECT current_schema()`).Scan(&schema); err != nil || schema != "dragoman_phone" {
		t.Errorf("the part's schema is %q, %v", schema, err)
	}
	if err := db.QueryRow(`SELECT schemaname FROM pg_tables WHERE tablename = 'files'`).Scan(&schema); err != nil || schema != "dragoman" {
		t.Errorf("the files are in the schema %q, %v", schema, err)
	}
}
