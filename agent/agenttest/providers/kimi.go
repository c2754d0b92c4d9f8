package providers

// Kimi is Moonshot's Kimi K2.6.
func Kimi() Provider {
	return Provider{
		Name: "Kimi K2.6", Model: "kimi-k2.6", Sees: true, Reasons: true,
		Base: "https://api.moonshot.ai/v1", paths: []string{chatPath}, callID: func(n int) string { return "call:" + at(n) },
		fail: kimiError, list: func(p Provider) string {
			return `{"object":"list","data":[{"id":` + quote(p.Model) + `,"object":"model","created":1776000000,"owned_by":"moonshot","context_length":262144,"supports_image_in":true,"supports_reasoning":true}]}`
		},
		rules: []rule{kimiModel, kimiTemperature, chatPairs, kimiThoughts},
	}
}

// kimiError: https://github.com/microsoft/vscode/issues/306695
func kimiError(f *refusal) string {
	kind := "invalid_request_error"
	if f.code != "" {
		kind = f.code
	}
	return `{"error":{"message":` + quote(f.text) + `,"type":` + quote(kind) + `}}`
}

// kimiModel accepts one model. https://platform.kimi.ai/docs/models;
// https://github.com/langgenius/dify/issues/39778 has the wording.
func kimiModel(r *Request, m *memory) *refusal {
	if name := r.text("model"); name != m.model {
		f := badRequest("Not found the model "+name+" or Permission denied").withParam("", "resource_not_found_error")
		f.status = 404
		return f
	}
	return nil
}

// kimiTemperature: while the model thinks it accepts only 1.
// https://github.com/kodustech/kodus-ai/pull/1120
func kimiTemperature(r *Request, _ *memory) *refusal {
	if isOne(r, "temperature") {
		return nil
	}
	return badRequest("invalid temperature: only 1 is allowed for this model")
}

// kimiThoughts: each assistant message with calls must have its reasoning_content.
// https://github.com/microsoft/vscode/issues/306695,
// https://github.com/Lapis0x0/obsidian-yolo/pull/243 (an empty one is enough for
// calls of other models)
func kimiThoughts(r *Request, m *memory) *refusal {
	for i, msg := range r.Messages {
		if broken(msg, m) {
			return badRequest("thinking is enabled but reasoning_content is missing in assistant tool call message at index " + at(i))
		}
	}
	return nil
}
