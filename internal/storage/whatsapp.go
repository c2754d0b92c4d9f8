//go:build !nowhatsapp

package storage

import (
	"context"
	"database/sql"
	"errors"

	"dragoman/channels/whatsapp"
	"dragoman/internal/config"
)

// Device returns options that say where the linked device of a channel is.
func Device(cfg *config.Config, name string) whatsapp.Options {
	o := whatsapp.Options{Device: deviceFile(cfg, name)}
	if cfg.Store.Type == postgresType {
		o.Database = func(ctx context.Context, own bool) (*sql.DB, error) {
			if own {
				return ownDatabase(ctx, cfg, name, whatsapp.ErrTaken)
			}
			return openDatabase(ctx, cfg, name, 1)
		}
	}
	return o
}

// copyDevice copies the linked device of a channel between the configured place and the
// file at path, and reports whether there was one. If the target already has a device,
// it returns errLinkedThere.
func copyDevice(ctx context.Context, cfg *config.Config, name, path string, intoDatabase bool) (found bool, err error) {
	from, err := whatsapp.New(name, Device(cfg, name))
	if err != nil {
		return false, err
	}
	to, err := whatsapp.New(name, whatsapp.Options{Device: path})
	if err != nil {
		return false, err
	}
	if intoDatabase {
		from, to = to, from
	}
	found, err = from.CopyTo(ctx, to)
	if errors.Is(err, whatsapp.ErrLinked) {
		err = errLinkedThere
	}
	return found, err
}

// clearDevice deletes a linked device from the database.
func clearDevice(ctx context.Context, cfg *config.Config, name string) error {
	ch, err := whatsapp.New(name, Device(cfg, name))
	if err != nil {
		return err
	}
	return ch.Clear(ctx)
}
