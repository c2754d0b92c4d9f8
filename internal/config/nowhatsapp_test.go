//go:build nowhatsapp

package config_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// built says whether this program has WhatsApp.
const built = false

func TestBuiltWithoutWhatsApp(t *testing.T) {
	_, err := load(t, "channels: {wa: {type: whatsapp, allow: [+15550000002]}}")
	want := []string{"1 channels.wa.type: this program was built without WhatsApp (-tags nowhatsapp); use the ordinary build, or turn the channel off with enabled: false"}
	if diff := cmp.Diff(want, problems(t, err)); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	if _, err := load(t, "channels: {wa: {type: whatsapp, enabled: false, allow: [+15550000002]}}"); err != nil {
		t.Errorf("a channel that is turned off: %v", err)
	}
}
