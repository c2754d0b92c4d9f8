package app

import (
	"strings"

	"dragoman/internal/api"
)

// logTail is what the API shows of the log.
func (d *Daemon) logTail() *api.LogTail {
	return &api.LogTail{Tail: d.tail, Hide: d.hideSecrets}
}

// hideSecrets returns text without the secrets of the configuration that counts and of the
// one that the daemon began with. Few people look, so it collects them each time.
func (d *Daemon) hideSecrets(text string) string {
	for _, secret := range append(d.cfg.Secrets(), d.current.Load().Secrets()...) {
		text = strings.ReplaceAll(text, secret, "<secret>")
	}
	return text
}
