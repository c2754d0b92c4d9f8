package gateway_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"dragoman/channels"
	"dragoman/internal/gateway"
)

// sharing is a network whose chats with a # are shared.
type sharing struct{ *network }

func (sharing) Shared(chat string) bool { return strings.HasPrefix(chat, "#") }

// A question of the operator's in a room is asked in a room: with its prompt, and with the
// room's memory.
func TestAskInARoom(t *testing.T) {
	for chat, private := range map[string]bool{"#rust": false, "#": false, "ann": true, "42": true} {
		synctest.Test(t, func(t *testing.T) {
			asked := ""
			w := start(t, func(w *world, b *gateway.Binding, _ *gateway.Options) {
				b.Channel = sharing{w.net}
				b.System = func(_ string, private bool) string {
					asked = map[bool]string{true: "a private chat", false: "a room"}[private]
					return asked
				}
			})
			if _, err := w.gw.Ask(t.Context(), gateway.Question{Key: channels.MustKey("net:" + chat), ID: "q1", Text: "hello"}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if turn := w.agent.turns[0]; turn.Private != private || strings.Contains(asked, "private") != private {
				t.Errorf("in %s the turn is private: %t, and its prompt is for %s, want private: %t", chat, turn.Private, asked, private)
			}
		})
	}
}
