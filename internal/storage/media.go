package storage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"dragoman/internal/config"
	"dragoman/internal/media"
)

// Folders of the files that came with messages.
const (
	mediaName = "media"
	// mediaMoved begins the name of a folder whose files were copied to shared storage.
	mediaMoved = "media.moved-"
	// draftsName has files on their way to a database or bucket.
	draftsName = "drafts"
)

// mediaConns is how many connections to the database the files use.
const mediaConns = 2

// OpenMedia opens the files of messages, as the configuration says.
func OpenMedia(ctx context.Context, cfg *config.Config, s *Dir, log *slog.Logger) (*media.Store, error) {
	o := media.Options{MaxBytes: int64(cfg.Media.MaxBytes), MaxTotal: int64(cfg.Media.MaxTotal), Logger: log}
	dir := s.File(mediaName)
	switch {
	case cfg.Media.Type == config.MediaFolder:
		dir, o.Shared = cfg.Media.Path, true
	case cfg.Media.Type != config.MediaLocal:
		return openMediaRows(ctx, cfg, s, o)
	}
	files, err := media.Open(dir, o)
	if err != nil {
		return nil, fmt.Errorf("storage: %w", err)
	}
	return files, nil
}

// openMediaRows opens files that are listed in the database. If a bucket is configured
// it reads the files in it, even if new files go elsewhere.
func openMediaRows(ctx context.Context, cfg *config.Config, s *Dir, o media.Options) (*media.Store, error) {
	db, err := openDatabase(ctx, cfg, "", mediaConns)
	if err != nil {
		return nil, fmt.Errorf("storage: open the files: %w", err)
	}
	var bucket *media.Bucket
	if m := cfg.Media; m.URL != "" {
		bucket = &media.Bucket{URL: m.URL, Region: m.Region, AccessKey: m.AccessKey, SecretKey: m.SecretKey.Reveal()}
	}
	files, err := media.OpenPostgres(ctx, db, bucket, cfg.Media.Type == config.MediaS3, s.File(draftsName), o)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("storage: %w", err), db.Close())
	}
	return files, nil
}

// MoveToShared moves the files and linked devices of the state directory to storage
// that all nodes share, if the configuration has such storage.
func MoveToShared(ctx context.Context, cfg *config.Config, s *Dir, files *media.Store, log *slog.Logger) error {
	if err := moveFiles(ctx, cfg, s, files, log); err != nil {
		return err
	}
	return moveDevices(ctx, cfg, log)
}

// moveFiles copies the files of the state directory to shared storage, and then renames
// the folder. They are from the time before the store was in the database, or from a
// backup. It continues a copy that was interrupted.
func moveFiles(ctx context.Context, cfg *config.Config, s *Dir, to *media.Store, log *slog.Logger) error {
	dir := s.File(mediaName)
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) || cfg.Media.Type == config.MediaLocal {
		return nil
	}
	from, err := media.Open(dir, media.Options{})
	if err != nil {
		return fmt.Errorf("storage: %w", err)
	}
	n, err := from.Copy(ctx, to)
	used, _ := from.Used()
	if err = errors.Join(err, from.Close()); err != nil {
		return fmt.Errorf("storage: copy the files of messages to storage that all nodes share: %w", err)
	}
	if used == 0 {
		return os.RemoveAll(dir)
	}
	moved := s.File(mediaMoved + time.Now().UTC().Format("20060102-150405"))
	if err := os.Rename(dir, moved); err != nil {
		return fmt.Errorf("storage: rename the old folder of files: %w", plainPathError(err))
	}
	log.Info("files of messages were copied to storage that all nodes share; remove the old folder", "type", cfg.Media.Type, "files", n, "folder", moved)
	return nil
}
