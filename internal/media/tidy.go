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

// Transcripts tell which files are still in use.
type Transcripts interface {
	// Exists reports whether k has a conversation.
	Exists(ctx context.Context, k channels.Key) (bool, error)
	// Files returns the files that k's transcript names.
	Files(ctx context.Context, k channels.Key) ([]string, error)
}

// checkedFor is the age up to which Tidy looks for files in transcripts. A daily Tidy
// checks each file a few times.
const checkedFor = 7 * 24 * time.Hour

// Tidy removes files written before a time whose conversation does not exist: a crash
// between the deletion of a conversation and of its files leaves such. It also removes
// those up to checkedFor older that their transcript does not name: a message may be
// given up while its file is fetched. Tidy returns how many files it removed.
func (s *Store) Tidy(ctx context.Context, before time.Time, all Transcripts) (removed int, err error) {
	folders, err := s.files.folders()
	if err != nil {
		return 0, fmt.Errorf("media: tidy: %w", withoutPath(err))
	}
	var errs []error
	for _, folder := range folders {
		if ctx.Err() != nil {
			break
		}
		n, err := s.tidy(ctx, folder, before, all)
		removed += n
		if err != nil {
			errs = append(errs, fmt.Errorf("media: tidy %s: %w", folder, withoutPath(err)))
		}
	}
	if err := s.files.collect(); err != nil {
		errs = append(errs, fmt.Errorf("media: tidy: %w", withoutPath(err)))
	}
	if removed > 0 {
		s.quota.invalidate()
	}
	return removed, errors.Join(errs...)
}

func (s *Store) tidy(ctx context.Context, folder string, before time.Time, all Transcripts) (removed int, err error) {
	k, ok := keyOf(folder)
	if !ok && folder != uploadDir {
		return 0, nil
	}
	list, err := s.files.list(folder)
	var old, recent []string
	for _, e := range list {
		if e.at.Before(before) {
			old = append(old, folder+"/"+e.name)
			if e.at.After(before.Add(-checkedFor)) {
				recent = append(recent, folder+"/"+e.name)
			}
		}
	}
	if err != nil || len(old) == 0 {
		return 0, err
	}
	exists := false // uploads have none
	if ok {
		if exists, err = all.Exists(ctx, k); err != nil {
			return 0, err
		}
	}
	if exists {
		if len(recent) == 0 {
			return 0, nil
		}
		named, err := all.Files(ctx, k)
		if err != nil {
			return 0, err
		}
		for i, file := range named {
			named[i] = path.Base(file) // after Join, a transcript names another folder
		}
		old = slices.DeleteFunc(recent, func(name string) bool { return slices.Contains(named, path.Base(name)) })
	}
	gone, err := s.files.unlink(old...)
	return len(gone), err
}

// keyOf returns the key of a folder. The name of a very long key ends in a hash and cannot
// be read back: Tidy leaves such a folder alone, and Remove removes it.
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
