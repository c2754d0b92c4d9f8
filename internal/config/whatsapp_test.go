package config_test

import (
	"strings"
	"testing"

	"dragoman/channels/whatsapp"

	"github.com/google/go-cmp/cmp"
)

func TestWhatsApp(t *testing.T) {
	c, err := load(t, `channels: {wa: {type: whatsapp, allow: [+15550000002, "chat:120363000000000001@g.us", 123456@lid], web_version: auto, typing: false}}`)
	if err != nil {
		t.Fatal(err)
	}
	ch := c.Channels["wa"]
	if w := ch.Settings.(*whatsapp.Settings); w.WebVersion != "auto" || w.Typing || !w.ReadMarks || !w.SelfChat || w.DeviceName != "Dragoman" || !cmp.Equal(w.Names, []string{"dragoman"}) {
		t.Errorf("WhatsApp = %+v, want what is written and defaults", w)
	}
	if want := []string{"+15550000002", "chat:120363000000000001@g.us", "123456@lid"}; !cmp.Equal(ch.Allow, want) {
		t.Errorf("Allow = %q, want %q", ch.Allow, want)
	}
}

func TestWhatsAppProblems(t *testing.T) {
	_, err := load(t, `channels:
  whatsapp:
    allow: [15550000002, "+1 555 000 0002", "120363000000000001@g.us", Ann]
    names: ["a:b", ""]
    device_name: ""
    web_version: newest
`)
	want := []string{
		`3 channels.whatsapp.allow[0]: "15550000002" is not a complete phone number; write + and the country code, digits only: "+491701234567"`,
		`3 channels.whatsapp.allow[1]: "+1 555 000 0002" is not a complete phone number; write + and the country code, digits only: "+491701234567"`,
		`3 channels.whatsapp.allow[2]: "120363000000000001@g.us" is a group; write chat:120363000000000001@g.us`,
		`3 channels.whatsapp.allow[3]: "Ann" is not an identity on WhatsApp; write a phone number like "+491701234567", 123…@lid, chat:123…@g.us for a group, or "*"`,
		`4 channels.whatsapp.names[0]: "a:b" does not work as a name in messages; write a name without : , @ and /`,
		`4 channels.whatsapp.names[1]: "" does not work as a name in messages; write a name without : , @ and /`,
		`5 channels.whatsapp.device_name: must be one line of 1 to 60 characters; write a name that you will recognise on the phone`,
		`6 channels.whatsapp.web_version: "newest" is not a version; write auto, or three numbers like 2.3000.1045649367`,
	}
	if diff := cmp.Diff(strings.Join(want, "\n"), strings.Join(problems(t, err), "\n")); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}
