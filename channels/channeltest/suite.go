package channeltest

import "testing"

// Run proves the contract for the adapter whose networks open makes. Each
// case gets a fresh network. A channel that needs a moment to connect has to be
// a [channels.Reporter]: the suite waits until its status is connected. It
// treats any other channel as ready as soon as Run was called.
func Run(t *testing.T, open func(t *testing.T) Network) {
	t.Helper()
	cases := []struct {
		name string
		test func(*testing.T, Network)
	}{
		{"receive/in order and once", receiveInOrder},
		{"receive/same text twice", receiveSameText},
		{"receive/refused comes again and is not overtaken", receiveRefused},
		{"receive/odd text", receiveOddText},
		{"receive/accepted before a restart", receiveAcrossRestart},
		{"receive/refused before a restart", receiveRefusedRestart},
		{"receive/said while down", receiveSaidWhileDown},
		{"receive/after a cut", receiveAfterCut},
		{"run/ends at once and leaves nothing", runEnds},
		{"run/ends while Accept waits", runEndsBlocked},
		{"run/again", runAgain},
		{"run/status", runStatus},
		{"send/in order", sendInOrder},
		{"send/kinds of text", sendKinds},
		{"send/very long", sendLong},
		{"send/control characters", sendControl},
		{"send/before Run and after", sendOutsideRun},
		{"send/after a cut", sendAfterCut},
		{"send/refused", sendRefused},
		{"send/same id again", sendAgain},
		{"send/side by side", sendConcurrent},
		{"send/ended context", sendEndedContext},
		{"split/pieces", splitPieces},
		{"show/typing", showTyping},
		{"show/preview becomes the answer", showPreview},
		{"show/a preview is taken back", showRetract},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { c.test(t, open(t)) })
	}
}

// keeps reports whether the network delivers unacknowledged messages again.
func keeps(net Network) bool {
	r, ok := net.(Redeliverer)
	return ok && r.KeepsUndelivered()
}
