package bench_test

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/sqlite"

	_ "modernc.org/sqlite" // registers the driver
)

// The chat that has a long past, among the many that have a short one.
const (
	longChat = 4000
	tail     = 8 // of its messages come after its summary
)

// history is what a state directory is filled with.
type history struct {
	conversations int
	pairs         int // questions and answers of each
	long          int // messages of the one that has a long past
}

// past fills a new state directory with conversations as if they had been
// held: each with questions, answers and what the queues keep of them, and
// one with so many messages and a summary of all but the newest. Statements
// make them in seconds; TestPast reads them back through the store.
func past(t *testing.T, h history) (state string) {
	t.Helper()
	state = filepath.Join(t.TempDir(), "state")
	path := filepath.Join(state, "dragoman.db")
	store, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path+"?_pragma=journal_mode(WAL)&_pragma=synchronous(OFF)")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	for _, query := range pastQueries {
		if _, err := db.ExecContext(t.Context(), query, sql.Named("n", h.conversations), sql.Named("pairs", h.pairs), sql.Named("long", h.long), sql.Named("tail", tail)); err != nil {
			t.Fatalf("%v in %s", err, query)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return state
}

const (
	ids   = `WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < @n), p(j) AS (SELECT 1 UNION ALL SELECT j + 1 FROM p WHERE j < @pairs) `
	days  = `strftime('%Y%m%d', '2025-01-01', (i / 500) || ' days')`
	then  = `1750000000000000000 + i * 1000000000`
	asked = `'{"name":"Ann","sender":"' || (1000000 + i) || '","at":"2025-06-15T12:00:00Z","turn":"telegram:' || (1000000 + i) || '#' || (2 * j - 1) || '"}'`
	said  = `'{"at":"2025-06-15T12:00:01Z","model":"fake","usage":{"input":900,"output":30}}'`
	quest = `'What do you know about the number ' || (i + j - 1) || ', and is it a good one to think of today?'`
	reply = `'The number ' || (i + j - 1) || ' is as good as any other, and I would not worry about it until tomorrow.'`
)

var pastQueries = []string{
	`BEGIN`,
	ids + `INSERT INTO keys (id, key, seq, msg_seq) SELECT i, 'telegram:' || (1000000 + i), 2 * @pairs, 2 * @pairs FROM c`,
	ids + `INSERT INTO generations (day, number, key_id, from_seq, began) SELECT ` + days + `, i % 500, i, 0, 1700000000000000000 FROM c`,
	ids + `INSERT INTO conversations (key_id, generation, from_seq, created, updated, messages, input, output, cached)
		SELECT i, ` + days + ` || printf('_%03d', i % 500), 0, ` + then + `, ` + then + `, 2 * @pairs, 900 * @pairs, 30 * @pairs, 0 FROM c`,
	ids + `INSERT INTO inbox (id, dedupe, message_id, origin, state, accepted, rest, text)
		SELECT i << 32 | 2 * j - 1, 'telegram:' || (1000 * i + j), 2 * j - 1, 'chat', 'done', ` + then + `,
		CAST('{"sender":{"IDs":["' || (1000000 + i) || '"],"Name":"Ann"},"private":true}' AS BLOB), ` + quest + ` FROM c CROSS JOIN p`,
	ids + `INSERT INTO outbox (id, state, attempts, created, reply_to, edit, message_id, text)
		SELECT i << 32 | 2 * j, 'sent', 1, ` + then + `, '', '', 2 * j, ` + reply + ` FROM c CROSS JOIN p`,
	ids + `INSERT INTO messages (id, role, bytes, rest, content)
		SELECT i << 32 | 2 * j - 1, 'user', length(` + quest + `), CAST(` + asked + ` AS BLOB), ` + quest + ` FROM c CROSS JOIN p UNION ALL
		SELECT i << 32 | 2 * j, 'assistant', length(` + reply + `), CAST(` + said + ` AS BLOB), ` + reply + ` FROM c CROSS JOIN p`,
	// The long one has the id after all others.
	`INSERT INTO keys (id, key, seq, msg_seq) SELECT @n + 1, 'telegram:` + fmt.Sprint(longChat) + `', @long, @long`,
	`INSERT INTO generations (day, number, key_id, from_seq, began) VALUES ('20240101', 1, @n + 1, 0, 1700000000000000000)`,
	`INSERT INTO conversations (key_id, generation, from_seq, covers, created, updated, messages, input, output, cached)
		VALUES (@n + 1, '20240101_001', 0, @long - @tail, 1700000000000000000, 1750000000000000000, @long, 0, 0, 0)`,
	`WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < @long), p(j) AS (SELECT 1)
		INSERT INTO messages (id, role, bytes, rest, content)
		SELECT (@n + 1) << 32 | i, iif(i % 2, 'user', 'assistant'), length(` + quest + `), CAST('{"at":"2025-06-15T12:00:00Z"}' AS BLOB), ` + quest + ` FROM c CROSS JOIN p`,
	`INSERT INTO summaries (id, generation, model, at, text)
		SELECT (@n + 1) << 32 | (@long - @tail), '20240101_001', 'fake', 1750000000000000000, 'The person asks about numbers. Nothing is open.'`,
	`INSERT INTO words (rowid, said) SELECT id, lower(content) FROM messages`,
	`COMMIT`,
	`PRAGMA wal_checkpoint(TRUNCATE)`,
}

// TestPast: what the statements made is what the store reads.
func TestPast(t *testing.T) {
	state := past(t, history{conversations: 30, pairs: 3, long: 200})
	store, err := sqlite.Open(t.Context(), filepath.Join(state, "dragoman.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	list, err := store.Find(t.Context(), sessions.Query{Limit: 100})
	if err != nil || len(list) != 31 {
		t.Errorf("Find = %d conversations, %v, want 31", len(list), err)
	}
	h, err := store.History(t.Context(), channels.MustKey("telegram:1000007"), sessions.HistoryLimit{})
	if err != nil || len(h.Messages) != 6 || h.Messages[5].Usage == nil || h.Messages[4].Turn != "telegram:1000007#5" {
		t.Errorf("a short past is %+v, %v", h, err)
	}
	h, err = store.History(t.Context(), channels.MustKey(fmt.Sprintf("telegram:%d", longChat)), sessions.HistoryLimit{})
	if err != nil || len(h.Messages) != tail || h.Summary == nil || h.Messages[tail-1].Seq != 200 {
		t.Errorf("the long past is %+v, %v", h, err)
	}
	if found, err := store.SearchAll(t.Context(), sessions.Search{Key: channels.MustKey(fmt.Sprintf("telegram:%d", longChat)), Query: "number 117", Limit: 1}); err != nil || len(found) != 1 || found[0].Message.Seq != 117 {
		t.Errorf("Search = %v, %v, want message 117", found, err)
	}
	if feed, err := store.Feed(t.Context(), channels.MustKey("telegram:1000007"), 0, 10); err != nil || len(feed) != 6 {
		t.Errorf("Feed = %v, %v, want six items", feed, err)
	}
	if st, err := store.Stats(t.Context()); err != nil || st.Waiting+st.Unsent+st.Dead != 0 {
		t.Errorf("Stats = %+v, %v, want nothing open", st, err)
	}
}

// size is how big the database of a state directory is.
func size(t *testing.T, state string) int64 {
	t.Helper()
	info, err := os.Stat(filepath.Join(state, "dragoman.db"))
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}
