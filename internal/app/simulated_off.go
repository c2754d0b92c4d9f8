//go:build !crashpoints && !nowhatsapp

package app

import "net/http"

// simulatedWhatsApp: builds for use know only the real one.
func simulatedWhatsApp() *http.Client { return nil }
