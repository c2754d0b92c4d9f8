package sqlite

import (
	"context"
	"fmt"
)

// LimitPages bounds the size of the file, as a full disk would.
func LimitPages(s *Store, pages int) error {
	return s.update(context.Background(), "limit", func(t *tx) error {
		var got int
		return t.row(fmt.Sprintf(`PRAGMA max_page_count = %d`, pages)).Scan(&got)
	})
}

// LargestBatch is the most operations that shared a commit so far.
func LargestBatch(s *Store) int { return int(s.largest.Load()) }
