package openai_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"dragoman/agent/agenttest"
	"dragoman/agent/openai"
)

// ollama serves /api/tags with models and /api/show with shows by name.
func ollama(t *testing.T, tags string, shows map[string]string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/tags" {
			_, _ = io.WriteString(w, tags)
			return
		}
		var ask struct{ Model string }
		_ = json.NewDecoder(r.Body).Decode(&ask)
		if answer, ok := shows[ask.Model]; ok && r.URL.Path == "/api/show" && r.Method == http.MethodPost {
			_, _ = io.WriteString(w, answer)
			return
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func models(names ...string) string {
	var list []string
	for _, n := range names {
		list = append(list, fmt.Sprintf(`{"name":%q,"details":{"family":"llama"}}`, n))
	}
	return `{"models":[` + strings.Join(list, ",") + `]}`
}

func TestDetect(t *testing.T) {
	const chat, tools = `{"capabilities":["completion"]}`, `{"capabilities":["completion","tools"],"parameters":"temperature 0.6\nnum_ctx                        16384\nstop \"x\""}`
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	t.Cleanup(silent.Close)
	fake := agenttest.Serve(t, agenttest.Options{Models: []string{"text-embedding-3", "llama-chat"}, APIKey: key})
	for name, tc := range map[string]struct {
		env    map[string]string
		ollama string
		want   openai.Choice // without Why
		why    string        // a part of it
	}{
		"key alone":       {map[string]string{"OPENAI_API_KEY": key}, "", openai.Choice{Source: "environment", BaseURL: "https://api.openai.com/v1", APIKey: key, Name: "gpt-4.1-mini"}, "OPENAI_API_KEY is set"},
		"all three":       {map[string]string{"OPENAI_API_KEY": key, "OPENAI_BASE_URL": "http://me:pw@127.0.0.1:1/v1", "OPENAI_MODEL": "m"}, "", openai.Choice{Source: "environment", BaseURL: "http://me:pw@127.0.0.1:1/v1", APIKey: key, Name: "m"}, "m at 127.0.0.1:1,"},
		"base, listed":    {map[string]string{"OPENAI_API_KEY": key, "OPENAI_BASE_URL": fake.URL()}, "", openai.Choice{Source: "environment", BaseURL: fake.URL(), APIKey: key, Name: "llama-chat"}, "first model it lists"},
		"base, not asked": {map[string]string{"OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}, "", openai.Choice{Source: "environment", BaseURL: "http://127.0.0.1:1/v1", Name: "default"}, "set OPENAI_MODEL"},
		"base, broken":    {map[string]string{"OPENAI_BASE_URL": "::"}, "", openai.Choice{Source: "environment", BaseURL: "::", Name: "default"}, "the given address"},
		"tools preferred": {nil, ollama(t, models("nomic-embed-text:latest", "plain:1b", "able:8b"), map[string]string{"plain:1b": chat, "able:8b": tools}), openai.Choice{Source: "ollama", Name: "able:8b", ContextWindow: 16384}, "it can call tools"},
		"no tools":        {nil, ollama(t, models("plain:1b"), map[string]string{"plain:1b": chat}), openai.Choice{Source: "ollama", Name: "plain:1b", ContextWindow: 4096}, "may only chat"},
		"old ollama":      {nil, ollama(t, models("plain:1b"), nil), openai.Choice{Source: "ollama", Name: "plain:1b", ContextWindow: 4096}, "plain:1b"},
		"wanted":          {map[string]string{"OPENAI_MODEL": "plain"}, ollama(t, models("able:8b", "plain:latest"), map[string]string{"plain:latest": chat, "able:8b": tools}), openai.Choice{Source: "ollama", Name: "plain:latest", ContextWindow: 4096}, "plain"},
		"remote is last":  {nil, ollama(t, `{"models":[{"name":"far","remote_host":"https://x"},{"name":"near"}]}`, map[string]string{"far": tools, "near": tools}), openai.Choice{Source: "ollama", Name: "near", ContextWindow: 16384}, "near"},
		"embeds only":     {nil, ollama(t, `{"models":[{"name":"x","details":{"family":"nomic-bert"}},{"name":"y"}]}`, map[string]string{"y": `{"capabilities":["embedding"]}`}), openai.Choice{Source: "demo"}, "no chat model"},
		"no models":       {nil, ollama(t, `{"models":null}`, nil), openai.Choice{Source: "demo"}, "ollama pull"},
		"not ollama":      {nil, ollama(t, `<html>`, nil), openai.Choice{Source: "demo"}, "no Ollama answers"},
		"nobody there":    {nil, "http://127.0.0.1:1", openai.Choice{Source: "demo"}, "no Ollama answers"},
		"silent":          {nil, silent.URL, openai.Choice{Source: "demo"}, "no Ollama answers"},
	} {
		t.Run(name, func(t *testing.T) {
			patience := 30 * time.Second
			if tc.ollama == silent.URL {
				patience = 300 * time.Millisecond
			}
			begun := time.Now()
			got := openai.Detect(t.Context(), openai.DetectOptions{
				Getenv: func(k string) string { return tc.env[k] }, OllamaURL: tc.ollama, OllamaTimeout: patience,
			})
			if tc.want.Source == openai.SourceOllama {
				tc.want.BaseURL = tc.ollama + "/v1"
			}
			why := got.Why
			got.Why = ""
			if got != tc.want || !strings.Contains(why, tc.why) {
				t.Errorf("Detect = %+v (%s)\nwant %+v (… %s …)", got, why, tc.want, tc.why)
			}
			if strings.Contains(why, key) || strings.Contains(why, "pw") {
				t.Errorf("the description shows a secret: %s", why)
			}
			if took := time.Since(begun); took > 20*time.Second {
				t.Errorf("Detect took %s", took)
			}
			t.Log(why)
		})
	}
}
