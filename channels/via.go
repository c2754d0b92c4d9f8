package channels

import "strings"

// Via says through what the words of a message came. Rules about what a message may lead
// to need it: what a program passes on may be somebody else's word. It is stored with the
// message and never changes.
type Via string

const (
	// ViaChat: the sender wrote them on the chat's own network, which vouches for that.
	ViaChat Via = ""
	// ViaAPI: a program sent them with a token of the sender, as the sender's word.
	ViaAPI Via = "api"
	// ViaMCP: the same, by the Model Context Protocol.
	ViaMCP Via = "mcp"
	// ViaOthers: a program gave them as something that was said before. Nobody vouches for
	// who said it.
	ViaOthers Via = "others"
	// ViaReply: whoever runs Dragoman wrote them into the talk of others, as themselves.
	ViaReply Via = "reply"

	viaHook = "hook:"
)

// ViaHook is a webhook of that name: the words are data, and nobody's.
func ViaHook(name string) Via { return Via(viaHook + name) }

// Hook is the name of the webhook, "" if it is none.
func (v Via) Hook() string {
	name, found := strings.CutPrefix(string(v), viaHook)
	if !found {
		return ""
	}
	return name
}
