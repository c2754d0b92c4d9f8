package whatsapp

import (
	"dragoman/channels"
	"dragoman/internal/setting"
)

// This file is in binaries without WhatsApp, too, because they read the same
// configuration: everything else in this package has the build tag !nowhatsapp.

// Type is what the configuration knows of WhatsApp.
var Type = channels.Type{Name: "whatsapp", Settings: func() channels.Settings { return new(Settings) }}

// Settings are those of one linked device. The phone that links it decides the account:
// see dragoman login.
type Settings struct {
	Names      []string `yaml:"names,flow" default:"dragoman" is:"calling name" doc:"The bot's names in groups: it answers to \"name: …\", \"name, …\" and \"@name …\"."`
	DeviceName string   `yaml:"device_name" default:"Dragoman" is:"device name" doc:"The name that the phone shows under Linked devices."`
	WebVersion string   `yaml:"web_version" is:"web version" empty:"ok" doc:"The version of WhatsApp Web to claim: three numbers, or auto to ask WhatsApp for the current one. Empty: the built-in one."`
	Typing     bool     `yaml:"typing" default:"true" doc:"Show that an answer is being written."`
	ReadMarks  bool     `yaml:"read_marks" default:"true" doc:"Mark messages as read when Dragoman begins to answer them."`
	SelfChat   bool     `yaml:"self_chat" default:"true" doc:"Answer the owner in their chat with themselves. Dragoman reads nothing else that the owner writes."`
}

var (
	_ channels.FormTeller = (*Settings)(nil)
	_ channels.Distinct   = (*Settings)(nil)
	_ channels.Nicknamed  = (*Settings)(nil)
)

// Network is WhatsApp.
func (*Settings) Network() string { return "WhatsApp" }

// Nickname is the first of the names.
func (s *Settings) Nickname() string {
	if len(s.Names) == 0 {
		return "Dragoman"
	}
	return s.Names[0]
}

// Forms are those of names and of a version.
func (*Settings) Forms() map[string]func(text string) (what, want string) {
	return map[string]func(string) (string, string){
		"calling name": setting.Like(`^[^\s:,@/]([^\r\n\x00:,@/]{0,58}[^\s:,@/])?$`, "%s does not work as a name in messages", "write a name without : , @ and /"),
		"device name":  setting.Like(`^[^\r\n\x00]{1,60}$`, "must be one line of 1 to 60 characters", "write a name that you will recognise on the phone"),
		"web version": setting.Like(`^auto$|^[0-9]{1,3}\.[0-9]{1,6}\.[0-9]{1,9}$|^[0-9]{1,3}\.[0-9]{1,6}\.[1-3][0-9]{9}$`,
			"%s is not a version", "write auto, or three numbers like 2.3000.1045649367"),
	}
}

// Identities are phone numbers and LIDs.
func (*Settings) Identities() []channels.Identity {
	return []channels.Identity{
		{Form: `^(chat:)?(\+[1-9][0-9]{6,14}|[1-9][0-9]{3,20}@lid)$`},
		{Form: `^chat:[0-9-]{5,40}@g\.us$`},
		{Form: `^[0-9-]{5,40}@g\.us$`, What: "is a group", Want: "write chat:%s"},
		{Form: `^[0-9 +()-]*$`, What: "is not a complete phone number", Want: `write + and the country code, digits only: "+491701234567"`},
		{Form: ``, What: "is not an identity on WhatsApp", Want: `write a phone number like "+491701234567", 123…@lid, chat:123…@g.us for a group, or "*"`},
	}
}

// Distinct is nothing: each channel has a device of its own.
func (*Settings) Distinct() (id, what string) { return "", "" }

// Check finds nothing: any of the settings go together.
func (*Settings) Check(channels.Report) {}
