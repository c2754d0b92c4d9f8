package models

import (
	"context"
	"fmt"
	"strings"
)

// maxProbed bounds how many models Ollama is asked to describe.
const maxProbed = 16

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
	demo := Choice{Source: SourceDemo}
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
		Source: SourceOllama, BaseURL: base + "/v1", Name: name,
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
