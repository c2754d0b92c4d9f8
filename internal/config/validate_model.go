package config

import (
	"cmp"
	"fmt"
	"math"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"dragoman/internal/lazily"
)

func (v *validator) model() {
	m := v.c.Model
	v.oneOf("model.type", m.Type, "auto", "openai", "demo")
	v.oneOf("model.api", m.API, "auto", "chat", "responses", "messages")
	v.oneOf("model.vision", m.Vision, "auto", "yes", "no")
	v.oneOf("model.reasoning", m.Reasoning, Efforts...)
	v.oneOf("model.show_reasoning", m.ShowReasoning, "off", "folded")
	v.oneOf("model.text_tools", m.TextTools, "auto", "off")
	v.server("model.base_url", m.BaseURL, !m.APIKey.Empty() || len(m.ExtraHeaders) > 0)
	v.body("model.extra_body", m.ExtraBody)
	v.headers("model.extra_headers", m.ExtraHeaders)
	if m.Type == "openai" && m.BaseURL == "" {
		v.bad("model.base_url", "is needed for model.type openai", "write the address of the API, like http://127.0.0.1:11434/v1")
	}
	if m.Type == "demo" && (m.BaseURL != "" || !m.APIKey.Empty()) {
		v.bad("model.type", "demo uses neither base_url nor api_key, but one of them is set", "remove them, or write openai")
	}
	if m.BaseURL != "" && m.Name == "" {
		v.bad("model.name", "is needed with model.base_url", "write the model's name as that server knows it")
	}
	v.window("model.context_window", m.ContextWindow)
	v.between("model.max_tokens", m.MaxTokens, 0, 1_000_000)
	if m.MaxTokens >= m.ContextWindow && m.ContextWindow >= 2048 {
		v.bad("model.max_tokens", "leaves no room in model.context_window for a question", fmt.Sprintf("write less than %d", m.ContextWindow))
	}
	v.temperature("model.temperature", m.Temperature)
	v.span("model.first_byte_timeout", m.FirstByteTimeout, time.Second, time.Hour)
	v.span("model.idle_timeout", m.IdleTimeout, time.Second, time.Hour)
	v.span("model.call_timeout", m.CallTimeout, time.Second, 24*time.Hour)
	v.between("model.retries", m.Retries, 0, 20)
	v.prices("model.prices", m.Prices)
	v.others(m)
	v.fallbacks(m)
}

func (v *validator) temperature(path string, t *float64) {
	if t != nil && (math.IsNaN(*t) || *t < 0 || *t > 2) {
		v.bad(path, "is out of range", "write 0 to 2")
	}
}

// UnknownWindow is the context window of a model of which nobody says one, in
// tokens.
const UnknownWindow = 32768

// window is model.context_window, or what stands in for it while the server is
// not asked.
func (m Model) window() int { return cmp.Or(m.ContextWindow, UnknownWindow) }

// others checks what is said about other models than the configured one.
func (v *validator) others(m Model) {
	seen := map[string]bool{}
	for i, o := range m.Others {
		path := fmt.Sprintf("model.others[%d]", i)
		switch {
		case strings.TrimSpace(o.Name) == "":
			v.bad(path+".name", "is needed", "write the model's name as its server knows it")
		case o.Name == m.Name:
			v.bad(path+".name", "is the configured model", "write its context_window and prices under model itself")
		case seen[o.Name]:
			v.bad(path+".name", "appears twice", "keep one")
		}
		seen[o.Name] = true
		v.window(path+".context_window", o.ContextWindow)
		v.prices(path+".prices", o.Prices)
	}
}

// window checks a context window that 0 leaves to another key.
func (v *validator) window(path string, tokens int) {
	if tokens != 0 {
		v.between(path, tokens, 2048, 10_000_000)
	}
}

func (v *validator) prices(path string, p Prices) {
	v.price(path+".input", p.Input)
	v.price(path+".output", p.Output)
	v.price(path+".cached", p.Cached)
}

// price checks what a million tokens cost.
func (v *validator) price(path string, value float64) {
	if math.IsNaN(value) || value < 0 || value > 1e6 {
		v.bad(path, "is not a price", "write what a million tokens cost, like 0.25")
	}
}

// secretQuery finds names of values in a query that are secrets.
var secretQuery = lazily.Compile(`(?i)key|token|secret|password|^sig`)

// server checks the address of a model's server, which may have a query.
func (v *validator) server(path, value string, withSecret bool) {
	u, err := url.Parse(value)
	if err != nil || u.RawQuery == "" {
		v.url(path, value, withSecret)
		return
	}
	for name := range u.Query() {
		if secretQuery.Regexp().MatchString(name) {
			v.bad(path, "has a key in its query, where logs would show it", "remove it; model.api_key and model.extra_headers are for keys")
			return
		}
	}
	u.RawQuery = ""
	v.url(path, u.String(), withSecret)
}

// url checks an address that requests go to. A secret inside of it would end
// up in logs, so it is refused there.
func (v *validator) url(path, value string, withSecret bool) {
	if value == "" {
		return
	}
	u, err := url.Parse(value)
	switch {
	case err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "":
		v.bad(path, "is not a web address", "write one like https://host/path")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		v.bad(path, "has a user, a query or a fragment", "write the plain address; there are other settings for keys")
	case u.Scheme == "http" && withSecret && !loopbackHost(u.Hostname()):
		v.warn(path, "the key crosses the network unencrypted", "write https://")
	}
}

func loopbackHost(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || (err == nil && ip.IsLoopback())
}
