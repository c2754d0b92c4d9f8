package provider_test

import (
	"bytes"
	"testing"

	"dragoman/agent"
	"dragoman/agent/agenttest/providers"
	"dragoman/agent/provider"
	"dragoman/agent/wire"
	"dragoman/sessions"
)

// Origins are for us: they change no byte of a request.
func TestOriginsAreNotSent(t *testing.T) {
	zebra := []sessions.Origin{sessions.OriginSkill("zebra", "12ab")}
	for api, p := range map[string]providers.Provider{wire.APIChat: providers.Mistral(), wire.APIResponses: providers.GPT56(), wire.APIMessages: providers.Claude()} {
		var bodies [][]byte
		for _, origins := range [][]sessions.Origin{nil, zebra} {
			s := providers.Serve(t, p)
			m := model(t, s.URL(), func(o *provider.Options) {
				o.API = api
				o.Name = p.Model
				o.APIKey = providers.Key
			})
			r := agent.Request{System: "Be kind.", Key: "c1", Tools: []agent.Spec{{Name: "time", Effect: agent.EffectRead, Origin: "zebra"}}, Messages: []sessions.Message{
				{Role: sessions.RoleUser, Content: "hello", Origins: origins},
				{Role: sessions.RoleAssistant, ToolCalls: []sessions.ToolCall{{ID: "abcdefghi", Name: "time", Arguments: "{}"}}, Origins: origins},
				{Role: sessions.RoleTool, Name: "time", ToolCallID: "abcdefghi", Content: "noon", Origins: origins},
			}}
			if _, _, _, err := complete(t, m, r); err != nil {
				t.Fatalf("%s: %v", api, err)
			}
			bodies = append(bodies, s.Requests()[0].Body)
		}
		if !bytes.Equal(bodies[0], bodies[1]) || bytes.Contains(bodies[1], []byte("zebra")) {
			t.Errorf("%s: with origins the request is\n%s\nwithout:\n%s", api, bodies[1], bodies[0])
		}
	}
}
