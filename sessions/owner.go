package sessions

import "dragoman/channels"

// Owner is somebody who wrote in a conversation.
type Owner struct {
	// Identities are what the network vouched for in their messages, in the form of
	// [Sender.Owner] ("telegram:42"): the first is the one that names them.
	Identities []string `json:"identities"`
	// Private: they wrote in private.
	Private bool `json:"private,omitempty"`
	// From is the seq of their first message.
	From int64 `json:"from,omitempty"`
}

// AuthorOf is who wrote m, without From. It has no identity if their network vouches for
// none.
func AuthorOf(m channels.Inbound) Owner {
	o := Owner{Private: m.Private}
	for _, id := range m.Sender.IDs {
		if id != "" {
			o.Identities = append(o.Identities, Sender{Channel: m.Key.Channel(), ID: id}.Owner())
		}
	}
	return o
}
