package bench_test

import (
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
	"dragoman/sessions/sqlite"
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

// pastFiles is past in a store of files.
func pastFiles(t *testing.T, h history) (state string) {
	t.Helper()
	from, err := sqlite.Open(t.Context(), filepath.Join(past(t, h), "dragoman.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	state = filepath.Join(t.TempDir(), "state")
	// As soon as something is in the log it is written to the documents.
	to, err := file.Open(t.Context(), filepath.Join(state, "sessions"), file.Options{Settle: 100 * time.Millisecond, LogBytes: 1})
	if err != nil {
		t.Fatal(err)
	}
	const batch = 250
	for first := 1; first <= h.conversations; first += batch {
		var keys []channels.Key
		for i := first; i < min(first+batch, h.conversations+1); i++ {
			keys = append(keys, channels.MustKey(fmt.Sprintf("telegram:%d", 1_000_000+i)))
		}
		var records []sessions.Record
		err := from.Dump(t.Context(), keys, func(r sessions.Record) error {
			records = append(records, r)
			return nil
		})
		if err == nil {
			err = to.Restore(t.Context(), handOut(records))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	// Close would do so for some seconds only.
	look := time.NewTicker(100 * time.Millisecond)
	defer look.Stop()
	for filesSize(t, filepath.Join(state, "sessions", "log")) > 0 {
		<-look.C
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	return state
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
	store := openFiles(t, pastFiles(t, history{conversations: 30, pairs: 3, long: 1}))
	defer store.Close()
	list, err := store.List(t.Context(), 0, 100)
	if err != nil || len(list) != 30 {
		t.Errorf("List = %d conversations, %v, want 30", len(list), err)
	}
	h, err := store.History(t.Context(), channels.MustKey("telegram:1000007"), sessions.HistoryLimit{})
	if err != nil || len(h.Messages) != 6 || h.Messages[5].Usage == nil || h.Messages[4].Turn != "telegram:1000007#5" {
		t.Errorf("a short past is %+v, %v", h, err)
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
	r.startRows(&b)
	fmt.Fprintln(&b)
	note := func(format string, args ...any) { fmt.Fprintf(&b, "- "+format+"\n", args...) }
	note("The disk's share: writing and fsyncing 4 KiB takes %s (median), and appending a message does that once. The SHA-256 of 16 MiB takes %s (at best); other programs used %.2f cores meanwhile.", ms(r.fsync), ms(r.hash), r.otherCores)
	note("The files have %s; they were made in %s. Operations follow each other, each on a conversation chosen at random, so that most are the first on theirs since the start: a conversation in use is loaded from memory.", mb(r.database), r.built.Round(time.Second))
	note("All of it took %s.", r.took.Round(time.Second))
	return b.String()
}
