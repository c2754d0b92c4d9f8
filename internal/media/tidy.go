package media

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"dragoman/channels"
)

// Transcripts know which files are still named.
type Transcripts interface {
	// Exists reports whether k's conversation does.
	Exists(ctx context.Context, k channels.Key) (bool, error)
	// Files are the files that k's transcript names.
	Files(ctx context.Context, k channels.Key) ([]string, error)
}

// lately is how long files are looked for in transcripts. Who tidies daily looks
// for each a few times.
const lately = 7 * 24 * time.Hour

// Tidy removes what was last written before, and belongs to a conversation that
// does not exist: a crash between the removal of a conversation and of its files
// leaves such. What was written lately is also removed if its conversation does not
// name it: a message may be given up while its file is fetched. Tidy returns how
// many it removed.
func (s *Store) Tidy(ctx context.Context, before time.Time, all Transcripts) (removed int, err error) {
	folders, err := s.shelf.folders()
	if err != nil {
		return 0, fmt.Errorf("media: tidy: %w", bare(err))
	}
	var errs []error
	for _, folder := range folders {
		if ctx.Err() != nil {
			break
		}
		n, err := s.tidy(ctx, folder, before, all)
		if removed += n; err != nil {
			errs = append(errs, fmt.Errorf("media: tidy %s: %w", folder, bare(err)))
		}
	}
	if err := s.shelf.collect(); err != nil {
		errs = append(errs, fmt.Errorf("media: tidy: %w", bare(err)))
	}
	if removed > 0 {
		s.room.forget()
	}
	return removed, errors.Join(errs...)
}

// tidy is Tidy of one folder.
func (s *Store) tidy(ctx context.Context, folder string, before time.Time, all Transcripts) (removed int, err error) {
	k, ok := keyOf(folder)
	if !ok && folder != uploadDir {
		return 0, nil
	}
	list, err := s.shelf.list(folder)
	var old, recent []string
	for _, e := range list {
		if e.at.Before(before) {
			old = append(old, folder+"/"+e.name)
			if e.at.After(before.Add(-lately)) {
				recent = append(recent, folder+"/"+e.name)
			}
		}
	}
	if err != nil || len(old) == 0 {
		return 0, err
	}
	exists := false // there is none of an upload that no message came for
	if ok {
		if exists, err = all.Exists(ctx, k); err != nil {
			return 0, err
		}
	}
	if exists {
		if len(recent) == 0 {
			return 0, nil
		}
		wanted, err := all.Files(ctx, k)
		if err != nil {
			return 0, err
		}
		for i, file := range wanted {
			wanted[i] = path.Base(file) // a joined one's folder is another
		}
		old = slices.DeleteFunc(recent, func(name string) bool { return slices.Contains(wanted, path.Base(name)) })
	}
	gone, err := s.shelf.unlink(old...)
	return len(gone), err
}

// keyOf reads a folder's name. Those of very long keys end in a hash and
// cannot be read; they are never tidied, only removed with their conversation.
func keyOf(folder string) (channels.Key, bool) {
	channel, chat, found := strings.Cut(folder, "_")
	a, err := url.PathUnescape(channel)
	b, err2 := url.PathUnescape(chat)
	if !found || err != nil || err2 != nil {
		return channels.Key{}, false
	}
	k, err := channels.NewKey(a, b)
	return k, err == nil && k.FileName() == folder
}
