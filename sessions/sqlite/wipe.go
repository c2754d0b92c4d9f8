package sqlite

import (
	"context"
	"errors"

	"dragoman/channels"
)

// Scrub leaves no byte of what was deleted: see rows.Scrubber. The search index
// is written anew, then the file, and the log is emptied. That takes the time
// and, for a moment, the room of a copy of the file, and nothing else is written
// meanwhile.
func (s *backend) Scrub(ctx context.Context, _ []channels.Key) error {
	return s.do(ctx, op{alone: true, run: func(*tx) error { return nil }, after: s.wipe})
}

// wipe leaves nothing in the files but what the tables hold. It runs on the
// writer's goroutine.
func (s *backend) wipe() error {
	for _, query := range []string{
		`INSERT INTO words (words) VALUES ('optimize')`,
		`VACUUM`,
	} {
		if err := s.writer.exec(query); err != nil {
			return err
		}
	}
	var busy, frames, moved int
	if err := s.writer.row(context.Background(), `PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&busy, &frames, &moved); err != nil {
		return err
	}
	if busy != 0 {
		return errors.New("another program is reading the file, so its log cannot be emptied")
	}
	return nil
}
