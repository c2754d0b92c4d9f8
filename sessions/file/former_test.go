package file_test

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/file"
)

// formerStore is a store of the version before labels, with what sqlite's tests describe.
func formerStore(t *testing.T) *place {
	t.Helper()
	p := newPlace(t)
	f, err := os.Open("testdata/11dfcbe5.tar.gz")
	must(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	must(t, err)
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return p
		}
		must(t, err)
		if h.Typeflag != tar.TypeReg {
			continue
		}
		data, err := io.ReadAll(r)
		must(t, err)
		must(t, os.MkdirAll(filepath.Dir(p.path(h.Name)), 0o700))
		must(t, os.WriteFile(p.path(h.Name), data, 0o600))
	}
}

// The deliveries and questions of a former store have labels, from its rows, of which a
// copy is kept, and from its documents, if the rows are lost.
func TestFormerStore(t *testing.T) {
	for _, rows := range []bool{true, false} {
		p := formerStore(t)
		kept := ""
		if !rows {
			must(t, os.Remove(p.path("rows.db")))
		}
		s := openWith(t, p.dir, file.Options{Converting: func(to string) { kept = to }})
		got := map[sessions.Label]int{}
		again := 0
		must(t, s.Dump(t.Context(), nil, func(r sessions.Record) error {
			if o := r.Outbox; o != nil && o.State != sessions.DeliverySent {
				got[o.Label]++
			}
			if in := r.Inbox; in != nil && in.State == "waiting" && in.Inbound.Again && in.Inbound.Text == "and what is C? #2" {
				again++
			}
			return nil
		}))
		same(t, "the labels of what was not sent", got, map[sessions.Label]int{
			{}:                           10, // the beginning of the poem
			{File: "answer.md"}:          1,
			{Kind: channels.KindApology}: 1,
			{Form: channels.FormNative}:  2,
			{Form: channels.FormRest}:    1,
		})
		if again != 1 {
			t.Errorf("%d questions wait that are asked once more, want 1", again)
		}
		_, err := os.Stat(p.dir + ".rows.db.before-v3")
		if want := rows; (err == nil) != want || (kept == p.dir+".rows.db.before-v3") != want {
			t.Errorf("with rows %v: the copy is %q, %v", rows, kept, err)
		}
		must(t, s.Close())
	}
}
