package sessions

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
