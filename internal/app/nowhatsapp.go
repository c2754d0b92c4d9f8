//go:build nowhatsapp

package app

import (
	"errors"
	"log/slog"

	"dragoman/channels"
	"dragoman/channels/whatsapp"
	"dragoman/internal/config"
)

func buildWhatsApp(string, *whatsapp.Settings, *config.Config, bool, *slog.Logger) (channels.Linker, error) {
	return nil, errors.New("this program was built without WhatsApp (-tags nowhatsapp)")
}

// openKeeper fails: this build cannot read a linked device.
func openKeeper(string, *config.Config, *slog.Logger) (channels.Eraser, error) {
	return nil, errors.New("this program was built without WhatsApp (-tags nowhatsapp) and cannot erase there: use a program that has it, or remove its file or schema; nothing was erased")
}
