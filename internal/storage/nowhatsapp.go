//go:build nowhatsapp

package storage

import (
	"context"
	"errors"

	"dragoman/internal/config"
)

func copyDevice(context.Context, *config.Config, string, string, bool) (bool, error) {
	return false, errors.New("this program was built without WhatsApp (-tags nowhatsapp) and cannot move a linked device")
}

func clearDevice(context.Context, *config.Config, string) error { return nil }
