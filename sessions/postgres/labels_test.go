package postgres_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"dragoman/channels"
	"dragoman/internal/testkit/pgtest"
	"dragoman/sessions"
	"dragoman/sessions/engine"
	"dragoman/sessions/postgres"
)

// written are the texts in the rows of the outbox, as nodes of former versions read them,
// and the one question.
func written(t *testing.T, url string) (texts []string, question string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	must(t, err)
	defer conn.Close(context.Background())
	rows, err := conn.Query(t.Context(), `SELECT data::jsonb->>'text' FROM dragoman.outbox ORDER BY seq`)
	must(t, err)
	texts, err = pgx.CollectRows(rows, pgx.RowTo[string])
	must(t, err)
	must(t, conn.QueryRow(t.Context(), `SELECT inbound::jsonb->>'text' FROM dragoman.inbox WHERE state = 'waiting' ORDER BY seq DESC LIMIT 1`).Scan(&question))
	return texts, question
}

// labelled are the deliveries of s, and its questions that are asked once more.
func labelled(t *testing.T, s *engine.Store) (replies []sessions.Reply, attempts int, again []string) {
	t.Helper()
	must(t, s.Dump(t.Context(), nil, func(r sessions.Record) error {
		if o := r.Outbox; o != nil {
			replies = append(replies, sessions.Reply{Label: o.Label, Text: o.Text})
			attempts += o.Attempts
		}
		if in := r.Inbox; in != nil && in.Inbound.Again {
			again = append(again, in.Inbound.Text)
		}
		return nil
	}))
	return replies, attempts, again
}

// While a node of a version before labels is listed, it can read what this one writes, and
// this one reads what it writes and changes. After that there are no marks.
func TestNodesOfFormerVersions(t *testing.T) {
	url := database(t)
	s := openAt(t, url, postgres.Options{})
	do := func(query string) {
		t.Helper()
		must(t, pgtest.Do(t.Context(), url, query))
	}
	replies := []sessions.Reply{
		{Text: "plain", Label: sessions.Label{Kind: channels.KindAnswer, Turn: "x:1#1", Part: 1, Parts: 4}},
		{Text: "a\nb", Label: sessions.Label{Kind: channels.KindAnswer, Turn: "x:1#1", Part: 2, Parts: 4, Form: channels.FormNative}},
		{Text: "c\nd", Label: sessions.Label{Kind: channels.KindAnswer, Turn: "x:1#1", Part: 3, Parts: 4, Form: channels.FormRest}},
		{Text: "all", Label: sessions.Label{Kind: channels.KindAnswer, Turn: "x:1#1", Part: 4, Parts: 4, File: "poem.txt"}},
	}
	n := 0
	write := func() {
		t.Helper()
		n++
		_, err := s.Accept(t.Context(), sessions.Entry{Inbound: channels.Inbound{Key: k1, ID: string(rune('a' + n))}, Answered: true, Replies: replies})
		must(t, err)
		_, err = s.Accept(t.Context(), sessions.Entry{Inbound: channels.Inbound{Key: k1, ID: string(rune('A' + n)), Text: "what is Go?", Again: true}})
		must(t, err)
	}
	plain := []string{"plain", "a\nb", "c\nd", "all"}
	marked := []string{"plain", "\ra\nb", "<!-- more -->\n\rc\n\rd", "<!-- answer.md -->\nall"}

	do(`INSERT INTO dragoman.nodes (id, host, expires) VALUES ('former', 'former', clock_timestamp() + interval '1 hour')`)
	must(t, postgres.RefreshPeers(t.Context(), s))
	write()
	texts, question := written(t, url)
	if diff := cmp.Diff(marked, texts); diff != "" || question != "[asks for another answer to:] what is Go?" {
		t.Errorf("the former node is asked %q and told (-want +got):\n%s", question, diff)
	}
	do(`UPDATE dragoman.outbox SET data = (data::jsonb || '{"attempts": 2}')::text`)
	do(`INSERT INTO dragoman.outbox (key_id, seq, state, due, created, uncertain, id, data) SELECT key_id, 90, state, due, created, uncertain, 'x',
		(data::jsonb || '{"id": "job:3:5:0:watch", "text": "<!-- answer.md -->\nwatched"}')::text FROM dragoman.outbox WHERE seq = 2`)
	want := append(replies[:4:4], sessions.Reply{
		Text: "watched", Label: sessions.Label{Kind: channels.KindJob, Turn: "heartbeat:watch#3", Job: "watch", Part: 1, File: "answer.md"},
	})
	got, attempts, again := labelled(t, s)
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b channels.Key) bool { return a == b })); diff != "" || attempts != 10 {
		t.Errorf("after the former node's changes, %d attempts (-want +got):\n%s", attempts, diff)
	}
	if diff := cmp.Diff([]string{"what is Go?"}, again); diff != "" {
		t.Errorf("asked once more (-want +got):\n%s", diff)
	}

	do(`UPDATE dragoman.nodes SET expires = '-infinity' WHERE id = 'former'`)
	must(t, postgres.RefreshPeers(t.Context(), s))
	do(`DELETE FROM dragoman.outbox WHERE seq = 90`)
	write()
	texts, question = written(t, url)
	if diff := cmp.Diff(append(marked, plain...), texts); diff != "" || question != "what is Go?" {
		t.Errorf("without the former node, the rows ask %q and have (-want +got):\n%s", question, diff)
	}
	got, _, again = labelled(t, s)
	if len(got) != 8 || len(again) != 2 || got[3] != replies[3] || got[7] != replies[3] {
		t.Errorf("in the end there are %+v and %q", got, again)
	}
}
