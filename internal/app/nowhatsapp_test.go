//go:build nowhatsapp

package app_test

import (
	"strings"
	"testing"
)

func TestBuiltWithoutWhatsApp(t *testing.T) {
	const channel = "channels: {wa: {type: whatsapp, enabled: %s, allow: [+15550000002]}}"
	if got := newPlace(t, strings.Replace(channel, "%s", "true", 1)).refused(); !strings.Contains(got, "channel wa: this program was built without WhatsApp (-tags nowhatsapp)") {
		t.Errorf("the daemon says %q", got)
	}
	newPlace(t, strings.Replace(channel, "%s", "false", 1)).opens()
}
