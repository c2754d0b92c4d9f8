package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"dragoman/channels"
	"dragoman/internal/config"
	"dragoman/internal/media"
	"dragoman/sessions"
)

// Folders of the files that came with messages. A store in memory forgets its
// conversations at the end, and their files have to go with them.
const (
	mediaName     = "media"
	mediaOfMemory = "media-of-memory"
)

// openMedia opens the folder of files that goes with the configured store.
func openMedia(cfg *config.Config, s *stateDir, log *slog.Logger) (*media.Store, error) {
	dir := s.file(mediaName)
	if cfg.Store.Type == "memory" {
		dir = s.file(mediaOfMemory)
		if err := os.RemoveAll(dir); err != nil {
			return nil, fmt.Errorf("app: empty %s: %w", mediaOfMemory, plainPathError(err))
		}
	}
	files, err := media.Open(dir, media.Options{MaxBytes: int64(cfg.Media.MaxBytes), Logger: log})
	if err != nil {
		return nil, fmt.Errorf("app: %w", err)
	}
	return files, nil
}

// filing is a store that forgets the files of what it forgets. The store goes
// first: a crash in between leaves files that nothing names, which the same
// request removes when it is made again, instead of messages without files.
type filing struct {
	sessions.Store
	files *media.Store
}

// Delete also removes the conversation's files.
func (f filing) Delete(ctx context.Context, k channels.Key) error {
	err := f.Store.Delete(ctx, k)
	if err != nil && !errors.Is(err, sessions.ErrNotFound) {
		return err
	}
	return errors.Join(err, f.files.Remove(k))
}

// Expire also removes the files of the conversations that it ends.
func (f filing) Expire(ctx context.Context, before time.Time, limit int) ([]channels.Key, error) {
	keys, err := f.Store.Expire(ctx, before, limit)
	errs := []error{err}
	for _, k := range keys {
		errs = append(errs, f.files.Remove(k))
	}
	return keys, errors.Join(errs...)
}

// Erase also removes the files of what is erased.
func (f filing) Erase(ctx context.Context, e sessions.Erasure) (sessions.Erased, error) {
	erased, err := f.Store.Erase(ctx, e)
	if err != nil {
		return erased, err
	}
	errs := []error{f.files.RemoveFiles(erased.Files)}
	for _, k := range e.Keys {
		errs = append(errs, f.files.Remove(k))
	}
	return erased, errors.Join(errs...)
}
