//go:build nowhatsapp

package app

import (
	"errors"
	"log/slog"

	"dragoman/channels"
	"dragoman/internal/config"
)

// buildWhatsApp is reached only for channels that the configuration's check
// has let pass, which it does not.
func buildWhatsApp(string, *config.WhatsApp, string, bool, *slog.Logger) (linkable, error) {
	return nil, errors.New("this program was built without WhatsApp (-tags nowhatsapp)")
}

// openKeeper cannot look into a device file.
func openKeeper(string, string, *slog.Logger) (channels.Eraser, error) {
	return nil, errors.New("this program was built without WhatsApp (-tags nowhatsapp) and cannot erase there: use a program that has it, or remove the file; nothing was erased")
}
