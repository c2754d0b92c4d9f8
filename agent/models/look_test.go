package models_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"dragoman/agent"
	"dragoman/agent/models"
)

// pages serves fixed answers by path. A number at the beginning of an answer is
// its status.
func pages(t *testing.T, answers map[string]string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, found := answers[r.URL.Path]
		if !found {
			http.NotFound(w, r)
			return
		}
		var status int
		if n, _ := fmt.Sscanf(text, "%d ", &status); n == 1 {
			text = text[4:]
			w.WriteHeader(status)
		}
		_, _ = w.Write([]byte(text))
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// TestLook has the answers of each kind of server, in its own form.
func TestLook(t *testing.T) {
	list := func(entry string) string { return `{"object":"list","data":[` + entry + `]}` }
	for name, tc := range map[string]struct {
		answers map[string]string
		model   string
		want    models.Found
	}{
		"ollama, loaded": {
			map[string]string{
				"/v1/models": list(`{"id":"qwen3:8b","owned_by":"library"}`),
				"/api/show":  `{"capabilities":["completion","tools","thinking"],"details":{},"model_info":{"qwen3.context_length":40960}}`,
				"/api/ps":    `{"models":[{"name":"qwen3:8b","context_length":8192}]}`,
			},
			"qwen3:8b",
			models.Found{Facts: models.Facts{Window: 8192, Tools: "yes", Vision: "no", Efforts: []string{"none", "low", "medium", "high"}}, Server: "Ollama", WindowFrom: "Ollama's /api/ps", JSONSchema: true, Names: []string{"qwen3:8b"}},
		},
		"ollama, num_ctx": {
			map[string]string{
				"/v1/models": list(`{"id":"gemma3:latest","owned_by":"library"}`),
				"/api/show":  `{"capabilities":["completion","vision"],"parameters":"num_ctx 16384","details":{}}`,
				"/api/ps":    `{"models":[]}`,
			},
			"gemma3",
			models.Found{Facts: models.Facts{Window: 16384, Tools: "no", Vision: "yes"}, Server: "Ollama", WindowFrom: "Ollama's /api/show (num_ctx)", JSONSchema: true, Names: []string{"gemma3:latest"}},
		},
		"ollama, not loaded": {
			map[string]string{
				"/v1/models": list(`{"id":"old:1b","owned_by":"library"}`),
				"/api/show":  `{"details":{}}`,
			},
			"old:1b",
			models.Found{Facts: models.Facts{Window: 4096, Vision: "no"}, Server: "Ollama", WindowFrom: "Ollama's smallest default", Tentative: true, JSONSchema: true, Names: []string{"old:1b"}},
		},
		"ollama, small model": {
			map[string]string{
				"/v1/models": list(`{"id":"tiny","owned_by":"library"}`),
				"/api/show":  `{"details":{},"model_info":{"llama.context_length":2048}}`,
			},
			"tiny",
			models.Found{Facts: models.Facts{Window: 2048, Vision: "no"}, Server: "Ollama", WindowFrom: "Ollama's smallest default", Tentative: true, JSONSchema: true, Names: []string{"tiny"}},
		},
		"llama.cpp": {
			map[string]string{
				"/v1/models": `{"models":[{"name":"m.gguf"}],"object":"list","data":[{"id":"m.gguf","owned_by":"llamacpp","meta":{"n_ctx":8192,"n_ctx_train":32768}}]}`,
				"/props":     `{"default_generation_settings":{"n_ctx":4096},"modalities":{"vision":true},"chat_template_caps":{"supports_tools":true}}`,
			},
			"anything",
			models.Found{Facts: models.Facts{Window: 4096, Tools: "yes", Vision: "yes"}, Server: "llama.cpp", WindowFrom: "its server's /props", JSONSchema: true, Names: []string{"m.gguf"}},
		},
		"llama.cpp, a template without tools": {
			map[string]string{
				"/v1/models": list(`{"id":"gemma-2.gguf","owned_by":"llamacpp"}`),
				"/props":     `{"default_generation_settings":{"n_ctx":4096},"chat_template_caps":{"supports_tools":false,"supports_tool_calls":false}}`,
			},
			"gemma-2.gguf",
			models.Found{Facts: models.Facts{Window: 4096, Tools: "no", Vision: "no"}, Server: "llama.cpp", WindowFrom: "its server's /props", JSONSchema: true, Names: []string{"gemma-2.gguf"}},
		},
		"llama.cpp without props": {
			map[string]string{"/v1/models": list(`{"id":"m","owned_by":"llamacpp","meta":{"n_ctx":8192}}`)},
			"m",
			models.Found{Facts: models.Facts{Window: 8192, Vision: "no"}, WindowFrom: "its server's list of models", Names: []string{"m"}},
		},
		"vLLM": {
			map[string]string{"/v1/models": list(`{"id":"Qwen/Qwen3-VL-8B","owned_by":"vllm","max_model_len":65536}`)},
			"Qwen/Qwen3-VL-8B",
			models.Found{Facts: models.Facts{Window: 65536, Vision: "yes"}, Server: "vLLM", WindowFrom: "its server's list of models", JSONSchema: true, Names: []string{"Qwen/Qwen3-VL-8B"}},
		},
		"OpenRouter's fields": {
			map[string]string{"/v1/models": list(`{"id":"x/y","context_length":131072,"supported_parameters":["tools","reasoning"],"architecture":{"input_modalities":["text","image"],"output_modalities":["text"]},"pricing":{"prompt":"0.0000001","completion":"0.0000005","input_cache_read":"0.00000001"},"expiration_date":"2027-05-01T00:00:00Z"}`)},
			"x/y",
			models.Found{Facts: models.Facts{Window: 131072, Tools: "yes", Vision: "yes"}, WindowFrom: "its server's list of models", Prices: models.Prices{Input: 0.1, Output: 0.5, Cached: 0.01}, Shutdown: "2027-05-01", Names: []string{"x/y"}},
		},
		"Anthropic's fields": {
			map[string]string{"/v1/models": list(`{"id":"c","type":"model","max_input_tokens":1000000,"max_tokens":128000,"capabilities":{"image_input":{"supported":true},"effort":{"supported":true,"low":{"supported":true},"high":{"supported":true},"max":{"supported":false}}}}`)},
			"c",
			models.Found{Facts: models.Facts{Window: 1000000, Vision: "yes", Efforts: []string{"low", "high"}}, WindowFrom: "its server's list of models", Names: []string{"c"}},
		},
		"Mistral's fields": {
			map[string]string{"/v1/models": list(`{"id":"m","max_context_length":262144,"capabilities":{"completion_chat":true,"function_calling":false,"vision":true},"deprecation":"2027-02-01T00:00:00Z"}`)},
			"m",
			models.Found{Facts: models.Facts{Window: 262144, Tools: "no", Vision: "yes"}, WindowFrom: "its server's list of models", Shutdown: "2027-02-01", Names: []string{"m"}},
		},
		"a proxy": {
			map[string]string{"/v1/models": list(`{"id":"gpt-6-luna"}`)},
			"gpt-6-luna",
			models.Found{Facts: models.Facts{Window: 1050000, Tools: "yes", Vision: "yes", Efforts: []string{"none", "low", "medium", "high", "xhigh", "max"}}, WindowFrom: "the table of 2026-11-22", Names: []string{"gpt-6-luna"}},
		},
		"not listed": {
			map[string]string{"/v1/models": list(`{"id":"a"}`)},
			"b",
			models.Found{Facts: models.Facts{Vision: "no"}, Names: []string{"a"}, Missing: true},
		},
	} {
		got := models.Look(t.Context(), models.Server{BaseURL: pages(t, tc.answers) + "/v1"}, tc.model)
		rest := cmpopts.IgnoreFields(models.Found{}, "ToolsFrom", "Prices")
		if tc.want.Prices != (models.Prices{}) {
			rest = cmpopts.IgnoreFields(models.Found{}, "ToolsFrom")
		}
		if diff := cmp.Diff(tc.want, got, rest); diff != "" {
			t.Errorf("%s: Look differs (-want +got):\n%s", name, diff)
		}
		if (got.Tools != "") != (got.ToolsFrom != "") || got.Vision == "" {
			t.Errorf("%s: a property without its source: %+v", name, got)
		}
	}
}

// Each problem has a sentence, with its cure.
func TestDiagnose(t *testing.T) {
	const good = `{"data":[{"id":"gpt-6-luna"},{"id":"gpt-6-sol"},{"id":"gpt-5.6-luna"},{"id":"whisper-1"},{"id":"old","shutdown_date":"2020-01-01"}]}`
	well := pages(t, map[string]string{"/v1/models": good})
	plain := pages(t, map[string]string{"/models": good})
	refusing := func(answer string) string { return pages(t, map[string]string{"/v1/models": answer}) + "/v1" }
	for name, tc := range map[string]struct {
		base, model string
		cause       agent.Cause
		says        []string
	}{
		"well":               {well + "/v1", "gpt-6-luna", "", nil},
		"wrong key":          {refusing(`401 {"error":{"message":"Incorrect API key provided: ` + key + `"}}`), "m", agent.CauseKey, []string{"refused by 127.0.0.1", "Incorrect API key provided: [key]", "Check model.api_key"}},
		"no such model":      {well + "/v1", "gpt-6-lunar", agent.CauseModel, []string{"has no model called gpt-6-lunar", "gpt-6-luna, gpt-5.6-luna"}},
		"quota":              {refusing(`429 {"error":{"message":"You exceeded your current quota"}}`), "m", agent.CauseQuota, []string{"no credit left", "Add credit"}},
		"busy":               {refusing(`429 {}`), "m", agent.CauseBusy, []string{"no more requests at the moment"}},
		"payment":            {refusing(`402 {"error":"Insufficient Balance"}`), "m", agent.CauseQuota, []string{"Insufficient Balance"}},
		"fails":              {refusing(`503 <html>`), "m", agent.CauseBusy, []string{"HTTP 503"}},
		"/v1 missing":        {well, "gpt-6-luna", agent.CauseURL, []string{"/v1 is missing at its end", "Set it to " + well + "/v1"}},
		"a call's path":      {well + "/v1/chat/completions", "gpt-6-luna", "", nil},
		"too much":           {well + "/v1/models", "gpt-6-luna", agent.CauseURL, []string{"/models does not belong at its end", "Set it to " + well + "/v1,"}},
		"/v1 too much":       {plain + "/v1", "gpt-6-luna", agent.CauseURL, []string{"/v1 does not belong at its end", "Set it to " + plain + ","}},
		"no API":             {pages(t, map[string]string{"/v1/models": "<html>hello"}) + "/v1", "m", agent.CauseURL, []string{"not a model API", "/chat/completions"}},
		"nothing listens":    {"http://127.0.0.1:1/v1", "m", agent.CauseUnreachable, []string{"nothing listens there", "Start the server"}},
		"no Ollama":          {"http://[::1]:11434/v1", "m", agent.CauseUnreachable, []string{"Start Ollama"}},
		"ends":               {well + "/v1", "old", "", []string{"was to be shut down on 2020-01-01"}},
		"secret in an error": {"http://127.0.0.1:1/v1?key=" + key, "m", agent.CauseUnreachable, []string{"127.0.0.1:1"}},
	} {
		s := models.Server{BaseURL: tc.base, Key: key}
		got := models.Diagnose(t.Context(), s, models.Look(t.Context(), s, tc.model), tc.model)
		t.Log(name, "→", got.Sentence)
		if got.Cause != tc.cause || tc.says == nil && got.Sentence != "" {
			t.Errorf("%s: Diagnose = %+v, want the cause %q", name, got, tc.cause)
		}
		for _, part := range tc.says {
			if !strings.Contains(got.Sentence, part) {
				t.Errorf("%s: the sentence lacks %q: %s", name, part, got.Sentence)
			}
		}
		if strings.Contains(got.Sentence, key) {
			t.Errorf("%s: the sentence shows the key: %s", name, got.Sentence)
		}
	}
}

// A redirect does not carry the key to another host.
func TestRedirectDoesNotCarryTheKey(t *testing.T) {
	stolen := make(chan string, 1)
	thief := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		stolen <- r.Header.Get("Authorization")
	}))
	t.Cleanup(thief.Close)
	s := httptest.NewServer(http.RedirectHandler(thief.URL, http.StatusFound))
	t.Cleanup(s.Close)
	asked := models.Server{BaseURL: s.URL + "/v1", Key: key}
	if got := models.Diagnose(t.Context(), asked, models.Look(t.Context(), asked, "m"), "m"); got.Cause == "" {
		t.Errorf("Diagnose = %+v, want a cause", got)
	}
	select {
	case k := <-stolen:
		t.Errorf("the request was repeated at another host, with %q", k)
	default:
	}
}

func TestOllamaURL(t *testing.T) {
	for host, want := range map[string]string{
		"":                        "http://127.0.0.1:11434",
		"192.168.1.5":             "http://192.168.1.5:11434",
		"box:9000":                "http://box:9000",
		":9000":                   "http://127.0.0.1:9000",
		"0.0.0.0":                 "http://127.0.0.1:11434",
		"0.0.0.0:9000":            "http://127.0.0.1:9000",
		"http://box":              "http://box:80",
		"https://box":             "https://box:443",
		"https://box:8443/ollama": "https://box:8443/ollama",
		"http://box:11434/":       "http://box:11434",
		"[::1]":                   "http://[::1]:11434",
		"[::]:9000":               "http://127.0.0.1:9000",
		` "box" `:                 "http://box:11434",
		"box:notaport":            "http://box:11434",
	} {
		if got := models.OllamaURL(host); got != want {
			t.Errorf("OllamaURL(%q) = %q, want %q", host, got, want)
		}
	}
}
