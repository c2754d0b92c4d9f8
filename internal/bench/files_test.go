package bench_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/file"
)

// TestBenchStoreFiles measures the store of files with as many messages as
// TestBenchStore has in its database, and the start of the real binary on
// stores of different sizes.
func TestBenchStoreFiles(t *testing.T) {
	if os.Getenv("DRAGOMAN_BENCH") != "1" || os.Getenv("DRAGOMAN_STORE") != "file" {
		t.Skip("measures for some minutes; run it with: make bench-store STORE=file")
	}
	began := time.Now()
	cpu := machineCPU() - ownCPU()
	r := &storeReport{fsync: fsync(t), hash: hash()}
	var states []string
	for _, n := range []int{100, 1000, stored.conversations} {
		r.starts = append(r.starts, started{conversations: n})
		states = append(states, pastFiles(t, history{conversations: n, pairs: stored.pairs, long: 1}))
	}
	big := states[len(states)-1]
	r.built = time.Since(began)
	r.database = filesSize(t, big)
	measureFileStarts(t, build(t), states, r)
	measureStore(t, openFiles(t, big), r)
	r.took = time.Since(began)
	r.otherCores = max((machineCPU()-ownCPU()-cpu).Seconds()/r.took.Seconds(), 0)
	t.Logf("\n%s", r.files())
	if path := os.Getenv("DRAGOMAN_REPORT"); path != "" && !t.Failed() {
		if err := writeSection(path, "file-store", "make bench-store STORE=file", r.files()); err != nil {
			t.Error(err)
		}
	}
}

func openFiles(t *testing.T, state string) *file.Store {
	t.Helper()
	store, err := file.Open(t.Context(), filepath.Join(state, "sessions"), file.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// The first conversation of pastFiles. Everything in its files that differs
// from one conversation to the other is this number, or an id that begins with
// it: so the files of the others are the same with another number. It has no 0
// at its end, which a time would leave out.
const firstOfMany = 1_000_001

// pastFiles fills a new state directory as past does. The store writes the
// first conversation. The documents and archives of the others are made of its
// own, without the three waits for the disk that each costs otherwise, and a
// store that opens them without an index makes one. TestPastFiles reads them.
func pastFiles(t *testing.T, h history) (state string) {
	t.Helper()
	state = filepath.Join(t.TempDir(), "state")
	dir := filepath.Join(state, "sessions")
	store := openFiles(t, state)
	if _, err := store.Restore(t.Context(), handOut(conversation(h.pairs))); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	for _, form := range []string{"conversations/telegram_%d.json", "archive/telegram_%d.jsonl"} {
		first, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf(form, firstOfMany)))
		if err != nil {
			t.Fatal(err)
		}
		for i := 1; i < h.conversations; i++ {
			n := fmt.Sprint(firstOfMany + i)
			other := bytes.ReplaceAll(first, fmt.Append(nil, firstOfMany), []byte(n))
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf(form, firstOfMany+i)), other, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.Remove(filepath.Join(dir, "index.json")); err != nil {
		t.Fatal(err)
	}
	store = openFiles(t, state)
	last := channels.MustKey(fmt.Sprintf("telegram:%d", firstOfMany+h.conversations-1))
	if _, err := store.Conversation(t.Context(), last); err != nil {
		t.Fatalf("the last of %d conversations: %v", h.conversations, err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	return state
}

// conversation is the first of pastFiles: questions and answers, and what the
// queues keep of them.
func conversation(pairs int) (records []sessions.Record) {
	key := channels.MustKey(fmt.Sprintf("telegram:%d", firstOfMany))
	at := time.Date(2025, 6, 15, 12, 0, 0, firstOfMany*100, time.UTC)
	var said []sessions.Message
	var queues []sessions.Record
	for j := range int64(pairs) {
		seq := 2*j + 1
		question := fmt.Sprintf("What do you know about the number %d, and is it a good one to think of today?", firstOfMany)
		answer := fmt.Sprintf("The number %d is as good as any other, and I would not worry about it until tomorrow.", firstOfMany)
		id := fmt.Sprintf("%d/%d", firstOfMany, j)
		who := fmt.Sprint(firstOfMany)
		said = append(said,
			sessions.Message{Seq: seq, Role: sessions.RoleUser, Content: question, Name: "Ann", Sender: who, At: at, Turn: fmt.Sprintf("%s#%d", key, seq)},
			sessions.Message{Seq: seq + 1, Role: sessions.RoleAssistant, Content: answer, At: at, Turn: fmt.Sprintf("%s#%d", key, seq), Model: "fake", Usage: &sessions.Usage{Input: 900, Output: 30}})
		in := channels.Inbound{Key: key, ID: id, MessageID: fmt.Sprint(seq), Private: true, Sender: channels.Person{IDs: []string{who}, Name: "Ann"}, Text: question, At: at}
		queues = append(queues,
			sessions.Record{Inbox: &sessions.InboxRecord{Seq: seq, Inbound: in, Origin: sessions.OriginChat, State: "done", Accepted: at}},
			sessions.Record{Outbox: &sessions.OutboxRecord{MessageID: fmt.Sprint(seq + 1), Delivery: sessions.Delivery{
				ID: "out-" + id, Key: key, Seq: seq + 1, Text: answer, State: sessions.DeliverySent, Attempts: 1, Created: at,
			}}})
	}
	head := &sessions.ConversationRecord{Key: key, Seq: int64(2 * pairs), MessageSeq: int64(2 * pairs), Created: at, Updated: at, Generations: []sessions.Generation{
		{ID: fmt.Sprintf("20250615_%d", firstOfMany), FirstSeq: 1, LastSeq: int64(2 * pairs), Began: at},
	}}
	records = append(records, sessions.Record{Conversation: head}, sessions.Record{Messages: &sessions.MessagesRecord{Key: key, Messages: said}})
	return append(records, queues...)
}

func handOut(records []sessions.Record) func() (sessions.Record, error) {
	return func() (r sessions.Record, err error) {
		if len(records) == 0 {
			return r, io.EOF
		}
		r, records = records[0], records[1:]
		return r, nil
	}
}

// TestPastFiles: what was moved is what the store reads.
func TestPastFiles(t *testing.T) {
	state := pastFiles(t, history{conversations: 30, pairs: 3, long: 1})
	store := openFiles(t, state)
	defer store.Close()
	list, err := store.Find(t.Context(), sessions.Query{Limit: 100})
	if err != nil || len(list) != 30 {
		t.Errorf("Find = %d conversations, %v, want 30", len(list), err)
	}
	k := channels.MustKey("telegram:1000007")
	if list[30-7].Key != k {
		t.Errorf("the list begins with %s", list[0].Key)
	}
	h, err := store.History(t.Context(), k, sessions.HistoryLimit{})
	if err != nil || len(h.Messages) != 6 || h.Messages[5].Usage == nil || h.Messages[4].Turn != "telegram:1000007#5" {
		t.Errorf("a short past is %+v, %v", h, err)
	}
	if feed, err := store.Feed(t.Context(), k, 0, 10); err != nil || len(feed) != 6 {
		t.Errorf("Feed = %v, %v, want six items", feed, err)
	}
	a, err := store.Accept(t.Context(), sessions.Entry{Inbound: channels.Inbound{Key: k, ID: "1000007/2", Sender: channels.Person{IDs: []string{"1000007"}}, Text: "again"}})
	if err != nil || a.Outcome != sessions.Duplicate {
		t.Errorf("a message of the past is %+v, %v", a, err)
	}
	aside, err := file.Damaged(filepath.Join(state, "sessions"))
	if err != nil || len(aside) > 0 {
		t.Errorf("set aside: %v, %v", aside, err)
	}
}

// filesSize is how many bytes the files below a folder have.
func filesSize(t *testing.T, dir string) (size int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			var info fs.FileInfo
			if info, err = e.Info(); err == nil {
				size += info.Size()
			}
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil // a running store has removed it meanwhile
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return size
}

func measureFileStarts(t *testing.T, bin string, states []string, r *storeReport) {
	const rounds = 11
	houses := make([]*house, len(states))
	for i, state := range states {
		houses[i] = newHouse(t, bin, plan{state: state, store: "file"})
	}
	for range rounds {
		for i, h := range houses {
			d := h.start()
			r.starts[i].polled = append(r.starts[i].polled, d.polled)
			d.stop()
			began := time.Now()
			store := openFiles(t, states[i])
			if err := store.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			r.starts[i].opened = append(r.starts[i].opened, time.Since(began))
			if err := store.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i := range r.starts {
		slices.Sort(r.starts[i].polled)
		slices.Sort(r.starts[i].opened)
	}
}

// files is the report about the store of files.
func (r *storeReport) files() string {
	var b strings.Builder
	line := func(what, goal, got string) { fmt.Fprintf(&b, "| %s | %s | %s |\n", what, goal, measured(goal, got)) }
	b.WriteString("| 10,000 conversations, 1,000,000 messages | goal | measured |\n|---|---|---|\n")
	line("append one message durably", "p50 ≤ 0.5 ms", two(r.accept))
	line("load a conversation of 100 messages for a turn", "p50 ≤ 0.5 ms", two(r.load))
	line("list the newest 50 conversations", "p50 ≤ 0.5 ms", two(r.list))
	line("list 50 conversations somewhere in the newest 1000", "-", two(r.pages))
	line(fmt.Sprintf("list who wrote on the channel (%d)", r.writers), "-", two(r.who))
	r.startRows(&b)
	fmt.Fprintln(&b)
	note := func(format string, args ...any) { fmt.Fprintf(&b, "- "+format+"\n", args...) }
	note("The disk's share: writing and fsyncing 4 KiB takes %s (median), and appending a message does that once. The SHA-256 of 16 MiB takes %s (at best); other programs used %.2f cores meanwhile.", ms(r.fsync), ms(r.hash), r.otherCores)
	note("A start reads the store beside everything else. \"Opening the store\" is until it has been read: a message or a list that comes earlier waits for that.")
	note("The files have %s; they were made in %s. Operations follow each other, each on a conversation chosen at random, so that most are the first on theirs since the start: a conversation in use is loaded from memory.", mb(r.database), r.built.Round(time.Second))
	note("All of it took %s.", r.took.Round(time.Second))
	return b.String()
}
