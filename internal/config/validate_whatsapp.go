package config

import (
	"fmt"
	"strings"

	"dragoman/internal/lazily"
)

var (
	whatsappNumber  = lazily.Compile(`^\+[1-9][0-9]{6,14}$`)
	whatsappLID     = lazily.Compile(`^[1-9][0-9]{3,20}@lid$`)
	whatsappGroup   = lazily.Compile(`^[0-9-]{5,40}@g\.us$`)
	whatsappVersion = lazily.Compile(`^[0-9]{1,3}\.[0-9]{1,6}\.[0-9]{1,9}$|^[0-9]{1,3}\.[0-9]{1,6}\.[1-3][0-9]{9}$`)
)

func (v *validator) whatsapp(path string, ch Channel) {
	c := ch.WhatsApp
	if !hasWhatsApp && ch.Enabled {
		v.bad(path+".type", "this program was built without WhatsApp (-tags nowhatsapp)", "use the ordinary build, or turn the channel off with enabled: false")
	}
	for i, name := range c.Names {
		if name != strings.TrimSpace(name) || name == "" || len(name) > 60 || strings.ContainsAny(name, "\r\n\x00:,@/") {
			at := fmt.Sprintf("%s.names[%d]", path, i)
			v.bad(at, v.show(at, name)+" does not work as a name in messages", "write a name without : , @ and /")
		}
	}
	if c.DeviceName == "" || len(c.DeviceName) > 60 || strings.ContainsAny(c.DeviceName, "\r\n\x00") {
		v.bad(path+".device_name", "must be one line of 1 to 60 characters", "write a name that you will recognise on the phone")
	}
	if c.WebVersion != "" && c.WebVersion != "auto" && !whatsappVersion.Regexp().MatchString(c.WebVersion) {
		at := path + ".web_version"
		v.bad(at, v.show(at, c.WebVersion)+" is not a version", "write auto, or three numbers like 2.3000.1045649367")
	}
}

func allowWhatsApp(entry string) (what, want string) {
	chat, isChat := strings.CutPrefix(entry, "chat:")
	switch {
	case isChat && (whatsappGroup.Regexp().MatchString(chat) || whatsappNumber.Regexp().MatchString(chat) || whatsappLID.Regexp().MatchString(chat)),
		whatsappNumber.Regexp().MatchString(entry), whatsappLID.Regexp().MatchString(entry):
		return "", ""
	case whatsappGroup.Regexp().MatchString(entry):
		return "is a group", "write chat:" + entry
	case strings.Trim(entry, "0123456789 +-()") == "":
		return "is not a complete phone number", `write + and the country code, digits only: "+491701234567"`
	}
	return "is not an identity on WhatsApp", `write a phone number like "+491701234567", 123…@lid, chat:123…@g.us for a group, or "*"`
}
