package sqlite_test

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/sqlite"
)

// largeTalk is how many messages the conversation of these tests has: several
// parts, and a rest.
const largeTalk = 1750

var large = channels.MustKey("x:large")

// largeRecords are a conversation with as many answered messages, and a small one.
func largeRecords() (all []sessions.Record) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, k := range []channels.Key{large, channels.MustKey("x:small")} {
		n := largeTalk
		if k != large {
			n = 2
		}
		all = append(all, sessions.Record{Conversation: &sessions.ConversationRecord{
			Key: k, Seq: int64(n), MessageSeq: int64(n), Created: at, Updated: at,
		}})
		var said []sessions.Message
		for i := 1; i <= n; i++ {
			said = append(said, sessions.Message{
				Seq: int64(i), Role: sessions.RoleUser, At: at, Sender: "7", Content: fmt.Sprintf("needle number%d of %s", i, k.Chat()), Usage: &sessions.Usage{Input: 1},
			})
		}
		all = append(all, sessions.Record{Messages: &sessions.MessagesRecord{Key: k, Messages: said}})
		for i := 1; i <= n; i++ {
			id := fmt.Sprintf("%s-%d", k.Chat(), i)
			all = append(all, sessions.Record{Inbox: &sessions.InboxRecord{
				Seq: int64(i), Inbound: channels.Inbound{Key: k, ID: id, MessageID: id, Text: "needle", At: at, Sender: channels.Person{IDs: []string{"7"}}},
				Origin: sessions.OriginChat, State: "done", Accepted: at,
			}})
		}
	}
	return all
}

func from(records []sessions.Record) func() (sessions.Record, error) {
	return func() (sessions.Record, error) {
		if len(records) == 0 {
			return sessions.Record{}, io.EOF
		}
		r := records[0]
		records = records[1:]
		return r, nil
	}
}

// camera copies the files of a store while the writer is at work: what a crash
// at that moment would leave.
type camera struct {
	mu    sync.Mutex
	on    bool
	path  string
	into  string
	shots []string
}

func (c *camera) shoot() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.on {
		shot := filepath.Join(c.into, fmt.Sprint(len(c.shots)), "dragoman.db")
		if err := os.MkdirAll(filepath.Dir(shot), 0o700); err != nil {
			panic(err)
		}
		for _, end := range []string{"", "-wal"} {
			data, err := os.ReadFile(c.path + end)
			if err == nil {
				err = os.WriteFile(shot+end, data, 0o600)
			}
			if err != nil {
				panic(err)
			}
		}
		c.shots = append(c.shots, shot)
	}
}

func (c *camera) film(f func() error) error {
	set := func(on bool) {
		c.mu.Lock()
		c.on = on
		c.mu.Unlock()
	}
	set(true)
	defer set(false)
	return f()
}

// shows counts what the store at path shows of the large conversation.
func shows(t *testing.T, s *sqlite.Store) (messages, found, dumped, counted int) {
	t.Helper()
	ctx := t.Context()
	said, err := s.Messages(ctx, large, 0, 2*largeTalk)
	if err != nil {
		t.Fatal(err)
	}
	all, err := s.SearchAll(ctx, sessions.Search{Query: "needle large", Limit: 2 * largeTalk})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		if f.Key == large {
			found++
		}
	}
	here, err := s.SearchAll(ctx, sessions.Search{Key: large, Query: "needle", Limit: 2 * largeTalk})
	if err != nil {
		t.Fatal(err)
	}
	if len(here) != found {
		t.Errorf("Search finds %d messages, SearchAll %d", len(here), found)
	}
	if err := s.Dump(ctx, nil, func(r sessions.Record) error {
		if r.Messages != nil && r.Messages.Key == large {
			dumped += len(r.Messages.Messages)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	days, err := s.Days(ctx, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range days {
		counted += d.Messages
	}
	return len(said), found, dumped, counted
}

// wholeOrNothing wants that a store that died at some moment shows all of the
// large conversation or none of it, and that its next process removes what is
// hidden. It reports which.
func wholeOrNothing(t *testing.T, path string) (whole bool) {
	t.Helper()
	s := openFile(t, path, sqlite.Options{})
	messages, found, dumped, counted := shows(t, s)
	small := counted % largeTalk // of the other conversation
	whole = messages > 0
	want := 0
	if whole {
		want = largeTalk
	}
	if messages != want || found != want || dumped != want || counted-small != want {
		t.Errorf("%s shows %d messages, finds %d, dumps %d, counts %d, want %d of each", path, messages, found, dumped, counted-small, want)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx, func(context.Context, sessions.Claim) error { return nil }) }()
	left, done := counter(t, path, "sweeps")
	for deadline := time.Now().Add(time.Minute); left() > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("what is hidden is not swept")
		}
	}
	done()
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if n := rowsOf(t, path, "messages"); n != want+small || rowsOf(t, path, "words") != n {
		t.Errorf("%s has %d messages and %d in the index after the sweep, want %d", path, n, rowsOf(t, path, "words"), want+small)
	}
	return whole
}

func rowsOf(t *testing.T, path, table string) (n int) {
	t.Helper()
	count, done := counter(t, path, table)
	defer done()
	return count()
}

// counter counts the rows of a table again and again, on a connection of its own.
func counter(t *testing.T, path, table string) (count func() int, done func()) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	rows, err := db.Prepare(`SELECT count(*) FROM ` + table)
	if err != nil {
		t.Fatal(err)
	}
	return func() (n int) {
		t.Helper()
		if err := rows.QueryRow().Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}, func() { _, _ = rows.Close(), db.Close() }
}

// A large conversation comes in whole or not at all, whenever the process dies,
// and others write in between.
func TestTakeInParts(t *testing.T) {
	dir := t.TempDir()
	c := &camera{path: filepath.Join(dir, "dragoman.db"), into: filepath.Join(dir, "shots")}
	s := openFile(t, c.path, sqlite.Options{})
	if err := sqlite.AtCommit(s, c.shoot); err != nil {
		t.Fatal(err)
	}
	if err := c.film(func() error { _, err := s.Restore(t.Context(), from(largeRecords())); return err }); err != nil {
		t.Fatal(err)
	}
	if len(c.shots) < largeTalk/500+2 {
		t.Fatalf("%d moments were seen, want one for each part", len(c.shots))
	}
	for _, shot := range c.shots {
		if wholeOrNothing(t, shot) {
			t.Errorf("%s has the conversation before the end", shot)
		}
	}
	// What died can be done again.
	again := openFile(t, filepath.Join(dir, "again.db"), sqlite.Options{})
	if _, err := again.Restore(t.Context(), from(largeRecords())); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*sqlite.Store{s, again} {
		conv, err := s.Conversation(t.Context(), large)
		if n, found, dumped, _ := shows(t, s); err != nil || n != largeTalk || found != n || dumped != n || conv.Messages != n || conv.Usage.Input != n {
			t.Errorf("%d messages, %d found, %d dumped, %+v, %v", n, found, dumped, conv, err)
		}
	}
	if _, err := s.Restore(t.Context(), from(largeRecords())); err == nil {
		t.Error("a second Restore succeeds")
	}
	if n := rowsOf(t, c.path, "messages"); n != largeTalk+2 || rowsOf(t, c.path, "sweeps") != 0 {
		t.Errorf("%d messages are there after a Restore that failed, and %d to sweep", n, rowsOf(t, c.path, "sweeps"))
	}
}

// A large conversation goes with the first commit, whenever the process dies,
// and its messages stay known.
func TestDeleteInParts(t *testing.T) {
	dir := t.TempDir()
	c := &camera{path: filepath.Join(dir, "dragoman.db"), into: filepath.Join(dir, "shots")}
	s := openFile(t, c.path, sqlite.Options{})
	if err := sqlite.AtCommit(s, c.shoot); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Restore(t.Context(), from(largeRecords())); err != nil {
		t.Fatal(err)
	}
	if err := c.film(func() error { return s.Delete(t.Context(), large) }); err != nil {
		t.Fatal(err)
	}
	want := dump(t, s)[0].Store.Erased
	if len(want) != 2*largeTalk {
		t.Errorf("%d marks stay, want two of each message", len(want))
	}
	for i, shot := range append(c.shots, c.path) {
		if i%3 == 1 && i < len(c.shots) { // all would take their time
			copied := copyOf(t, shot)
			if got := dump(t, copied)[0].Store.Erased; !slices.Equal(got, want) {
				t.Errorf("a copy made at moment %d has %d marks, want the %d that stay", i, len(got), len(want))
			}
			knows(t, copied, i)
		}
		if i < len(c.shots) && wholeOrNothing(t, shot) != (i == 0) {
			t.Errorf("moment %d of %d shows the conversation: %v", i, len(c.shots), i != 0)
		}
		after := s
		if shot != c.path {
			after = openFile(t, shot, sqlite.Options{})
		}
		knows(t, after, i)
	}
	if len(c.shots) < 2*largeTalk/500 {
		t.Fatalf("%d moments were seen, want one for each part", len(c.shots))
	}
	for _, table := range []string{"sweeps", "inbox", "outbox"} {
		if n := rowsOf(t, c.path, table); table == "sweeps" && n != 0 || table == "inbox" && n > 2 || table == "outbox" && n != 0 {
			t.Errorf("%d rows are left in %s", n, table)
		}
	}
	if err := s.Delete(t.Context(), large); err == nil {
		t.Error("a second Delete succeeds")
	}
	if _, err := s.Restore(t.Context(), from(largeRecords()[:2])); err != nil {
		t.Errorf("it cannot come back: %v", err)
	}
}
