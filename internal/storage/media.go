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
	// mediaMoved begins the name of a folder whose files are where all nodes
	// reach them.
	mediaMoved = "media.moved-"
	// draftsName is where files are written that go to a database or bucket.
	draftsName = "drafts"
)

// mediaConns is how many connections to the database files take.
const mediaConns = 2

// OpenMedia opens the files that go with the configured store.
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

// openMediaRows opens files that are listed in the database. A bucket that is
// configured is used for what is in it, also when new files go elsewhere.
func openMediaRows(ctx context.Context, cfg *config.Config, s *Dir, o media.Options) (*media.Store, error) {
	db, err := openDatabase(ctx, cfg, "", mediaConns)
	if err != nil {
		return nil, fmt.Errorf("storage: open the files: %w", err)
	}
	var bucket *media.Bucket
	if m := cfg.Media; m.URL != "" {
		bucket = &media.Bucket{URL: m.URL, Region: m.Region, AccessKey: m.AccessKey, SecretKey: m.SecretKey.Reveal()}
	}
	files, err := media.OpenRows(ctx, db, bucket, cfg.Media.Type == config.MediaS3, s.File(draftsName), o)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("storage: %w", err), db.Close())
	}
	return files, nil
}

// Bring brings files and linked devices that are in the state directory to where
// all nodes reach them, if the configuration says so.
func Bring(ctx context.Context, cfg *config.Config, s *Dir, files *media.Store, log *slog.Logger) error {
	if err := bringFiles(ctx, cfg, s, files, log); err != nil {
		return err
	}
	return bringDevices(ctx, cfg, log)
}

// bringFiles brings files that are in the state directory to where all nodes
// reach them: from before the store was moved into the database, or of a backup.
// The folder gets another name after that. What was cut off goes on.
func bringFiles(ctx context.Context, cfg *config.Config, s *Dir, to *media.Store, log *slog.Logger) error {
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
		return fmt.Errorf("storage: bring the files of messages to where all nodes reach them: %w", err)
	}
	if used == 0 {
		return os.RemoveAll(dir)
	}
	aside := s.File(mediaMoved + time.Now().UTC().Format("20060102-150405"))
	if err := os.Rename(dir, aside); err != nil {
		return fmt.Errorf("storage: put the old files of messages aside: %w", plainPathError(err))
	}
	log.Info("files of messages were copied to where all nodes reach them; the old folder can be removed", "type", cfg.Media.Type, "files", n, "folder", aside)
	return nil
}
