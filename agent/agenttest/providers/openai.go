package providers

import (
	"slices"
	"strconv"
	"strings"
)

// GPT56 is OpenAI's GPT-5.6 with both of its APIs.
func GPT56() Provider {
	efforts := []string{"none", "low", "medium", "high", "xhigh"}
	return Provider{
		Name: "GPT-5.6", Model: "gpt-5.6", Sees: true, Reasons: true,
		Base: "https://api.openai.com/v1", paths: []string{chatPath, responsesPath}, hidden: true,
		callID: openAICallID, fail: openAIError, list: openAIModels,
		rules: []rule{
			openAIModel, noMaxTokens, onlyTemperatureOne, knownEfforts(efforts, append(efforts, "max")),
			toolsNeedNone, openAIPairs, responsesNoTemperature, responsesThoughts,
		},
	}
}

// GPT6Astra is OpenAI's gpt-6-astra, which cannot stop reasoning and refuses function
// tools on chat completions whatever is set.
//
// https://github.com/bolna-ai/bolna/pull/1019 and
// https://github.com/BerriAI/litellm-docs/pull/1173
func GPT6Astra() Provider {
	p := GPT56()
	efforts := []string{"low", "medium", "high", "xhigh"}
	p.Name, p.Model = "GPT-6", "gpt-6-astra"
	p.rules = []rule{
		openAIModel, noMaxTokens, onlyTemperatureOne, knownEfforts(efforts, append(efforts, "max")),
		noToolsOnChat, openAIPairs, responsesNoTemperature, responsesThoughts,
	}
	return p
}

func openAICallID(n int) string { return "call_" + padded(n, 24) }

// openAIModels also lists a model that will be shut down soon:
// https://platform.openai.com/docs/deprecations
func openAIModels(p Provider) string {
	return `{"object":"list","data":[` +
		`{"id":"gpt-4.1-mini","object":"model","created":1744317547,"owned_by":"system","shutdown_date":"2027-01-14"},` +
		`{"id":"text-embedding-3-small","object":"model","created":1705948997,"owned_by":"system"},` +
		`{"id":` + quote(p.Model) + `,"object":"model","created":1783000000,"owned_by":"system"}]}`
}

// openAIModel accepts one model. https://platform.openai.com/docs/guides/error-codes
func openAIModel(r *Request, m *memory) *refusal {
	if name := r.text("model"); name != m.model {
		f := badRequest("The model `"+name+"` does not exist or you do not have access to it.").withParam("", "model_not_found")
		f.status = 404
		return f
	}
	return nil
}

// noMaxTokens requires max_completion_tokens.
// https://github.com/bolna-ai/bolna/pull/1019
func noMaxTokens(r *Request, _ *memory) *refusal {
	if r.Path != chatPath || !r.has("max_tokens") {
		return nil
	}
	return badRequest("Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.").withParam("max_tokens", "unsupported_parameter")
}

// onlyTemperatureOne accepts only the default.
// https://github.com/bolna-ai/bolna/pull/1019
func onlyTemperatureOne(r *Request, _ *memory) *refusal {
	t := string(r.Fields["temperature"])
	if r.Path != chatPath || isOne(r, "temperature") {
		return nil
	}
	return badRequest("Unsupported value: 'temperature' does not support "+t+" with this model. Only the default (1) value is supported.").withParam("temperature", "unsupported_value")
}

// isOne reports whether a field is missing or 1.
func isOne(r *Request, field string) bool {
	n, err := strconv.ParseFloat(string(r.Fields[field]), 64)
	return !r.has(field) || err == nil && n == 1
}

// responsesNoTemperature: the responses API refuses the setting.
// https://github.com/BerriAI/litellm/pull/39631
func responsesNoTemperature(r *Request, _ *memory) *refusal {
	if r.Path != responsesPath || !r.has("temperature") {
		return nil
	}
	return badRequest("Unsupported parameter: 'temperature' is not supported with this model.").withParam("temperature", "")
}

// effort returns the requested reasoning effort.
func effort(r *Request) string {
	if r.Path == chatPath {
		return r.text("reasoning_effort")
	}
	var in struct{ Effort string }
	_ = decode(r.Fields["reasoning"], &in)
	return in.Effort
}

// knownEfforts accepts some values, and others on the responses API.
// https://github.com/livekit/agents/pull/7169,
// https://github.com/UKGovernmentBEIS/inspect_ai/pull/5254
func knownEfforts(chat, responses []string) rule {
	return func(r *Request, _ *memory) *refusal {
		known, name := chat, "reasoning_effort"
		if r.Path == responsesPath {
			known, name = responses, "reasoning.effort"
		}
		e := effort(r)
		if e == "" || slices.Contains(known, e) {
			return nil
		}
		last := len(known) - 1
		return badRequest("Unsupported value: '"+name+"' does not support '"+e+"' with this model. Supported values are: '"+
			strings.Join(known[:last], "', '")+"', and '"+known[last]+"'.").withParam(name, "unsupported_value")
	}
}

// toolsNeedNone: function tools are refused on chat completions unless the reasoning
// effort is "none", even if it is not set.
// https://github.com/BerriAI/litellm/pull/34569,
// https://github.com/danny-avila/LibreChat/issues/14355
func toolsNeedNone(r *Request, m *memory) *refusal {
	if r.Path != chatPath || len(r.Tools) == 0 || effort(r) == "none" {
		return nil
	}
	return badRequest("Function tools with reasoning_effort are not supported for "+m.model+" in /v1/chat/completions. "+
		"To use function tools, use /v1/responses or set reasoning_effort to 'none'.").withParam("reasoning_effort", "")
}

// noToolsOnChat: function tools are refused on chat completions.
// https://github.com/bolna-ai/bolna/pull/1019. The wording for a model without "none"
// is from https://github.com/pipecat-ai/pipecat/issues/4043.
func noToolsOnChat(r *Request, m *memory) *refusal {
	if r.Path != chatPath || len(r.Tools) == 0 {
		return nil
	}
	return badRequest("Function tools with reasoning_effort are not supported for "+m.model+" in /v1/chat/completions. Please use /v1/responses instead.").withParam("reasoning_effort", "")
}

// openAIPairs requires each call to be answered before any other message.
// https://platform.openai.com/docs/guides/function-calling
func openAIPairs(r *Request, m *memory) *refusal {
	if r.Path == responsesPath {
		return pairs(
			func(_ int, id string) *refusal {
				return badRequest("No tool output found for function call "+id+".").withParam("input", "")
			},
			func(_ int, id string) *refusal {
				return badRequest("No tool call found for function call output with call_id "+id+".").withParam("input", "")
			},
		)(r, m)
	}
	return chatPairs(r, m)
}

// chatPairs is the same on chat completions, for all compatible servers.
// https://platform.openai.com/docs/guides/function-calling;
// https://github.com/aliasrobotics/cai/issues/111 has the wording,
// https://github.com/langgenius/dify/issues/32222 that of DeepSeek.
func chatPairs(r *Request, m *memory) *refusal {
	return pairs(
		func(i int, id string) *refusal {
			return badRequest("An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "+
				"The following tool_call_ids did not have response messages: "+id).withParam("messages.["+at(i)+"].role", "")
		},
		func(i int, _ string) *refusal {
			return badRequest("Invalid parameter: messages with role 'tool' must be a response to a preceding message with 'tool_calls'.").withParam("messages.["+at(i)+"].role", "")
		},
	)(r, m)
}

// responsesThoughts: a call that came with a reasoning item must have that item
// before it, a reasoning item must have what followed it, and items that were not
// stored are known only by their encrypted content.
//
// https://github.com/continuedev/continue/issues/11994,
// https://github.com/continuedev/continue/issues/8933,
// https://github.com/coder/xum/pull/59,
// https://platform.openai.com/docs/guides/reasoning
func responsesThoughts(r *Request, m *memory) *refusal {
	if r.Path != responsesPath {
		return nil
	}
	before := map[string]bool{} // reasoning items so far
	for i, item := range r.Messages {
		if item.Role == reasoning {
			switch {
			case item.Seal == "":
				return badRequest("Item with id '"+item.ID+"' not found. Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input.").withParam("input", "")
			case !m.seals[item.Seal]:
				return badRequest("The encrypted content for item "+item.ID+" could not be verified. Reason: Encrypted content could not be decrypted or parsed.").withParam("", "invalid_encrypted_content")
			case i+1 == len(r.Messages) || r.Messages[i+1].Role != assistant && r.Messages[i+1].Role != reasoning:
				return badRequest("Item '"+item.ID+"' of type 'reasoning' was provided without its required following item.").withParam("input", "")
			}
			before[item.Seal] = true
		}
		for _, c := range item.Calls {
			made := m.of(c)
			if len(made) > 0 && !slices.ContainsFunc(made, func(s sealed) bool { return s.seal == "" || before[s.seal] }) {
				return badRequest("Item '"+c.item+"' of type 'function_call' was provided without its required 'reasoning' item: '"+made[0].item+"'.").withParam("input", "")
			}
		}
	}
	return nil
}
