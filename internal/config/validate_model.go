package config

import (
	"cmp"
	"fmt"
	"strings"
)

func (v *validator) model(m Model) {
	v.plain("model.base_url", m.BaseURL, !m.APIKey.IsZero() || len(m.ExtraHeaders) > 0)
	if m.Type == "openai" && m.BaseURL == "" {
		v.bad("model.base_url", "is needed for model.type openai", "write the address of the API, like http://127.0.0.1:11434/v1")
	}
	if m.Type == "demo" && (m.BaseURL != "" || !m.APIKey.IsZero()) {
		v.bad("model.type", "demo uses neither base_url nor api_key, but one of them is set", "remove them, or write openai")
	}
	if m.BaseURL != "" && m.Name == "" {
		v.bad("model.name", "is needed with model.base_url", "write the model's name as that server knows it")
	}
	if m.MaxTokens >= m.ContextWindow && m.ContextWindow >= 2048 {
		v.bad("model.max_tokens", "leaves no room in model.context_window for a question", fmt.Sprintf("write less than %d", m.ContextWindow))
	}
	for i, o := range m.Others {
		path := fmt.Sprintf("model.others[%d].name", i)
		switch {
		case strings.TrimSpace(o.Name) == "":
			v.bad(path, "is needed", "write the model's name as its server knows it")
		case o.Name == m.Name:
			v.bad(path, "is the configured model", "write its context_window and prices under model itself")
		}
	}
	for i, name := range m.Fallback {
		if path := fmt.Sprintf("model.fallback[%d]", i); m.Type == "demo" {
			v.bad(path, "the built-in demo has no other models", "remove it")
		} else if name == m.Name {
			v.bad(path, "is the configured model", "write the name of another model of the same server")
		}
	}
}

// plain warns of a key that everybody on the network could read.
func (v *validator) plain(path, address string, withSecret bool) {
	if withSecret && unencrypted(address) {
		v.warn(path, "the key crosses the network unencrypted", "write https://")
	}
}

// UnknownWindow is the context window of a model of which nobody says one, in
// tokens.
const UnknownWindow = 32768

// window is model.context_window, or what stands in for it while the server is
// not asked.
func (m Model) window() int { return cmp.Or(m.ContextWindow, UnknownWindow) }
