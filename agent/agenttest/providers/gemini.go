package providers

import (
	"encoding/json"
	"net/http"
	"slices"
)

// Gemini is Gemini 3 behind Google's OpenAI-compatible API.
func Gemini() Provider {
	return Provider{
		Name: "Gemini 3", Model: "gemini-3.5-flash", Sees: true, Reasons: true,
		Base: "https://generativelanguage.googleapis.com/v1beta/openai", paths: []string{chatPath}, hidden: true, sealCalls: true,
		callID: func(n int) string { return "function-call-" + padded(n, 19) },
		fail:   geminiError, list: func(p Provider) string {
			return `{"object":"list","data":[{"id":` + quote("models/"+p.Model) + `,"object":"model","owned_by":"google","display_name":"Gemini 3.5 Flash"},` +
				`{"id":"models/gemini-embedding-001","object":"model","owned_by":"google","display_name":"Gemini Embedding 001"}]}`
		},
		rules: []rule{geminiModel, geminiFields, geminiOrder, geminiSignatures},
	}
}

// geminiError is a list with one element:
// https://github.com/liliMozi/openhanako/issues/394
func geminiError(f *refusal) string {
	status := "INVALID_ARGUMENT"
	switch f.status {
	case http.StatusNotFound:
		status = "NOT_FOUND"
	case http.StatusUnauthorized:
		status = "UNAUTHENTICATED"
	}
	b, _ := json.Marshal([]any{map[string]any{"error": map[string]any{"code": f.status, "message": f.text, "status": status}}})
	return string(b)
}

// geminiModel accepts one model, with or without models/ in front of it.
// https://ai.google.dev/gemini-api/docs/openai;
// https://github.com/google-gemini/gemini-api-quickstart/issues/20 has the wording,
// from another version of the API.
func geminiModel(r *Request, m *memory) *refusal {
	name := r.text("model")
	if name == m.model || name == "models/"+m.model {
		return nil
	}
	f := badRequest("models/" + name + " is not found for API version v1main, or is not supported for generateContent.")
	f.status = http.StatusNotFound
	return f
}

// geminiFields: unknown fields are refused, unlike anywhere else.
// https://ai.google.dev/gemini-api/docs/openai has the known ones;
// https://github.com/liliMozi/openhanako/issues/2494 (prompt_cache_key),
// https://github.com/liliMozi/openhanako/issues/394 (store).
func geminiFields(r *Request, _ *memory) *refusal {
	known := []string{
		"model", "messages", "stream", "stream_options", "tools", "tool_choice", "temperature", "top_p", "max_tokens",
		"max_completion_tokens", "reasoning_effort", "response_format", "stop", "n", "extra_body", "parallel_tool_calls",
	}
	var names []string
	for name := range r.Fields {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if !slices.Contains(known, name) {
			return badRequest("Invalid JSON payload received. Unknown name " + quote(name) + ": Cannot find field.")
		}
	}
	return nil
}

// geminiOrder: what may come before calls, and that each is answered at once.
// https://github.com/google-gemini/gemini-cli/issues/11814 (a history that begins
// with a call), https://github.com/microsoft/vscode/issues/299295
func geminiOrder(r *Request, m *memory) *refusal {
	before := system
	for _, msg := range r.Messages {
		if len(msg.Calls) > 0 && before != user && before != tool {
			return badRequest("Please ensure that function call turn comes immediately after a user turn or after a function response turn.")
		}
		before = msg.Role
	}
	return pairs(
		func(int, string) *refusal {
			return badRequest("Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.")
		},
		func(int, string) *refusal {
			return badRequest("Please ensure that function response turn comes immediately after a function call turn.")
		},
	)(r, m)
}

// geminiSignatures: since the newest user message, the first call of each step must
// have the signature that it came with. In older turns it may be missing, but a wrong
// one is refused anywhere. https://ai.google.dev/gemini-api/docs/thought-signatures,
// https://github.com/nanbingxyz/5ire/issues/405,
// https://github.com/badrisnarayanan/antigravity-claude-proxy/issues/18
func geminiSignatures(r *Request, m *memory) *refusal {
	_, newest := r.Last()
	for i, msg := range r.Messages {
		for n, c := range msg.Calls {
			switch {
			case c.Seal != "" && !slices.ContainsFunc(m.of(c), func(s sealed) bool { return s.seal == c.Seal }):
				return badRequest("Corrupted thought signature.")
			case c.Seal == "" && n == 0 && i > newest:
				return badRequest("Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, " +
					"and missing thought_signature may lead to degraded model performance. Additional data, function call `default_api:" + c.Name + "` , position " + at(i+1) +
					". Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details.")
			}
		}
	}
	return nil
}
