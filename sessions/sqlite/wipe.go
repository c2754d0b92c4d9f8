package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"dragoman/channels"
)

// Scrub leaves no byte of what was deleted: see rows.Scrubber. The search index
// is written anew, then the file, and the log is emptied. That takes the time
// and, for a moment, the room of a copy of the file, and nothing else is written
// meanwhile. What [Copies] lists is removed and named.
func (s *backend) Scrub(ctx context.Context, _ []channels.Key) (copies []string, err error) {
	o := &op{alone: true, run: (*tx).sweepAll, after: func() (err error) {
		copies, err = s.wipe()
		return err
	}}
	return copies, s.do(ctx, o)
}

// wipe leaves nothing in the files but what the tables hold, and names the
// copies that it removed. It runs on the writer's goroutine.
func (s *backend) wipe() (copies []string, err error) {
	for _, query := range []string{
		`INSERT INTO words (words) VALUES ('optimize')`,
		`VACUUM`,
	} {
		if err := s.writer.exec(query); err != nil {
			return nil, err
		}
	}
	if copies, err = removeCopies(s.path); err != nil {
		return copies, err
	}
	var busy, frames, moved int
	if err := s.writer.row(context.Background(), `PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&busy, &frames, &moved); err != nil {
		return copies, err
	}
	if busy != 0 {
		return copies, errors.New("somebody reads the file, the log cannot be emptied")
	}
	return copies, nil
}

// backupSuffix is what a copy of the store from before a change of its schema
// adds to the name of the file.
const backupSuffix = ".before-v2"

// Copies lists the copies of the whole store that changes of its schema left
// beside the file at path. An erasure removes them: they hold everything as it
// was then.
func Copies(path string) (copies []string, err error) {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("sqlite: list the copies: %w", err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), filepath.Base(path)+backupSuffix) {
			copies = append(copies, filepath.Join(filepath.Dir(path), e.Name()))
		}
	}
	return copies, nil
}

// removeCopies removes them and names those that are gone.
func removeCopies(path string) (gone []string, err error) {
	all, err := Copies(path)
	if err != nil {
		return nil, err
	}
	for _, name := range all {
		if err := os.Remove(name); err != nil {
			return gone, err
		}
		gone = append(gone, name)
	}
	return gone, syncPath(filepath.Dir(path))
}

// shred has what is deleted overwritten. Recycled memory must not carry old
// text into new pages either, so that stays on.
func (t *tx) shred() error {
	var on int
	return t.row(context.Background(), `PRAGMA secure_delete = 1`).Scan(&on)
}
