package storage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"dragoman/channels/whatsapp"
	"dragoman/internal/config"
)

// errLinkedThere: a copied device would overwrite another.
var errLinkedThere = errors.New("a linked device is there already")

// deviceSuffix ends the names of the files that have the keys of linked devices.
const deviceSuffix = ".device.db"

// deviceFile is the file of a linked device whose keys are not in the database.
func deviceFile(cfg *config.Config, name string) string {
	return filepath.Join(cfg.StateDir, name+deviceSuffix)
}

// deviceMoved follows the name of a file whose device was moved into the database.
const deviceMoved = ".moved-"

// DeviceThere reports whether the channel called name has, or had, a linked device.
func DeviceThere(ctx context.Context, cfg *config.Config, name string) (there bool, err error) {
	if cfg.Store.Type != postgresType {
		_, err := os.Lstat(deviceFile(cfg, name))
		return !errors.Is(err, fs.ErrNotExist), nil
	}
	db, err := openDatabase(ctx, cfg, name, 1)
	if err == nil {
		err = db.QueryRowContext(ctx, `SELECT to_regclass('dragoman_owner') IS NOT NULL`).Scan(&there)
		err = errors.Join(err, db.Close())
	}
	if err != nil {
		return false, fmt.Errorf("storage: look for the linked device of %s: %w", name, err)
	}
	return there, nil
}

// moveDevices moves linked devices from files in the state directory into the
// database, where every node can use them. It renames their files, because their keys
// must never be used again.
func moveDevices(ctx context.Context, cfg *config.Config, log *slog.Logger) error {
	if cfg.Store.Type != postgresType {
		return nil
	}
	for _, name := range cfg.OfType(whatsapp.Type.Name) {
		path := deviceFile(cfg, name)
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		found, err := copyDevice(ctx, cfg, name, path, true)
		switch {
		case errors.Is(err, errLinkedThere):
			log.Warn("a file with a linked device is not used, because the database has one; remove the file", "channel", name, "file", path)
		case err != nil:
			return fmt.Errorf("storage: move the linked device of %s into the database: %w", name, err)
		case found:
			moved := path + deviceMoved + time.Now().UTC().Format("20060102-150405")
			if err := os.Rename(path, moved); err != nil {
				return fmt.Errorf("storage: rename the file of a linked device: %w", plainPathError(err))
			}
			log.Info("the linked device is in the database now; remove its file, whose keys are useless", "channel", name, "file", moved)
		}
	}
	return nil
}

// devicesFromDatabase moves linked devices from the database into files of the state
// directory.
func devicesFromDatabase(ctx context.Context, cfg *config.Config, who Caller) error {
	for _, name := range cfg.OfType(whatsapp.Type.Name) {
		path := deviceFile(cfg, name)
		there, err := DeviceThere(ctx, cfg, name)
		if err != nil {
			return err
		}
		if !there {
			continue
		}
		found, err := copyDevice(ctx, cfg, name, path, false)
		if errors.Is(err, errLinkedThere) {
			return fmt.Errorf("storage: %s has a linked device, and so has the database; move the file away, or log out with dragoman logout %s", path, name)
		}
		if err == nil && found {
			who.Say("the linked device of %s was moved from the database to %s", name, path)
			err = clearDevice(ctx, cfg, name)
		}
		if err != nil {
			return fmt.Errorf("storage: move the linked device of %s out of the database: %w", name, err)
		}
	}
	return nil
}
