package provider_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"dragoman/agent"
	"dragoman/agent/anthropic"
	"dragoman/agent/openai"
	"dragoman/agent/wire"
	"dragoman/sessions"
)

// What a caller wants of one answer is sent to each API in its own words, as far as it
// has some.
func TestWishesOfEachAPI(t *testing.T) {
	for name, test := range map[string]struct {
		codec wire.Codec
		want  map[string]string
	}{
		"chat": {&openai.Chat{}, map[string]string{
			"top_p": "0.5", "presence_penalty": "1", "frequency_penalty": "-1", "stop": `["END"]`, "seed": "7", "tool_choice": `"required"`, "parallel_tool_calls": "false",
		}},
		"responses": {openai.Responses{}, map[string]string{"top_p": "0.5", "tool_choice": `"required"`, "parallel_tool_calls": "false", "stop": "", "seed": ""}},
		"messages":  {anthropic.Messages{}, map[string]string{"stop_sequences": `["END"]`, "tool_choice": `{"disable_parallel_tool_use":true,"type":"any"}`, "seed": ""}},
	} {
		t.Run(name, func(t *testing.T) {
			r := agent.Request{
				Messages: []sessions.Message{{Role: sessions.RoleUser, Content: "hi"}},
				Tools:    []agent.Spec{{Name: "pay", Parameters: json.RawMessage(`{"type":"object"}`)}},
			}
			if got := encoded(t, test.codec, &r); strings.ContainsAny(string(got["tool_choice"])+string(got["stop"])+string(got["top_p"]), "abcdefghijklmnopqrstuvwxyz0123456789") {
				t.Errorf("a request without wishes has %s", got)
			}
			r.TopP = new(float32(0.5))
			r.PresencePenalty = new(float32(1))
			r.FrequencyPenalty = new(float32(-1))
			r.Stop = []string{"END"}
			r.Seed = new(7)
			r.MustCall, r.OneCall = true, true
			got := encoded(t, test.codec, &r)
			for field, want := range test.want {
				if string(got[field]) != want {
					t.Errorf("%s = %s, want %s", field, got[field], want)
				}
			}
		})
	}
}

func encoded(t *testing.T, c wire.Codec, r *agent.Request) (fields map[string]json.RawMessage) {
	t.Helper()
	parts, err := c.Encode(&wire.Input{Request: r, To: sessions.Provenance{Model: "m"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(bytes.Join(parts, nil), &fields); err != nil {
		t.Fatal(err)
	}
	return fields
}
