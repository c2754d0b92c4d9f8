package media

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path"
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

// Tidy removes what was last written before, and belongs to a conversation
// that does not exist, or that does not name it: a crash between the removal
// of a conversation and of its files leaves such, and so does a message that
// was given up while its file was fetched. It returns how many it removed. A
// transcript is read once for each file that it names.
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
		if folder == uploadDir {
			n, err := s.tidyUploads(before)
			removed += n
			errs = append(errs, err)
		} else if k, ok := keyOf(folder); ok {
			n, err := s.tidy(ctx, k, before, all)
			removed += n
			errs = append(errs, err)
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

// tidyUploads removes what no message came for.
func (s *Store) tidyUploads(before time.Time) (removed int, err error) {
	old, _, err := s.old(uploadDir, before)
	if err != nil {
		return 0, err
	}
	gone, err := s.shelf.unlink(old...)
	if err != nil {
		err = fmt.Errorf("media: tidy: %w", bare(err))
	}
	return len(gone), err
}

// tidy is Tidy of one conversation's folder.
func (s *Store) tidy(ctx context.Context, k channels.Key, before time.Time, all Transcripts) (removed int, err error) {
	old, unsure, err := s.old(k.FileName(), before)
	if err != nil || len(old) == 0 {
		return 0, err
	}
	exists, err := all.Exists(ctx, k)
	wanted := map[string]bool{}
	if err == nil && exists && len(unsure) > 0 {
		old = unsure
		var files []string
		files, err = all.Files(ctx, k)
		for _, file := range files {
			wanted[path.Base(file)] = true // a joined one's folder is another
		}
	} else if exists {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("media: tidy %s: %w", k, err)
	}
	var named, rest []string
	for _, name := range old {
		if wanted[path.Base(name)] {
			named = append(named, name)
		} else {
			rest = append(rest, name)
		}
	}
	gone, err := s.shelf.unlink(rest...)
	if err = errors.Join(err, s.shelf.mark(named...)); err != nil {
		err = fmt.Errorf("media: tidy %s: %w", k, bare(err))
	}
	return len(gone), err
}

// old names the files of a folder that were last written before; unsure are
// those that no transcript is known to name.
func (s *Store) old(folder string, before time.Time) (all, unsure []string, err error) {
	list, err := s.shelf.list(folder)
	if err != nil {
		return nil, nil, fmt.Errorf("media: tidy: %w", bare(err))
	}
	for _, e := range list {
		if !e.at.Before(before) {
			continue
		}
		all = append(all, folder+"/"+e.name)
		if !e.marked {
			unsure = append(unsure, folder+"/"+e.name)
		}
	}
	return all, unsure, nil
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
