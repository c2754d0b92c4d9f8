package providers

import "slices"

// DeepSeek is DeepSeek V4 in its thinking mode, which is on by default.
func DeepSeek() Provider {
	return Provider{
		Name: "DeepSeek V4", Model: "deepseek-v4-flash", Reasons: true,
		Base: "https://api.deepseek.com", paths: []string{chatPath}, callID: func(n int) string { return "call_00_" + padded(n, 24) },
		fail: deepSeekError, list: func(p Provider) string {
			return `{"object":"list","data":[{"id":` + quote(p.Model) + `,"object":"model","owned_by":"deepseek"},{"id":"deepseek-v4-pro","object":"model","owned_by":"deepseek"}]}`
		},
		rules: []rule{deepSeekModel, deepSeekBlind, chatPairs, deepSeekThoughts},
	}
}

// deepSeekError always has the same code:
// https://github.com/zed-industries/zed/issues/55321
func deepSeekError(f *refusal) string { return openAIError(f.withParam("", "invalid_request_error")) }

// deepSeekModel: https://api-docs.deepseek.com/quick_start/error_codes
func deepSeekModel(r *Request, m *memory) *refusal {
	if r.text("model") != m.model {
		return badRequest("Model Not Exist")
	}
	return nil
}

// deepSeekBlind: the API takes only text; the error is its parser's.
// https://github.com/rikkahub/rikkahub/issues/1433
func deepSeekBlind(r *Request, _ *memory) *refusal {
	for i, m := range r.Messages {
		if m.Pictures > 0 {
			return badRequest("Failed to deserialize the JSON body into the target type: messages[" + at(i) + "]: unknown variant `image_url`, expected `text` at line 1 column " + at(len(r.Body)))
		}
	}
	return nil
}

// deepSeekThoughts: an assistant message with tool calls must have its
// reasoning_content in every later request. It is compared with the one that the
// server wrote; for calls of another model any is accepted.
// https://api-docs.deepseek.com/guides/thinking_mode,
// https://github.com/zed-industries/zed/issues/55321,
// https://github.com/Gitlawb/openclaude/issues/878
func deepSeekThoughts(r *Request, m *memory) *refusal {
	for _, msg := range r.Messages {
		if broken(msg, m) {
			return badRequest("The `reasoning_content` in the thinking mode must be passed back to the API.")
		}
	}
	return nil
}

// broken reports whether a message with calls lacks the thoughts before them.
func broken(msg Message, m *memory) bool {
	if len(msg.Calls) == 0 {
		return false
	}
	made := m.of(msg.Calls[0])
	return msg.Reasoning == nil ||
		len(made) > 0 && !slices.ContainsFunc(made, func(s sealed) bool { return s.thought == *msg.Reasoning })
}
