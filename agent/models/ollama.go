package models

import (
	"cmp"
	"context"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

const (
	// ollamaPort is where Ollama listens by default.
	ollamaPort = "11434"
	// ollamaWindow is the smallest window that Ollama loads a model with by
	// default. It cuts longer requests off silently.
	ollamaWindow = 4096
)

// OllamaURL is where an Ollama's own clients look for it: at the variable
// OLLAMA_HOST, in all forms that those take: host, host:port, :port, a URL with
// or without a port, and 0.0.0.0, which is where a server listens.
func OllamaURL(host string) string {
	host = strings.Trim(strings.TrimSpace(host), `"'`)
	scheme, rest, found := strings.Cut(host, "://")
	port := ollamaPort
	switch {
	case !found:
		scheme, rest = "http", host
	case scheme == "http":
		port = "80"
	case scheme == "https":
		port = "443"
	}
	rest, path, _ := strings.Cut(rest, "/")
	name, given, err := net.SplitHostPort(rest)
	if err != nil {
		name, given = strings.Trim(rest, "[]"), ""
	}
	if n, err := strconv.Atoi(given); err != nil || n < 0 || n > 65535 {
		given = ""
	}
	if ip := net.ParseIP(name); name == "" || ip != nil && ip.IsUnspecified() {
		name = "127.0.0.1"
	}
	u := url.URL{Scheme: scheme, Host: net.JoinHostPort(name, cmp.Or(given, port)), Path: strings.TrimRight("/"+path, "/")}
	return u.String()
}

// ollamaInfo is what Ollama says of a model. Old versions name no capabilities.
type ollamaInfo struct {
	Capabilities []string       `json:"capabilities"`
	Parameters   string         `json:"parameters"`
	Info         map[string]any `json:"model_info"`
	RemoteHost   string         `json:"remote_host"` // where it runs, if elsewhere
	Details      map[string]any `json:"details"`
}

func (s *ollamaInfo) can(what string) bool { return slices.Contains(s.Capabilities, what) }

// windows are the model's own num_ctx, and what it could have; 0: not said.
func (s *ollamaInfo) windows() (own, most int) {
	for line := range strings.Lines(s.Parameters) {
		f := strings.Fields(line)
		if len(f) == 2 && f[0] == "num_ctx" {
			if n, err := strconv.Atoi(f[1]); err == nil && n > 0 {
				own = n
			}
		}
	}
	for name, value := range s.Info {
		if n, ok := value.(float64); ok && strings.HasSuffix(name, ".context_length") {
			most = int(n)
		}
	}
	return own, most
}

// show asks an Ollama about one of its models.
func (s *Server) show(ctx context.Context, name string) (said ollamaInfo, err error) {
	err = s.fetch(ctx, "/api/show", map[string]string{"model": name}, &said)
	if err == nil && said.Details == nil && said.Info == nil && said.Capabilities == nil {
		err = errNoAPI
	}
	return said, err
}

// loadedWindow is the window that an Ollama has loadedWindow the model with, 0 if it has
// not.
func (s *Server) loadedWindow(ctx context.Context, name string) int {
	var running struct {
		Models []struct {
			Name   string `json:"name"`
			Model  string `json:"model"`
			Window int    `json:"context_length"`
		} `json:"models"`
	}
	if s.fetch(ctx, "/api/ps", nil, &running) != nil {
		return 0
	}
	for _, m := range running.Models {
		if sameModel(m.Name, name) || sameModel(m.Model, name) {
			return m.Window
		}
	}
	return 0
}

// askOllama asks an Ollama about the model called name. It reports false if the
// server is none.
func (s *Server) askOllama(ctx context.Context, f *Found, name string) bool {
	said, err := s.show(ctx, name)
	if err != nil {
		return false
	}
	f.Server, f.JSONSchema = ServerOllama, true
	f.addOllama(said, s.loadedWindow(ctx, name))
	return true
}

// addOllama is what an Ollama says of a model and of how it has loaded it.
func (f *Found) addOllama(s ollamaInfo, loaded int) {
	const from = "Ollama's /api/show"
	var facts Facts
	if len(s.Capabilities) > 0 {
		facts.Tools, facts.Vision = answerOf(s.can("tools")), answerOf(s.can("vision"))
	}
	if s.can("thinking") {
		facts.Efforts = []string{"none", "low", "medium", "high"}
	}
	f.merge(facts, from)
	own, most := s.windows()
	window := func(tokens int, from string) {
		if most > 0 {
			tokens = min(tokens, most)
		}
		f.merge(Facts{Window: tokens}, from)
	}
	switch {
	case loaded > 0:
		window(loaded, "Ollama's /api/ps")
	case own > 0:
		window(own, from+" (num_ctx)")
	case s.RemoteHost != "" && most > 0:
		window(most, from)
	default:
		f.Tentative = true
		window(ollamaWindow, "the least that Ollama loads a model with")
	}
}
