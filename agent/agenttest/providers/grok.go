package providers

// Grok is xAI's grok-4.20, which reasons, has no setting for it, and shows its
// thoughts only encrypted.
// https://docs.x.ai/developers/model-capabilities/text/reasoning
func Grok() Provider {
	return Provider{
		Name: "Grok", Model: "grok-4.20-0309-reasoning", Sees: true, Reasons: true,
		Base: "https://api.x.ai/v1", paths: []string{chatPath, responsesPath}, hidden: true, callID: func(n int) string { return "call_" + padded(n, 8) },
		fail: grokError, list: func(p Provider) string {
			return `{"object":"list","data":[{"id":` + quote(p.Model) + `,"created":1772000000,"object":"model","owned_by":"xai"}]}`
		},
		rules: []rule{grokModel, grokSettings, grokEffort, openAIPairs, responsesThoughts},
	}
}

// grokError has a string where others have an object:
// https://github.com/BerriAI/litellm/pull/16265
func grokError(f *refusal) string {
	code := f.code
	if code == "" {
		code = "Client specified an invalid argument"
	}
	return `{"code":` + quote(code) + `,"error":` + quote(f.text) + `}`
}

// grokModel accepts one model. https://docs.x.ai/developers/models;
// https://github.com/elizaOS/eliza/issues/2578 has the wording.
func grokModel(r *Request, m *memory) *refusal {
	if name := r.text("model"); name != m.model {
		f := badRequest("The model "+name+" does not exist or your team does not have access to it.").withParam("", "Some requested entity was not found")
		f.status = 404
		return f
	}
	return nil
}

// grokSettings: models that reason refuse penalties and stop.
// https://docs.x.ai/developers/model-capabilities/text/reasoning,
// https://github.com/miaoxworld/NativeTavern/issues/83
func grokSettings(r *Request, m *memory) *refusal {
	for field, name := range map[string]string{"presence_penalty": "presencePenalty", "frequency_penalty": "frequencyPenalty", "stop": "stop"} {
		if r.has(field) {
			return badRequest("Model " + m.model + " does not support parameter " + name + ".")
		}
	}
	return nil
}

// grokEffort: only some models accept a reasoning effort, and this one does not.
// https://github.com/NousResearch/hermes-agent/pull/23435 (a table of models)
func grokEffort(r *Request, m *memory) *refusal {
	if effort(r) == "" {
		return nil
	}
	return badRequest("Model " + m.model + " does not support parameter reasoningEffort.")
}
