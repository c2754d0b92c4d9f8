//go:build crashpoints && !nowhatsapp

package app

import (
	"encoding/hex"
	"net/http"
	"os"
	"strings"

	"dragoman/channels/channeltest/wasim"
)

// simulatedWhatsApp is a client of the server that $DRAGOMAN_WASIM names,
// "host:port,key" with a root key in hex that becomes trusted. Builds without the
// tag do not have it, because with it anybody could impersonate WhatsApp.
func simulatedWhatsApp() *http.Client {
	addr, root, found := strings.Cut(os.Getenv("DRAGOMAN_WASIM"), ",")
	key, err := hex.DecodeString(root)
	if !found || err != nil || len(key) != 32 {
		return nil
	}
	wasim.TrustRoot([32]byte(key))
	return wasim.HTTPClient(addr)
}
