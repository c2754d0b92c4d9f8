package openai_test

import (
	"fmt"
	"strings"
	"testing"

	"dragoman/agent"
	"dragoman/agent/openai"
	"dragoman/agent/wire"
	"dragoman/sessions"
)

// BenchmarkEncode encodes a typical request: n messages before the newest, and
// nine tools.
func BenchmarkEncode(b *testing.B) {
	for _, n := range []int{0, 20, 100} {
		b.Run(fmt.Sprintf("history=%d", n), func(b *testing.B) {
			r := &agent.Request{System: strings.Repeat("You are a helpful go-between. ", 30)}
			for i := range n + 1 {
				role := sessions.RoleUser
				if i%2 == 1 {
					role = sessions.RoleAssistant
				}
				r.Messages = append(r.Messages, sessions.Message{Role: role, Content: strings.Repeat("some words that were said ", 8)})
			}
			for i := range 9 {
				r.Tools = append(r.Tools, agent.Spec{Name: fmt.Sprintf("tool_%d", i), Description: "Does something useful with a file."})
			}
			var c openai.Chat
			in := &wire.Input{Request: r, To: sessions.Provenance{Model: "fake"}}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.Encode(in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
