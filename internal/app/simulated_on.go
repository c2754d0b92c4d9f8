//go:build crashpoints && !nowhatsapp

package app

import (
	"encoding/hex"
	"net/http"
	"os"
	"strings"

	"dragoman/channels/channeltest/wasim"
)

// simulatedWhatsApp is the server that $DRAGOMAN_WASIM names, "host:port,key":
// the key in hex is the root that it is trusted by. Builds without the tag
// hold none of this; there it would be a way to stand in for WhatsApp.
func simulatedWhatsApp() *http.Client {
	addr, root, found := strings.Cut(os.Getenv("DRAGOMAN_WASIM"), ",")
	key, err := hex.DecodeString(root)
	if !found || err != nil || len(key) != 32 {
		return nil
	}
	wasim.TrustRoot([32]byte(key))
	return wasim.HTTPClient(addr)
}
