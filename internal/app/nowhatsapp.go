//go:build nowhatsapp

package app

import (
	"errors"
	"log/slog"

	"dragoman/internal/config"
)

// buildWhatsApp is reached only for channels that the configuration's check
// has let pass, which it does not.
func buildWhatsApp(string, *config.WhatsApp, string, *slog.Logger) (linkable, error) {
	return nil, errors.New("this program was built without WhatsApp (-tags nowhatsapp)")
}
