package exchange

import (
	"cmp"
	"encoding/json"
	"strings"

	"dragoman/channels"
	"dragoman/sessions"
)

// namesOfMolf are Molf's names of fields of a message, and ours.
var namesOfMolf = map[string]string{"toolCalls": "tool_calls", "toolCallId": "tool_call_id", "toolName": "name"}

// dialect finds out whether the document around the messages is Molf's or
// Terrarium's, and takes the fields that only these have. It is "" for others.
func (t *talk) dialect(f fieldSet) Format {
	var id, kind string
	switch {
	case f["key"] != nil: // it came from us
		return ""
	case f["workerId"] != nil && json.Unmarshal(f["sessionId"], &id) == nil && id != "":
		t.name, t.checkpoints = id, true
		f.rename("name", "title")
		return Molf
	case json.Unmarshal(f["session_id"], &id) != nil || id == "" || f["system_prompt"] == nil && f["context_type"] == nil:
		return ""
	}
	t.name = id
	_ = json.Unmarshal(f["context_type"], &kind)
	if name, rest, ok := strings.Cut(id, "_"); ok && kind == "" {
		switch name {
		case "irc":
			kind, id = name, "#"+rest
		case "web", "game":
			kind, id = name, rest
		}
	}
	if k, err := channels.NewKey(kind, id); err == nil {
		t.key = k.String()
	}
	return Terrarium
}

// usageOfOthers understands a usage with the names that OpenAI, Anthropic, Molf
// or Sentinel write, or ours among others. Nil: there is nothing that counts.
func usageOfOthers(raw json.RawMessage) *sessions.Usage {
	var u struct {
		sessions.Usage
		OpenAIIn     int `json:"prompt_tokens"`
		OpenAIOut    int `json:"completion_tokens"`
		OpenAICached struct {
			Tokens int `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
		AnthropicIn    int `json:"input_tokens"`
		AnthropicOut   int `json:"output_tokens"`
		MolfIn         int `json:"inputTokens"`
		MolfOut        int `json:"outputTokens"`
		MolfCached     int `json:"cacheReadTokens"`
		SentinelIn     int `json:"requestTokens"`
		SentinelOut    int `json:"responseTokens"`
		SentinelCached struct {
			Tokens int `json:"cachedTokens"`
		} `json:"requestTokenDetails"`
	}
	if json.Unmarshal(raw, &u) != nil {
		return nil
	}
	n := u.Usage
	n.Input = max(0, cmp.Or(u.Input, u.OpenAIIn, u.AnthropicIn, u.MolfIn, u.SentinelIn))
	n.Output = max(0, cmp.Or(u.Output, u.OpenAIOut, u.AnthropicOut, u.MolfOut, u.SentinelOut))
	n.Cached = max(0, cmp.Or(u.Cached, u.OpenAICached.Tokens, u.MolfCached, u.SentinelCached.Tokens))
	if n == (sessions.Usage{}) {
		return nil
	}
	return &n
}
