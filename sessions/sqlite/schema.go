package sqlite

import (
	"context"
	_ "embed"
)

// applicationID marks our files ("DRAG").
const applicationID = 0x44524147

// schemaVersion is PRAGMA user_version.
const schemaVersion = 3

//go:embed schema.sql
var schema string

// noteTables are the tables of notes and counts. Older files lack them, and older programs
// ignore them.
var noteTables = []string{
	`CREATE TABLE IF NOT EXISTS notes (
	kind  TEXT    NOT NULL,
	owner TEXT    NOT NULL,
	name  TEXT    NOT NULL,
	due   INTEGER NOT NULL,
	at    INTEGER NOT NULL,
	data  TEXT    NOT NULL,
	PRIMARY KEY (kind, owner, name)
) WITHOUT ROWID`,
	`CREATE INDEX IF NOT EXISTS notes_due ON notes (kind, due) WHERE due <> 0`,
	`CREATE INDEX IF NOT EXISTS notes_owner ON notes (owner)`,
	`CREATE TABLE IF NOT EXISTS counts (
	kind  TEXT    NOT NULL,
	owner TEXT    NOT NULL,
	day   TEXT    NOT NULL,
	n     INTEGER NOT NULL,
	PRIMARY KEY (kind, owner, day)
) WITHOUT ROWID`,
	`CREATE INDEX IF NOT EXISTS counts_owner ON counts (owner)`,
}

// addColumn adds a column that older files do not have. Older programs ignore it.
func (t *tx) addColumn(table, name, kind string) {
	var has bool
	t.scan([]any{&has}, `SELECT EXISTS (SELECT 1 FROM pragma_table_info(?) WHERE name = ?)`, table, name)
	if !has {
		t.run(`ALTER TABLE ` + table + ` ADD COLUMN ` + name + ` ` + kind)
	}
}

// endSweeps deletes the conversations that a former version had hidden and not yet
// deleted.
func (t *tx) endSweeps() {
	var has bool
	t.scan([]any{&has}, `SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'sweeps')`)
	if !has {
		return
	}
	hidden, err := collect(stream(context.Background(), &t.statements, func(row scanner) (r keyRow, err error) {
		err = row.Scan(&r.id, asKey(&r.Key))
		return r, err
	}, `SELECT key_id, key FROM sweeps`))
	t.fail(err)
	for _, r := range hidden {
		from, to := span(r.id)
		t.deleteInbox(&r, ``)
		t.deleteTranscript(&r)
		t.run(`DELETE FROM outbox WHERE id BETWEEN ? AND ?`, from, to)
	}
	t.run(`DROP TABLE sweeps`)
}
