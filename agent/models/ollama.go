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
	// ollamaPort is Ollama's default port.
	ollamaPort = "11434"
	// ollamaWindow is the smallest default window of Ollama, in tokens. It
	// silently cuts longer requests.
	ollamaWindow = 4096
)

// OllamaURL returns the URL of an Ollama for a value of OLLAMA_HOST, in all
// forms that Ollama's own clients accept: host, host:port, :port, a URL with or
// without a port, and 0.0.0.0, which is where a server listens.
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

// ollamaInfo is Ollama's description of a model. Old versions list no
// capabilities.
type ollamaInfo struct {
	Capabilities []string       `json:"capabilities"`
	Parameters   string         `json:"parameters"`
	Info         map[string]any `json:"model_info"`
	RemoteHost   string         `json:"remote_host"` // where the model runs, if not here
	Details      map[string]any `json:"details"`
}

func (s *ollamaInfo) can(what string) bool { return slices.Contains(s.Capabilities, what) }

// windows returns the configured num_ctx and the model's maximum, in tokens; 0
// if not given.
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

// show asks an Ollama to describe one of its models.
func (s *Server) show(ctx context.Context, name string) (info ollamaInfo, err error) {
	err = s.fetch(ctx, "/api/show", map[string]string{"model": name}, &info)
	if err == nil && info.Details == nil && info.Info == nil && info.Capabilities == nil {
		err = errNoAPI
	}
	return info, err
}

// loadedWindow returns the window with which an Ollama has loaded the model, in
// tokens, or 0 if it is not loaded.
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

// askOllama asks an Ollama about the model called name. It returns false if the
// server is not an Ollama.
func (s *Server) askOllama(ctx context.Context, f *Found, name string) bool {
	info, err := s.show(ctx, name)
	if err != nil {
		return false
	}
	f.Server, f.JSONSchema = ServerOllama, true
	f.addOllama(info, s.loadedWindow(ctx, name))
	return true
}

// addOllama adds Ollama's description of a model, and the window with which it
// is loaded (0: not loaded).
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
		window(ollamaWindow, "Ollama's smallest default")
	}
}
