package file_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A restored backup gives files the time of the restore, or times of long ago. What
// expires depends on the last message and on neither, with the rows and without.
func TestCase49RestoredWithOtherTimes(t *testing.T) {
	for name, stamp := range map[string]time.Time{
		"old": time.Now().AddDate(-2, 0, 0), "new": time.Now().AddDate(2, 0, 0),
	} {
		for _, rows := range []bool{true, false} {
			p := newPlace(t)
			s := p.open(t)
			say(t, s, "x:1", "1", "hi")
			must(t, s.Close())
			must(t, filepath.WalkDir(p.dir, func(path string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}
				if !rows && d.Name() == "rows.db" {
					return os.Remove(path)
				}
				return os.Chtimes(path, stamp, stamp)
			}))
			s = p.open(t)
			gone, err := s.Expire(t.Context(), time.Now().Add(-time.Hour), 10)
			must(t, err)
			same(t, name+" files: what expired before its time", len(gone), 0)
			gone, err = s.Expire(t.Context(), time.Now().Add(time.Hour), 10)
			must(t, err)
			same(t, name+" files: what expired", fmt.Sprint(gone), "[x:1]")
			must(t, s.Close())
		}
	}
}
