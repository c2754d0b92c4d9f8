package models_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"dragoman/agent/models"
)

const key = "sk-secret-of-the-test"

// ollama serves tags at /api/tags and shows, by model name, at /api/show.
// /v1/models lists the same names.
func ollama(t *testing.T, tags string, shows map[string]string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var ask struct{ Model string }
		_ = json.NewDecoder(r.Body).Decode(&ask)
		answer, shown := shows[ask.Model]
		switch {
		case r.URL.Path == "/api/tags":
			_, _ = io.WriteString(w, tags)
		case r.URL.Path == "/v1/models":
			var l struct{ Models []struct{ Name string } }
			_ = json.Unmarshal([]byte(tags), &l)
			var data []string
			for _, m := range l.Models {
				data = append(data, fmt.Sprintf(`{"id":%q,"owned_by":"library"}`, m.Name))
			}
			_, _ = fmt.Fprintf(w, `{"object":"list","data":[%s]}`, strings.Join(data, ","))
		case shown && r.URL.Path == "/api/show" && r.Method == http.MethodPost:
			_, _ = io.WriteString(w, answer)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func tags(names ...string) string {
	var list []string
	for _, n := range names {
		list = append(list, fmt.Sprintf(`{"name":%q,"details":{"family":"llama"}}`, n))
	}
	return `{"models":[` + strings.Join(list, ",") + `]}`
}

// lister serves a list of models to requests with the key.
func lister(t *testing.T, want string, ids ...string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if want != "" && r.Header.Get("Authorization") != "Bearer "+want && r.Header.Get("x-api-key") != want {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = fmt.Fprintf(w, `{"error":{"message":"Incorrect API key provided: %s"}}`, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
			return
		}
		if !strings.HasSuffix(r.URL.Path, "/v1/models") {
			http.NotFound(w, r)
			return
		}
		var data []string
		for _, id := range ids {
			id, day, ends := strings.Cut(id, "@")
			if ends {
				data = append(data, fmt.Sprintf(`{"id":%q,"shutdown_date":%q}`, id, day))
			} else {
				data = append(data, fmt.Sprintf(`{"id":%q,"shutdown_date":null}`, id))
			}
		}
		_, _ = fmt.Fprintf(w, `{"object":"list","data":[%s]}`, strings.Join(data, ","))
	}))
	t.Cleanup(s.Close)
	return s.URL + "/v1"
}

const (
	chats = `{"capabilities":["completion"],"details":{}}`
	calls = `{"capabilities":["completion","tools"],"parameters":"temperature 0.6\nnum_ctx                        16384\nstop \"x\"","details":{}}`
)

func TestChoose(t *testing.T) {
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	t.Cleanup(silent.Close)
	official := lister(t, key, "whisper-1", "gpt-4.1-mini@2027-01-14", "gpt-6-sol", "gpt-6-luna-2026-09-22", "gpt-6-luna", "gpt-5.6-luna", "gpt-image-2")
	old := lister(t, key, "gpt-4o@2027-01-14", "gpt-5@2026-12-11", "tts-1")
	own := lister(t, key, "text-embedding-3", "llama-chat", "other-chat")
	anthropic := lister(t, key, "claude-opus-5-5", "claude-haiku-5-5", "claude-sonnet-5-5")
	const nobody = "http://127.0.0.1:1"
	both := ollama(t, tags("nomic-embed-text:latest", "plain:1b", "able:8b"), map[string]string{"plain:1b": chats, "able:8b": calls})
	type env = map[string]string
	for name, tc := range map[string]struct {
		env       env
		key, name string // from the configuration
		want      models.Choice
		why       string // a part of the reason
	}{
		"key alone":       {env{"OPENAI_API_KEY": key}, "", "", models.Choice{BaseURL: official, Key: key, Name: "gpt-6-luna"}, "this is the small current model of its list (1 more will be shut down soon)"},
		"key and name":    {env{"OPENAI_API_KEY": key, "OPENAI_MODEL": "m"}, "", "", models.Choice{BaseURL: official, Key: key, Name: "m"}, "OPENAI_MODEL names"},
		"all three":       {env{"OPENAI_API_KEY": key, "OPENAI_BASE_URL": "http://me:pw@127.0.0.1:1/v1", "OPENAI_MODEL": "m"}, "", "", models.Choice{BaseURL: "http://me:pw@127.0.0.1:1/v1", Key: key, Name: "m"}, "m at 127.0.0.1:1,"},
		"base, listed":    {env{"OPENAI_API_KEY": key, "OPENAI_BASE_URL": own}, "", "", models.Choice{BaseURL: own, Key: key, Name: "llama-chat"}, "first model of its list"},
		"all end soon":    {env{"OPENAI_API_KEY": key, "OPENAI_BASE_URL": old}, "", "", models.Choice{BaseURL: old, Key: key, Name: "gpt-4o"}, "only models that will be shut down soon, this one on 2027-01-14"},
		"base, not asked": {env{"OPENAI_BASE_URL": nobody + "/v1"}, "", "", models.Choice{BaseURL: nobody + "/v1", Name: "default"}, "set model.name"},
		"base, broken":    {env{"OPENAI_BASE_URL": "::"}, "", "", models.Choice{BaseURL: "::", Name: "default"}, "the given address"},
		"anthropic":       {env{"ANTHROPIC_API_KEY": key}, "", "", models.Choice{BaseURL: anthropic, Key: key, Name: "claude-haiku-5-5"}, "ANTHROPIC_API_KEY is set"},
		"openai first":    {env{"ANTHROPIC_API_KEY": key, "OPENAI_API_KEY": key}, "", "", models.Choice{BaseURL: official, Key: key, Name: "gpt-6-luna"}, "OPENAI_API_KEY is set"},

		"configured key":          {nil, key, "", models.Choice{BaseURL: official, Key: key, Name: "gpt-6-luna"}, "model.api_key is set and looks like no other provider's"},
		"configured key and name": {nil, key, "mine", models.Choice{BaseURL: official, Key: key, Name: "mine"}, "model.name names the model"},
		"key, provider by name":   {nil, key, "claude-opus-5-5", models.Choice{BaseURL: anthropic, Key: key, Name: "claude-opus-5-5"}, "model.api_key"},
		"key of a known form":     {nil, "sk-ant-x", "x", models.Choice{BaseURL: anthropic, Key: "sk-ant-x", Name: "x"}, "model.api_key"},
		"key, base from env":      {env{"OPENAI_BASE_URL": own, "OPENAI_API_KEY": "other"}, key, "", models.Choice{BaseURL: own, Key: key, Name: "llama-chat"}, "OPENAI_BASE_URL says where"},
		"name, base from env":     {env{"OPENAI_BASE_URL": own, "OPENAI_API_KEY": key}, "", "mine", models.Choice{BaseURL: own, Key: key, Name: "mine"}, "model.name names"},
		"name, key of its maker":  {env{"OPENAI_API_KEY": "other", "ANTHROPIC_API_KEY": key}, "", "claude-sonnet-5-5", models.Choice{BaseURL: anthropic, Key: key, Name: "claude-sonnet-5-5"}, "ANTHROPIC_API_KEY is set, and model.name is one of Anthropic"},
		"name, of the Ollama":     {env{"OLLAMA_HOST": both}, "", "plain:1b", models.Choice{BaseURL: both + "/v1", Name: "plain:1b"}, "Ollama has it"},
		"name, a provider has it": {env{"OLLAMA_HOST": both, "OPENAI_API_KEY": key}, "", "whisper-1", models.Choice{BaseURL: official, Key: key, Name: "whisper-1"}, "OpenAI has it"},

		"tools preferred": {env{"OLLAMA_HOST": both}, "", "", models.Choice{BaseURL: both + "/v1", Name: "able:8b"}, "it can call tools"},
		"wanted":          {env{"OLLAMA_HOST": both, "OPENAI_MODEL": "plain:1b"}, "", "", models.Choice{BaseURL: both + "/v1", Name: "plain:1b"}, "so it only chats"},
		"no server":       {env{"OLLAMA_HOST": nobody}, "", "", models.Choice{Demo: true}, "no Ollama answers"},
		"silent":          {env{"OLLAMA_HOST": silent.URL}, "", "", models.Choice{Demo: true}, "no Ollama answers"},
	} {
		t.Run(name, func(t *testing.T) {
			o := models.ChooseOptions{
				Getenv: func(k string) string { return tc.env[k] }, Key: tc.key, Name: tc.name, Timeout: 30 * time.Second, OllamaTimeout: 30 * time.Second,
				Now: func() time.Time { return time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC) },
			}
			if strings.Contains(name, "silent") {
				o.OllamaTimeout = 100 * time.Millisecond
			}
			got, err := models.ChooseAt(t.Context(), o, map[string]string{"openai": official, "anthropic": anthropic})
			if err != nil {
				t.Fatal(err)
			}
			why := got.Why
			got.Why = ""
			if got != tc.want || !strings.Contains(why, tc.why) {
				t.Errorf("Choose = %+v (%s)\nwant %+v (… %s …)", got, why, tc.want, tc.why)
			}
			if strings.Contains(why, key) || strings.Contains(why, "pw") {
				t.Errorf("the description shows a secret: %s", why)
			}
			t.Log(why)
		})
	}
}

// TestChooseOfAnOllama checks which model of an Ollama is chosen, if any.
func TestChooseFromOllama(t *testing.T) {
	for name, tc := range map[string]struct{ url, want, why string }{
		"no tools":       {ollama(t, tags("plain:1b"), map[string]string{"plain:1b": chats}), "plain:1b", "so it only chats"},
		"old":            {ollama(t, tags("plain:1b"), nil), "plain:1b", "plain:1b"},
		"remote is last": {ollama(t, `{"models":[{"name":"far","remote_host":"https://x"},{"name":"near"}]}`, map[string]string{"far": calls, "near": calls}), "near", "near"},
		"embeds only":    {ollama(t, `{"models":[{"name":"x","details":{"family":"nomic-bert"}},{"name":"y"}]}`, map[string]string{"y": `{"capabilities":["embedding"],"details":{}}`}), "", "no chat model"},
		"no models":      {ollama(t, `{"models":null}`, nil), "", "ollama pull"},
		"not ollama":     {ollama(t, `<html>`, nil), "", "no Ollama answers"},
	} {
		got, err := models.Choose(t.Context(), models.ChooseOptions{
			OllamaTimeout: 30 * time.Second, Getenv: func(k string) string { return map[string]string{"OLLAMA_HOST": tc.url}[k] },
		})
		if err != nil || got.Name != tc.want || !strings.Contains(got.Why, tc.why) {
			t.Errorf("%s: Choose = %+v, %v; want %q (… %s …)", name, got, err, tc.want, tc.why)
		}
	}
}

// If no server has the model, the error lists the models that they have.
func TestChooseMissingModel(t *testing.T) {
	both := ollama(t, tags("qwen3:8b", "llama3.2:3b"), nil)
	for name, tc := range map[string]struct {
		env  map[string]string
		name string
		want []string
	}{
		"misspelled":   {map[string]string{"OLLAMA_HOST": both}, "qwen3:4b", []string{"model.name is qwen3:4b", "Ollama has qwen3:8b, llama3.2:3b", "model.base_url"}},
		"no ollama":    {map[string]string{"OLLAMA_HOST": "127.0.0.1:1"}, "qwen3", []string{"no Ollama answers at 127.0.0.1:1"}},
		"a key needed": {map[string]string{"OLLAMA_HOST": both}, "gpt-6-luna", []string{"OpenAI, whose model it is, needs a key", "${OPENAI_API_KEY}"}},
	} {
		_, err := models.Choose(t.Context(), models.ChooseOptions{Name: tc.name, Getenv: func(k string) string { return tc.env[k] }})
		if err == nil {
			t.Errorf("%s: Choose = nil, want an error", name)
			continue
		}
		t.Log(err)
		for _, part := range tc.want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: Choose = %v, want … %s …", name, err, part)
			}
		}
	}
}
