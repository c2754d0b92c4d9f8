package media

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"dragoman/channels"
)

// named marks a file that a transcript is known to name: nobody has to look
// for it again.
const named = 0o400

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
	folders, err := s.list(".")
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
	for _, name := range old {
		if err := s.root.Remove(uploadDir + "/" + name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return removed, fmt.Errorf("media: tidy: %w", bare(err))
		}
		removed++
	}
	return removed, nil
}

// tidy is Tidy of one conversation's folder.
func (s *Store) tidy(ctx context.Context, k channels.Key, before time.Time, all Transcripts) (removed int, err error) {
	folder := k.FileName()
	old, unsure, err := s.old(folder, before)
	if err != nil || len(old) == 0 {
		return 0, err
	}
	exists, err := all.Exists(ctx, k)
	switch {
	case err != nil:
		return 0, fmt.Errorf("media: tidy %s: %w", k, err)
	case exists && len(unsure) == 0:
		return 0, nil
	}
	wanted := map[string]bool{}
	if exists {
		files, err := all.Files(ctx, k)
		if err != nil {
			return 0, fmt.Errorf("media: tidy %s: %w", k, err)
		}
		for _, file := range files {
			wanted[path.Base(file)] = true // a joined one's folder is another
		}
		old = unsure
	}
	for _, name := range old {
		if wanted[name] {
			err = s.root.Chmod(folder+"/"+name, named)
		} else if err = s.root.Remove(folder + "/" + name); err == nil {
			removed++
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return removed, fmt.Errorf("media: tidy %s: %w", k, bare(err))
		}
	}
	if !exists {
		_ = s.root.Remove(folder) // stays if something new is in it
	}
	return removed, nil
}

// old lists the files of a folder that were last written before; unsure are
// those that no transcript is known to name.
func (s *Store) old(folder string, before time.Time) (all, unsure []string, err error) {
	names, err := s.list(folder)
	if err != nil {
		return nil, nil, fmt.Errorf("media: tidy: %w", bare(err))
	}
	for _, name := range names {
		info, err := s.root.Lstat(folder + "/" + name)
		if err != nil || !info.Mode().IsRegular() || !info.ModTime().Before(before) {
			continue
		}
		all = append(all, name)
		if info.Mode().Perm() != named {
			unsure = append(unsure, name)
		}
	}
	return all, unsure, nil
}

// keyOf reads a folder's name. Those of very long keys end in a hash and
// cannot be read; they are never tidied, only removed with their conversation.
func keyOf(folder string) (channels.Key, bool) {
	channel, chat, found := strings.Cut(folder, "_")
	a, ok := unescape(channel)
	b, also := unescape(chat)
	if !found || !ok || !also {
		return channels.Key{}, false
	}
	k, err := channels.NewKey(a, b)
	return k, err == nil && k.FileName() == folder
}

func unescape(s string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			b.WriteByte(s[i])
			continue
		}
		if i+3 > len(s) {
			return "", false
		}
		c, err := hex.DecodeString(s[i+1 : i+3])
		if err != nil {
			return "", false
		}
		b.Write(c)
		i += 2
	}
	return b.String(), true
}
