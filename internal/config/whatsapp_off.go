//go:build nowhatsapp

package config

// hasWhatsApp: this program was built without WhatsApp.
const hasWhatsApp = false
