//go:build !nowhatsapp

package app

import (
	"log/slog"
	"net/http"

	"dragoman/channels"
	"dragoman/channels/whatsapp"
	"dragoman/internal/config"
	"dragoman/internal/storage"
)

func buildWhatsApp(name string, c *config.WhatsApp, cfg *config.Config, shared bool, log *slog.Logger) (channels.Linker, error) {
	o := storage.Device(cfg, name)
	o.Names, o.Title, o.WebVersion = c.Names, c.DeviceName, c.WebVersion
	o.NoTyping, o.NoReadMarks, o.NoSelfChat = !c.Typing, !c.ReadMarks, !c.SelfChat
	o.Proxy, o.HTTP, o.Logger = http.ProxyFromEnvironment, simulatedWhatsApp(), log
	o.Shared = shared
	return whatsapp.New(name, o)
}

// openKeeper makes an eraser for a device that no channel here uses.
func openKeeper(name string, cfg *config.Config, log *slog.Logger) (channels.Eraser, error) {
	o := storage.Device(cfg, name)
	o.Logger = log
	return whatsapp.New(name, o)
}
