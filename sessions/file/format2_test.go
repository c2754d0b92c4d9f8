package file_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"dragoman/sessions"
	"dragoman/sessions/file"
)

// format2Store is a store of format 2 as a kill left it, and its dump.
func format2Store(t *testing.T) (p *place, want []string) {
	t.Helper()
	p = newPlace(t)
	archive, err := txtar.ParseFile("testdata/format2.txtar")
	must(t, err)
	for _, f := range archive.Files {
		if f.Name == "want" {
			want = strings.Split(strings.TrimSpace(string(f.Data)), "\n")
			continue
		}
		must(t, os.MkdirAll(filepath.Dir(p.path(f.Name)), 0o700))
		must(t, os.WriteFile(p.path(f.Name), f.Data, 0o600))
	}
	return p, want
}

// A store of format 2, whose log is newer than its documents, is converted without
// loss. A copy of it is kept, and the files that only format 2 has are removed.
func TestFormat2(t *testing.T) {
	for name, more := range map[string]string{"as it is": "", "with an interrupted commit": `00000000 17 {"lsn":99`} {
		t.Run(name, func(t *testing.T) {
			p, want := format2Store(t)
			must(t, os.WriteFile(p.path("seen.ids"), []byte("?"), 0o600))
			log := p.path("log/0000000000000235.jsonl")
			must(t, os.WriteFile(log, append(read(t, log), more...), 0o600))
			before := contents(t, p.dir)
			t.Run("a start that fails", func(t *testing.T) {
				file.OnRead(t, func(path string) error {
					if filepath.Base(path) == "x_work.jsonl" {
						return os.ErrPermission
					}
					return nil
				})
				if _, err := openAt(t, p.dir); !errors.Is(err, os.ErrPermission) {
					t.Errorf("Open = %v", err)
				}
			})
			var backup string
			s := openWith(t, p.dir, file.Options{Converting: func(to string) {
				backup = to
				same(t, "the files when Converting is called", contents(t, p.dir), before)
			}})
			same(t, "the copy that Converting names", backup, p.dir+".before-v3")
			same(t, "Dump", dump(t, s), want)
			if a, err := s.Accept(t.Context(), sessions.Entry{Inbound: in("x:away", "away", "again")}); err != nil || a.Outcome != sessions.Duplicate {
				t.Errorf("what was deleted is accepted again: %+v, %v", a, err)
			}
			must(t, s.Close())
			same(t, "the copy", contents(t, p.dir+".before-v3"), before)
			for _, gone := range []string{"log", "index.json", "seen.ids"} {
				if _, err := os.Lstat(p.path(gone)); err == nil {
					t.Errorf("%s is still there", gone)
				}
			}
			for path, text := range contents(t, p.dir) {
				if strings.HasSuffix(path, ".json") && !strings.Contains(text, `"format": 3`) {
					t.Errorf("%s is\n%.300s", path, text)
				}
			}
			if list := p.aside(t); len(list) > 0 {
				t.Errorf("set aside: %v", list)
			}
			s = p.open(t)
			same(t, "Dump once more", dump(t, s), want)
			must(t, s.Close())
			p.quiet(t)
		})
	}
}

// Damage to a store of format 2 stays within its conversation. If a document is damaged
// or missing, the archive and the log have all of it but the journal of a turn.
func TestFormat2WithDamage(t *testing.T) {
	p, want := format2Store(t)
	must(t, os.WriteFile(p.path("conversations/x_long.json"), []byte("{"), 0o600))
	must(t, os.Remove(p.path("conversations/x_new.json")))
	archive := read(t, p.path("archive/x_to.jsonl"))
	must(t, os.WriteFile(p.path("archive/x_to.jsonl"), bytes.Replace(archive, []byte(`{"message"`), []byte(`{"message`), 1), 0o600))
	log := p.path("log/0000000000000235.jsonl")
	must(t, os.WriteFile(log, bytes.Replace(read(t, log), []byte("in the log alone"), []byte("in the log  lone"), 1), 0o600))
	s := p.open(t)
	p.says(t, "x_long.json.corrupt-", "x_to.jsonl.corrupt-", "cannot be read and is left out")
	got := dump(t, s)
	for _, line := range want {
		if !strings.Contains(line, "x:only") && !strings.Contains(strings.Join(got, "\n"), line) {
			t.Errorf("there is no %.300s", line)
		}
	}
}
