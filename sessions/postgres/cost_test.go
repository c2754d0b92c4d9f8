package postgres_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"dragoman/channels"
	"dragoman/internal/testkit/pgtest"
	"dragoman/sessions"
	"dragoman/sessions/engine"
	"dragoman/sessions/postgres"
)

// TestCost measures what a turn costs the database while a chat grows to a
// million messages, and prints a table: see docs/internals/postgres.md.
func TestCost(t *testing.T) {
	if os.Getenv("DRAGOMAN_BENCH") != "1" {
		t.Skip("takes minutes; run it with: make bench-postgres")
	}
	const turns = 200
	server := pgtest.New(t, pgtest.Options{Settings: []string{"shared_preload_libraries=pg_stat_statements", "pg_stat_statements.track_planning=off", "full_page_writes=on", "autovacuum=off", "shared_buffers=512MB"}})
	url := server.URL("postgres")
	server.Do(t, "postgres", "CREATE EXTENSION pg_stat_statements")
	s := openAt(t, url, postgres.Options{})
	conn, err := pgx.Connect(t.Context(), url+"&search_path=dragoman,public&application_name=watch")
	must(t, err)
	defer conn.Close(context.Background())
	turn := turning(t, s)
	for range 20 {
		turn()
	}
	var table strings.Builder
	fmt.Fprintln(&table, "| messages in the chat | statements a turn | their time a turn | WAL a turn | CPU of the daemon a turn |\n|---|---|---|---|---|")
	for _, size := range []int{0, 10_000, 100_000, 1_000_000} {
		fill(t, conn, size)
		for range 20 {
			turn()
		}
		_, err := conn.Exec(t.Context(), `SELECT pg_stat_statements_reset()`)
		must(t, err)
		from, began := lsn(t, conn), ownTime(t)
		for range turns {
			turn()
		}
		used, wal := ownTime(t)-began, lsn(t, conn)-from
		var calls int64
		var took float64
		must(t, conn.QueryRow(t.Context(), `SELECT sum(calls)::bigint, sum(total_exec_time) FROM pg_stat_statements`).Scan(&calls, &took))
		fmt.Fprintf(&table, "| %d | %.1f | %.2f ms | %.1f KB | %.2f ms |\n", size, float64(calls)/turns, took/turns, float64(wal)/turns/1000, used.Seconds()*1000/turns)
		if size == 0 {
			t.Log(frequent(t, conn, turns))
		}
	}
	t.Log("\n" + table.String())
}

// turning runs s, and returns a function that has one message answered and delivered.
func turning(t *testing.T, s *engine.Store) func() {
	t.Helper()
	done := make(chan error)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- s.Run(ctx, func(ctx context.Context, c sessions.Claim) error {
			err := answerAll(ctx, s, c)
			done <- err
			return err
		})
	}()
	t.Cleanup(func() {
		cancel()
		must(t, <-ended)
	})
	n := 0
	return func() {
		n++
		_, err := s.Accept(ctx, sessions.Entry{Inbound: channels.Inbound{Key: k1, ID: fmt.Sprint(n), Text: "what is the zwiebelfisch of today?"}})
		must(t, err)
		must(t, <-done)
	}
}

// answerAll is a turn as the gateway makes it.
func answerAll(ctx context.Context, s *engine.Store, c sessions.Claim) error {
	p, err := s.Pending(ctx, c, 10)
	if err != nil {
		return err
	}
	if _, err := s.History(ctx, c.Key, sessions.HistoryLimit{Messages: 50}); err != nil {
		return err
	}
	turn := sessions.Turn{ID: fmt.Sprint("t", p.Messages[0].Seq)}
	for _, m := range p.Messages {
		turn.Answers = append(turn.Answers, sessions.Answered{Seq: m.Seq, Rev: m.Rev})
		turn.Messages = append(turn.Messages, sessions.UserMessage(m.Inbound))
	}
	turn.Replies = []sessions.Reply{{Text: "it is blue"}}
	if err := s.CommitTurn(ctx, c, turn); err != nil {
		return err
	}
	list, err := s.Unsent(ctx, c, 10)
	for _, d := range list {
		if err == nil {
			err = s.MarkSending(ctx, c, d.ID)
		}
		if err == nil {
			err = s.MarkSent(ctx, c, d.ID, channels.Receipt{})
		}
	}
	return err
}

// fill has the chat hold at least size messages, by copies of its first one.
func fill(t *testing.T, conn *pgx.Conn, size int) {
	t.Helper()
	for _, query := range []string{
		`INSERT INTO messages (key_id, seq, role, at, words, data, content)
			SELECT m.key_id, n, m.role, m.at, m.words, m.data, m.content FROM (SELECT * FROM messages ORDER BY seq LIMIT 1) m,
			generate_series((SELECT max(seq) + 1 FROM messages), ` + fmt.Sprint(size) + `) n`,
		`UPDATE keys SET msg_seq = (SELECT max(seq) FROM messages)`,
		`VACUUM ANALYZE`, `CHECKPOINT`,
	} {
		_, err := conn.Exec(t.Context(), query)
		must(t, err)
	}
}

func lsn(t *testing.T, conn *pgx.Conn) (at int64) {
	t.Helper()
	must(t, conn.QueryRow(t.Context(), `SELECT (pg_current_wal_lsn() - '0/0')::bigint`).Scan(&at))
	return at
}

// ownTime is the CPU time of this process.
func ownTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	must(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// frequent lists the statements that run at least once in two turns.
func frequent(t *testing.T, conn *pgx.Conn, turns int) string {
	t.Helper()
	list, err := conn.Query(t.Context(), `SELECT calls, total_exec_time, wal_bytes::bigint, left(regexp_replace(query, '\s+', ' ', 'g'), 150) FROM pg_stat_statements WHERE calls >= $1 ORDER BY calls DESC, total_exec_time DESC`, turns/2)
	must(t, err)
	var b strings.Builder
	var calls, wal int64
	var took float64
	var query string
	_, err = pgx.ForEachRow(list, []any{&calls, &took, &wal, &query}, func() error {
		fmt.Fprintf(&b, "\n%5.1f %6.3f ms %6d B  %s", float64(calls)/float64(turns), took/float64(turns), wal/int64(turns), query)
		return nil
	})
	must(t, err)
	return b.String()
}
