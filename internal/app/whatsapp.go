//go:build !nowhatsapp

package app

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"net/http"

	"dragoman/channels"
	"dragoman/channels/whatsapp"
	"dragoman/internal/config"
)

func buildWhatsApp(name string, c *config.WhatsApp, cfg *config.Config, shared bool, log *slog.Logger) (channels.Linker, error) {
	o := deviceOf(cfg, name)
	o.Names, o.Title, o.WebVersion = c.Names, c.DeviceName, c.WebVersion
	o.NoTyping, o.NoReadMarks, o.NoSelfChat = !c.Typing, !c.ReadMarks, !c.SelfChat
	o.Proxy, o.HTTP, o.Logger = http.ProxyFromEnvironment, simulatedWhatsApp(), log
	o.Shared = shared
	return whatsapp.New(name, o)
}

// deviceOf says where the linked device of a channel is.
func deviceOf(cfg *config.Config, name string) whatsapp.Options {
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

// openKeeper makes what erases from a device that no channel here uses.
func openKeeper(name string, cfg *config.Config, log *slog.Logger) (channels.Eraser, error) {
	o := deviceOf(cfg, name)
	o.Logger = log
	return whatsapp.New(name, o)
}

// copyDevice copies the linked device of a channel between the database and the
// file at path. It reports whether there was one. One that is in the way is
// errLinkedThere.
func copyDevice(ctx context.Context, cfg *config.Config, name, path string, intoDatabase bool) (found bool, err error) {
	from, err := whatsapp.New(name, deviceOf(cfg, name))
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

// clearDevice forgets a linked device that is in the database.
func clearDevice(ctx context.Context, cfg *config.Config, name string) error {
	ch, err := whatsapp.New(name, deviceOf(cfg, name))
	if err != nil {
		return err
	}
	return ch.Clear(ctx)
}
