//go:build !crashpoints && !nowhatsapp

package app

import "net/http"

// simulatedWhatsApp is nil: this build connects only to the real WhatsApp.
func simulatedWhatsApp() *http.Client { return nil }
