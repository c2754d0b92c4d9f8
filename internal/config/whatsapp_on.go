//go:build !nowhatsapp

package config

// hasWhatsApp: this program was built with WhatsApp.
const hasWhatsApp = true
