package bench_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/engine"
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

func openFiles(t *testing.T, state string) *engine.Store {
	t.Helper()
	store, err := file.Open(t.Context(), filepath.Join(state, "sessions"), file.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// pastFiles fills a new state directory as past does, and has the store write the
// documents of it.
func pastFiles(t *testing.T, h history) (state string) {
	t.Helper()
	state = past(t, h)
	dir := filepath.Join(state, "sessions")
	if err := errors.Join(os.Mkdir(dir, 0o700), os.Rename(filepath.Join(state, "dragoman.db"), filepath.Join(dir, "rows.db"))); err != nil {
		t.Fatal(err)
	}
	store, err := file.Open(t.Context(), dir, file.Options{FlushInterval: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	for documents := 0; documents <= h.conversations; {
		entries, err := os.ReadDir(filepath.Join(dir, "conversations"))
		if err != nil {
			t.Fatal(err)
		}
		documents = 0
		for _, e := range entries {
			if filepath.Ext(e.Name()) == ".json" {
				documents++
			}
		}
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	return state
}

// TestPastFiles: the store has what past made, and documents of it.
func TestPastFiles(t *testing.T) {
	state := pastFiles(t, history{conversations: 30, pairs: 3, long: 200})
	if err := os.Remove(filepath.Join(state, "sessions", "rows.db")); err != nil {
		t.Fatal(err)
	}
	store := openFiles(t, state) // which reads the documents
	defer store.Close()
	list, err := store.Find(t.Context(), sessions.Query{Limit: 100})
	if err != nil || len(list) != 31 {
		t.Errorf("Find = %d conversations, %v, want 31", len(list), err)
	}
	h, err := store.History(t.Context(), channels.MustKey("telegram:1000007"), sessions.HistoryLimit{})
	if err != nil || len(h.Messages) != 6 || h.Messages[5].Usage == nil || h.Messages[4].Turn != "telegram:1000007#5" {
		t.Errorf("a short past is %+v, %v", h, err)
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
	note("The files have %s, rows among them; they were made in %s. Operations follow each other, each on a conversation chosen at random, so that most are the first on theirs since the start: a conversation in use is loaded from memory.", mb(r.database), r.built.Round(time.Second))
	note("All of it took %s.", r.took.Round(time.Second))
	return b.String()
}
