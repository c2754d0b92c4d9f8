package live

import "dragoman/channels"

// Type is what the configuration knows of the page.
var Type = channels.Type{Name: "web", Settings: func() channels.Settings { return new(Settings) }}

// Settings are those of the page. It has none that other channels do not have.
type Settings struct{}

var _ channels.Local = (*Settings)(nil)

// Network is the page.
func (*Settings) Network() string { return "the chat page" }

// Everybody is whoever can open the page.
func (*Settings) Everybody(token bool) string {
	if token {
		return "everybody who has a token"
	}
	return "everybody who has a token, and until one is made everybody on this machine"
}

// Identities are none: the page's people have no names.
func (*Settings) Identities() []channels.Identity { return nil }

// Check finds nothing.
func (*Settings) Check(channels.Report) {}
