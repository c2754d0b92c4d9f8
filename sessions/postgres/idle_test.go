package postgres_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"dragoman/internal/testkit"
	"dragoman/sessions/postgres"
)

// A node that has nothing to do looks for dead nodes and for its peers each second or
// so. What that costs must not grow with the conversations: no statement that runs by
// itself reads a whole table of them.
func TestIdleReadsNoWholeTable(t *testing.T) {
	url := database(t)
	db, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(t.Context())
	const fill = `
		INSERT INTO keys (key, known, seq) SELECT 'x:' || i, true, 2 FROM generate_series(1, 100000) i;
		INSERT INTO inbox (key_id, seq, state, beat, due, accepted, dedupe, message_id, about, data, inbound)
			SELECT id, 1, 'done', false, 0, 0, 'd' || id, '', '', '{}', '{}' FROM keys;
		INSERT INTO outbox (key_id, seq, state, due, created, uncertain, id, data) SELECT id, 2, 'sent', 0, 0, false, 'o' || id, '{}' FROM keys;
		INSERT INTO messages (key_id, seq, role, at, data, content) SELECT id, 1, 'user', 0, '{}', '' FROM keys`
	if _, err := db.Exec(t.Context(), fill); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(t.Context(), `ANALYZE`); err != nil {
		t.Fatal(err)
	}
	scans := func() (n int64) {
		t.Helper()
		const count = `SELECT coalesce(sum(seq_scan), 0)::bigint FROM pg_stat_user_tables WHERE relname IN ('keys', 'inbox', 'outbox', 'messages')`
		if err := db.QueryRow(t.Context(), count).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	looks := func() (n int64) {
		t.Helper()
		const count = `SELECT coalesce(sum(idx_scan), 0)::bigint FROM pg_stat_user_indexes WHERE indexrelname = 'keys_node'`
		if err := db.QueryRow(t.Context(), count).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	s := openAt(t, url, postgres.Options{TTL: ttl})
	serve(t, s)
	testkit.Eventually(t, "the node to have looked, after its start", func() bool { return looks() >= 9 })
	before, looked := scans(), looks()
	testkit.Eventually(t, "the node to look for others, three times", func() bool { return looks() >= looked+9 })
	if n := scans() - before; n > 0 {
		t.Errorf("an idle node read a whole table %d times", n)
	}
}
