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

func buildWhatsApp(name string, s *whatsapp.Settings, cfg *config.Config, shared bool, log *slog.Logger) (channels.Linker, error) {
	o := storage.Device(cfg, name)
	o.Names = s.Names
	o.Title = s.DeviceName
	o.WebVersion = s.WebVersion
	o.NoTyping = !s.Typing
	o.NoReadMarks = !s.ReadMarks
	o.NoSelfChat = !s.SelfChat
	o.Proxy = http.ProxyFromEnvironment
	o.HTTP = simulatedWhatsApp()
	o.Logger = log
	o.Shared = shared
	return whatsapp.New(name, o)
}

// openKeeper makes an eraser for a device that no channel here uses.
func openKeeper(name string, cfg *config.Config, log *slog.Logger) (channels.Eraser, error) {
	o := storage.Device(cfg, name)
	o.Logger = log
	return whatsapp.New(name, o)
}
