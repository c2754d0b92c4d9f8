package sqlite

import (
	"context"

	"dragoman/channels"
	"dragoman/sessions/rows"
)

// Backend is the rows alone, for a store that also writes a document of each key. Each
// commit marks, in the same transaction, the keys whose documents do not show all rows,
// so that nothing has to be searched for after a crash. Make it with [OpenBackend].
type Backend struct{ *backend }

// Document is the state of the files of a key.
type Document struct {
	Key channels.Key // zero: the records, which belong to no key
	// Changed counts the commits that changed the key. Whole is the last of them that
	// changed or moved stored messages, Deleted the last that deleted them, and Written
	// the last that the files show.
	Changed, Whole, Deleted, Written int64

	Size, Modified int64 // of the document, in bytes and nanoseconds; 0: there is none
	LastSeq, Bytes int64 // of the archive: its last message, and its valid bytes
}

// Stale reports whether the files do not show all rows.
func (d *Document) Stale() bool { return d.Written < d.Changed }

const (
	documentsTable = `CREATE TABLE IF NOT EXISTS documents (
	key      TEXT    PRIMARY KEY,
	changed  INTEGER NOT NULL,
	whole    INTEGER NOT NULL DEFAULT 0,
	deleted  INTEGER NOT NULL DEFAULT 0,
	written  INTEGER NOT NULL DEFAULT 0,
	size     INTEGER NOT NULL DEFAULT 0,
	modified INTEGER NOT NULL DEFAULT 0,
	last_seq INTEGER NOT NULL DEFAULT 0,
	bytes    INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID`
	documentsStale  = `CREATE INDEX IF NOT EXISTS documents_stale ON documents (key) WHERE written < changed`
	outdateDocument = `INSERT INTO documents (key, changed, whole, deleted) VALUES (?1, 1, ?2, ?3) ON CONFLICT (key) DO UPDATE
	SET changed = changed + 1, whole = iif(?2, changed + 1, whole), deleted = iif(?3, changed + 1, deleted)`
)

// OpenBackend opens the rows in the file at path as [Open] does.
func OpenBackend(ctx context.Context, path string, o Options) (*Backend, error) {
	b, err := open(ctx, path, o, true)
	if err != nil {
		return nil, err
	}
	return &Backend{b}, nil
}

// outdated has the changes of a key that its document does not show: Document.Whole and
// Document.Deleted.
type outdated struct{ whole, deleted bool }

// outdate notes the documents that do not show the changes of a step.
func (t *tx) outdate(changes *rows.Changes) {
	if !t.b.documented {
		return
	}
	if t.outdated == nil {
		t.outdated = map[channels.Key]outdated{}
	}
	for _, ch := range changes.Chats {
		was := t.outdated[ch.Key]
		deleted := ch.Gone || ch.Cleared && ch.DropFinished
		t.outdated[ch.Key] = outdated{
			whole:   was.whole || deleted || ch.Cleared || len(ch.Moves)+len(ch.Rewritten) > 0,
			deleted: was.deleted || deleted,
		}
	}
	// Sums change with each turn: their document follows when they are moved to counts, or
	// when something else in it changes.
	if len(changes.Records)+len(changes.Removed) > 0 || changes.Name != nil {
		t.outdated[channels.Key{}] = outdated{}
	}
}

// markOutdated marks the documents that outdate noted.
func (t *tx) markOutdated() error {
	for k, how := range t.outdated {
		t.run(outdateDocument, k.String(), how.whole, how.deleted)
	}
	return t.err
}

// Documents lists the documents of all keys, or of those that are stale.
func (b *Backend) Documents(ctx context.Context, stale bool) ([]Document, error) {
	query := `SELECT key, changed, whole, deleted, written, size, modified, last_seq, bytes FROM documents`
	if stale {
		query += ` WHERE written < changed`
	}
	return collect(stream(ctx, &b.reads, func(row scanner) (d Document, err error) {
		err = row.Scan(asKey(&d.Key), &d.Changed, &d.Whole, &d.Deleted, &d.Written, &d.Size, &d.Modified, &d.LastSeq, &d.Bytes)
		return d, err
	}, query))
}

// Outdate marks the documents of keys to be written again, and with whole their
// archives too.
func (b *Backend) Outdate(ctx context.Context, whole bool, keys ...channels.Key) error {
	if len(keys) == 0 {
		return nil
	}
	return b.do(ctx, op{run: func(t *tx) error {
		for _, k := range keys {
			t.run(outdateDocument, k.String(), whole, false)
		}
		return nil
	}})
}

// Written stores the state of files that show the rows up to Changed. A document
// without a size was deleted, and its row with it.
func (b *Backend) Written(ctx context.Context, list []Document) error {
	return b.do(ctx, op{run: func(t *tx) error {
		for _, d := range list {
			t.run(`UPDATE documents SET written = ?2, size = ?3, modified = ?4, last_seq = ?5, bytes = ?6 WHERE key = ?1`,
				d.Key.String(), d.Changed, d.Size, d.Modified, d.LastSeq, d.Bytes)
			t.run(`DELETE FROM documents WHERE key = ? AND size = 0 AND written = changed`, d.Key.String())
		}
		return nil
	}})
}
