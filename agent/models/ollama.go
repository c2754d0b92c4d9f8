package models

import (
	"cmp"
	"context"
	"fmt"
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

// maxProbed bounds how many models Ollama is asked to describe.
const maxProbed = 16

// ollamaModel is an installed model as Ollama lists it.
type ollamaModel struct {
	Name       string `json:"name"`
	RemoteHost string `json:"remote_host"`
	Details    struct {
		Family string `json:"family"`
	} `json:"details"`
}

// ollama chooses a model of the Ollama at OLLAMA_HOST, or the demo.
func (o *ChooseOptions) ollama(ctx context.Context, wanted string) Choice {
	const connect = " Set OPENAI_API_KEY or another provider's, or OPENAI_BASE_URL for a server of your own, or start Ollama (https://ollama.com), to connect a real one."
	base := OllamaURL(o.env("OLLAMA_HOST"))
	s := o.server(base, "")
	s.Timeout = o.OllamaTimeout
	demo := Choice{Demo: true}
	var list struct {
		Models []ollamaModel `json:"models"`
	}
	if err := s.fetch(ctx, "/api/tags", nil, &list); err != nil {
		demo.Why = "The model is the built-in demo, which follows simple rules: no provider's key and no OPENAI_BASE_URL is set, and no Ollama answers at " + Host(base) + "." + connect
		return demo
	}
	name, found := s.pickOllama(ctx, list.Models, wanted)
	if name == "" {
		demo.Why = "The model is the built-in demo, which follows simple rules: the Ollama at " + Host(base) + " has no chat model yet (\"ollama pull qwen3\" gets one)."
		return demo
	}
	about := "it can call tools"
	if found.Tools != Yes {
		about = "it does not say that it can call tools, so it only chats"
	}
	return Choice{
		BaseURL: base + "/v1", Name: name,
		Why: fmt.Sprintf("The model is %s of the Ollama found at %s; %s.", name, Host(base), about),
	}
}

// pickOllama chooses the wanted model if it is there, else the first that can
// call tools, else the first that can chat. Local models come before remote
// ones that Ollama only relays.
func (s *Server) pickOllama(ctx context.Context, models []ollamaModel, wanted string) (name string, f Found) {
	ctx, cancel := context.WithTimeout(ctx, 3*s.Timeout)
	defer cancel()
	var local, remote []string
	for _, m := range models {
		switch {
		case m.Name == "" || notForChat(m.Name) || strings.Contains(m.Details.Family, "bert"):
		case wanted != "" && sameModel(m.Name, wanted):
			s.askOllama(ctx, &f, m.Name)
			return m.Name, f
		case m.RemoteHost != "":
			remote = append(remote, m.Name)
		default:
			local = append(local, m.Name)
		}
	}
	for i, candidate := range append(local, remote...) {
		if i == maxProbed {
			break
		}
		var found Found
		info, err := s.show(ctx, candidate)
		found.addOllama(info, 0)
		switch {
		case err == nil && len(info.Capabilities) > 0 && !info.can("completion"):
		case found.Tools == Yes:
			return candidate, found
		case name == "":
			name, f = candidate, found
		}
	}
	return name, f
}
