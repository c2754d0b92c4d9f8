package media_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/internal/media"
)

func keep(t *testing.T, s *media.Store, key, id, content string) channels.Attachment {
	t.Helper()
	a, err := s.Keep(t.Context(), message(key, id, channels.Attachment{}), 0, gives(content))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// All files together have a limit, also if many come at once or their declared sizes
// are wrong. Removing files makes room.
func TestQuota(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, media.Options{MaxTotal: 100})
	const full = "no room for more files here"
	if a := keep(t, s, "irc:a", "1", strings.Repeat("x", 60)); a.File == "" {
		t.Fatalf("Keep = %+v", a)
	}
	if a := keep(t, s, "irc:b", "2", strings.Repeat("x", 41)); a.Missing != full {
		t.Errorf("Keep of 41 bytes beside 60 = %+v, want no room", a)
	}
	_, err := s.Keep(t.Context(), message("irc:b", "0", channels.Attachment{}), 0, func(_ context.Context, w io.Writer) error {
		_, _ = io.WriteString(w, "1234567890")
		return channels.ErrPermanent // what was written so far takes no room
	})
	if err != nil {
		t.Fatal(err)
	}
	if a := keep(t, s, "irc:b", "3", strings.Repeat("x", 40)); a.File == "" {
		t.Errorf("Keep of 40 bytes beside 60 = %+v, want a file", a)
	}
	asked := false
	var a channels.Attachment
	a, err = s.Keep(t.Context(), message("irc:b", "4", channels.Attachment{}), 0, func(context.Context, io.Writer) error {
		asked = true
		return nil
	})
	if err != nil || a.Missing != full || asked {
		t.Errorf("Keep in a full folder = %+v, %v, asked the network: %v", a, err, asked)
	}
	again := open(t, dir, media.Options{MaxTotal: 100}) // counts anew
	if a := keep(t, again, "irc:b", "5", "x"); a.Missing != full {
		t.Errorf("Keep after a restart = %+v, want no room", a)
	}
	if err := s.Remove(channels.MustKey("irc:a")); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for _, id := range []string{"6", "7", "8", "9"} {
		wg.Go(func() { keep(t, s, "irc:c", id, strings.Repeat("x", 30)) })
	}
	wg.Wait()
	var total int64
	for _, path := range left(t, dir) {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		total += info.Size()
	}
	if total != 100 {
		t.Errorf("the files take %d bytes, want 100 of 100", total)
	}
}

// ledger is the files that each conversation names.
type ledger struct {
	files map[string][]string
	reads int
}

func (l *ledger) Exists(_ context.Context, k channels.Key) (bool, error) {
	_, found := l.files[k.String()]
	return found, nil
}

func (l *ledger) Files(_ context.Context, k channels.Key) ([]string, error) {
	l.reads++
	if k.Chat() == "broken" {
		return nil, errors.New("broken")
	}
	return l.files[k.String()], nil
}

func TestTidy(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, media.Options{MaxTotal: 1000})
	old := func(a channels.Attachment) channels.Attachment {
		t.Helper()
		then := time.Now().Add(-48 * time.Hour)
		if err := os.Chtimes(filepath.Join(dir, a.File), then, then); err != nil {
			t.Fatal(err)
		}
		return a
	}
	wanted, stray := old(keep(t, s, "irc:#Go", "1", "x")), old(keep(t, s, "irc:#Go", "2", "x"))
	young := keep(t, s, "irc:#Go", "3", "x")
	gone, new := old(keep(t, s, "irc:gone", "4", "x")), keep(t, s, "irc:gone", "5", "x")
	moved := old(keep(t, s, "irc:was", "6", "x"))
	kept := old(keep(t, s, "irc:broken", "7", "x"))
	if err := s.Join(channels.MustKey("irc:was"), channels.MustKey("irc:is")); err != nil {
		t.Fatal(err)
	}
	l := &ledger{files: map[string][]string{"irc:#Go": {wanted.File}, "irc:is": {moved.File}, "irc:broken": nil}}
	before := time.Now().Add(-24 * time.Hour)
	n, err := s.Tidy(t.Context(), before, l)
	if n != 2 || err == nil || !strings.Contains(err.Error(), "broken") {
		t.Errorf("Tidy = %d, %v, want 2 removed and what is broken", n, err)
	}
	there := func(a channels.Attachment) bool {
		f, err := s.Open(a.File)
		if err == nil {
			_ = f.Close()
		}
		return err == nil
	}
	got := []bool{there(wanted), there(stray), there(young), there(gone), there(new), there(moved), there(kept)}
	if want := []bool{true, false, true, false, true, true, true}; !slices.Equal(got, want) {
		t.Errorf("left are %v, want %v", got, want)
	}
	// After a week of that, transcripts are not read for what is left.
	delete(l.files, "irc:broken")
	l.reads = 0
	if n, err := s.Tidy(t.Context(), before.Add(7*24*time.Hour), l); n != 3 || err != nil || l.reads != 1 {
		t.Errorf("Tidy a week later = %d, %v after reading %d transcripts, want 3 after that of the young one", n, err, l.reads)
	}
	delete(l.files, "irc:#Go")
	if n, err := s.Tidy(t.Context(), before, l); n != 1 || err != nil || there(wanted) {
		t.Errorf("Tidy of a conversation that is gone = %d, %v", n, err)
	}
}
