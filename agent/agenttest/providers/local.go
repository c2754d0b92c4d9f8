package providers

import "regexp"

// Mistral is Mistral-Small-3.2's chat template on a llama-server.
func Mistral() Provider {
	return Provider{
		Name: "Mistral's template", Model: "Mistral-Small-3.2-24B-Instruct-2506", Sees: true, open: true,
		paths: []string{chatPath}, callID: func(n int) string { return padded(n, 9) },
		fail: llamaError, list: func(p Provider) string {
			return `{"object":"list","data":[{"id":` + quote(p.Model) + `,"object":"model","created":1783000000,"owned_by":"llamacpp",` +
				`"meta":{"vocab_type":2,"n_vocab":131072,"n_ctx":32768,"n_ctx_train":131072,"n_embd":5120}}]}`
		},
		other: map[string]string{"/props": `{"default_generation_settings":{"n_ctx":32768},"total_slots":1,"modalities":{"vision":true,"audio":false},"chat_template":"[SYSTEM_PROMPT]"}`},
		rules: []rule{templateSystem, templateTurns, templateIDs},
	}
}

// llamaError is how llama-server reports an exception in a template:
// https://github.com/mistralai/mistral-vibe/issues/1006
func llamaError(f *refusal) string {
	return `{"error":{"code":` + at(f.status) + `,"message":` + quote(f.text) + `,"type":"server_error"}}`
}

// raised is an exception in the template.
func raised(text string) *refusal {
	f := badRequest("\n------------\nWhile executing CallExpression at line 46, column 32 in source:\nError: Jinja Exception: " + text)
	f.status = 500
	return f
}

// templateSystem accepts one system message, at the beginning.
// https://huggingface.co/mistralai/Mistral-Small-3.2-24B-Instruct-2506
// (chat_template); llama.cpp has it in models/templates.
func templateSystem(r *Request, _ *memory) *refusal {
	for i, m := range r.Messages {
		if i > 0 && m.Role == system {
			return raised("Only user and assistant roles are supported, with the exception of an initial optional system message!")
		}
	}
	return nil
}

// templateTurns: user and assistant alternate; calls and results do not count.
// https://github.com/nomic-ai/gpt4all/issues/3273 has the loop.
func templateTurns(r *Request, _ *memory) *refusal {
	n := 0
	for _, m := range r.Messages {
		if m.Role == system || m.Role == tool || len(m.Calls) > 0 {
			continue
		}
		if (m.Role == user) != (n%2 == 0) {
			return raised("After the optional system message, conversation roles must alternate user and assistant roles except for tool calls and results.")
		}
		n++
	}
	return nil
}

var nine = regexp.MustCompile(`^[a-zA-Z0-9]{9}$`)

// templateIDs: https://github.com/ggml-org/llama.cpp/pull/10572 has the line of the
// template, https://github.com/nearai/ironclaw/issues/1241 the allowed characters.
func templateIDs(r *Request, _ *memory) *refusal {
	for _, m := range r.Messages {
		for _, c := range m.Calls {
			if !nine.MatchString(c.ID) {
				return raised("Tool call IDs should be alphanumeric strings with length 9!")
			}
		}
		if m.Role == tool && !nine.MatchString(m.Answers) {
			return raised("Tool call IDs should be alphanumeric strings with length 9!")
		}
	}
	return nil
}

// OllamaNoTools is an Ollama whose model cannot call tools.
func OllamaNoTools() Provider {
	p := ollama("gemma3:4b", "gemma3", `["completion","vision"]`)
	p.Name = "Ollama without tools"
	p.Sees = true
	p.NoTools = true
	p.rules = []rule{ollamaModel, ollamaNoTools}
	return p
}

// SilentCutter is an Ollama behind a proxy that passes only its OpenAI API. It takes
// 4096 tokens and truncates longer requests without an error, so its prompt_tokens
// never exceed 4056. Measured with Ollama v0.17.4.
// https://github.com/ollama/ollama/issues/14073
func SilentCutter() Provider {
	p := ollama("qwen3:8b", "qwen3", "")
	p.Name = "a server that cuts silently"
	p.cut = 4056
	p.other = nil
	p.rules = []rule{ollamaModel}
	return p
}

// ollama is what https://docs.ollama.com/api describes.
func ollama(model, family, capabilities string) Provider {
	return Provider{
		Model: model, open: true, paths: []string{chatPath},
		callID: func(n int) string { return "call_" + padded(n, 8) },
		fail:   ollamaError, list: func(p Provider) string {
			return `{"object":"list","data":[{"id":` + quote(p.Model) + `,"object":"model","created":1783000000,"owned_by":"library"}]}`
		},
		other: map[string]string{
			"/api/version": `{"version":"0.17.4"}`,
			"/api/tags":    `{"models":[{"name":` + quote(model) + `,"model":` + quote(model) + `,"size":3338801804,"details":{"family":` + quote(family) + `}}]}`,
			"/api/ps":      `{"models":[{"name":` + quote(model) + `,"model":` + quote(model) + `,"size":3338801804,"context_length":4096}]}`,
			"/api/show": `{"template":"{{ .Prompt }}","details":{"family":` + quote(family) + `},"capabilities":` + capabilities + `,` +
				`"model_info":{"general.architecture":` + quote(family) + `,` + quote(family+".context_length") + `:131072}}`,
		},
	}
}

// ollamaError: https://github.com/louisho5/picobot/issues/6
func ollamaError(f *refusal) string {
	return `{"error":{"message":` + quote(f.text) + `,"type":"api_error","param":null,"code":null}}`
}

// ollamaModel accepts one model. https://docs.ollama.com/api/errors;
// https://github.com/netease-youdao/QAnything/issues/555 has the error on /v1,
// https://github.com/TheBlewish/Automated-AI-Web-Researcher-Ollama/issues/42 the
// wording of newer versions.
func ollamaModel(r *Request, m *memory) *refusal {
	if name := r.text("model"); name != m.model {
		f := badRequest("model '" + name + "' not found")
		f.status = 404
		return f
	}
	return nil
}

// ollamaNoTools: https://github.com/ollama/ollama/issues/13522,
// https://github.com/louisho5/picobot/issues/6
func ollamaNoTools(r *Request, m *memory) *refusal {
	if len(r.Tools) == 0 {
		return nil
	}
	return badRequest("registry.ollama.ai/library/" + m.model + " does not support tools")
}
