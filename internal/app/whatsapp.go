//go:build !nowhatsapp

package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"dragoman/channels"
	"dragoman/channels/whatsapp"
	"dragoman/internal/config"
)

func buildWhatsApp(name string, c *config.WhatsApp, device string, shared bool, log *slog.Logger) (linkable, error) {
	ch, err := whatsapp.New(name, whatsapp.Options{
		Device: device, Names: c.Names, Title: c.DeviceName, WebVersion: c.WebVersion,
		NoTyping: !c.Typing, NoReadMarks: !c.ReadMarks, NoSelfChat: !c.SelfChat,
		Proxy: http.ProxyFromEnvironment, HTTP: simulatedWhatsApp(), Shared: shared, Logger: log,
	})
	if err != nil {
		return nil, err
	}
	return linkedWhatsApp{ch}, nil
}

// openKeeper makes what erases from a device file that no channel here uses.
func openKeeper(name, device string, log *slog.Logger) (channels.Eraser, error) {
	return whatsapp.New(name, whatsapp.Options{Device: device, Logger: log})
}

// linkedWhatsApp shows invitations in the words of this package.
type linkedWhatsApp struct{ *whatsapp.Channel }

func (l linkedWhatsApp) Link(ctx context.Context, phone string, show func(Invitation)) (string, error) {
	account, err := l.Channel.Link(ctx, phone, func(i whatsapp.Invitation) { show(Invitation{QR: i.QR, Code: i.Code}) })
	if errors.Is(err, whatsapp.ErrLinked) {
		err = fmt.Errorf("%w; to link another phone, log out first: dragoman logout %s", err, l.Name())
	}
	return account, err
}
