package providers

import (
	"net/http"
	"slices"
	"strings"
)

// Claude is Claude Sonnet 5 behind Anthropic's messages API. It thinks unless told
// not to, and shows signatures instead of its thoughts.
// https://platform.claude.com/docs/en/build-with-claude/adaptive-thinking
func Claude() Provider {
	return Provider{
		Name: "Claude", Model: "claude-sonnet-5", Sees: true, Reasons: true,
		Base: "https://api.anthropic.com/v1", paths: []string{messagesPath}, hidden: true,
		callID: func(n int) string { return "toolu_" + padded(n, 24) },
		fail:   claudeError, list: func(p Provider) string {
			return `{"data":[{"type":"model","id":` + quote(p.Model) + `,"display_name":"Claude Sonnet 5","created_at":"2026-06-30T00:00:00Z"}],` +
				`"has_more":false,"first_id":` + quote(p.Model) + `,"last_id":` + quote(p.Model) + `}`
		},
		rules: []rule{claudeModel, claudeNeeds, claudeSettings, claudeTurns, claudeResults, claudeThoughts},
	}
}

// claudeError: https://platform.claude.com/docs/en/api/errors
func claudeError(f *refusal) string {
	kind := "invalid_request_error"
	switch f.status {
	case http.StatusNotFound:
		kind = "not_found_error"
	case http.StatusUnauthorized:
		kind = "authentication_error"
	}
	return `{"type":"error","error":{"type":"` + kind + `","message":` + quote(f.text) + `},"request_id":"req_011CSHoEeqs5C35K2UUqR7Fy"}`
}

// claudeModel accepts one model. https://platform.claude.com/docs/en/api/errors;
// https://github.com/anthropics/claude-code/issues/9243 has the wording.
func claudeModel(r *Request, m *memory) *refusal {
	if name := r.text("model"); name != m.model {
		f := badRequest("model: " + name)
		f.status = http.StatusNotFound
		return f
	}
	return nil
}

// claudeNeeds: https://platform.claude.com/docs/en/api/messages, and
// /api/versioning for the header.
func claudeNeeds(r *Request, _ *memory) *refusal {
	switch {
	case r.Header.Get("anthropic-version") == "":
		return badRequest("anthropic-version: header is required")
	case !r.has("max_tokens"):
		return badRequest("max_tokens: Field required")
	case len(r.turns) == 0:
		return badRequest("messages: at least one message is required")
	}
	return nil
}

// claudeSettings: no sampling settings, and no budget for thoughts.
// https://github.com/AAswordman/Operit/pull/568,
// https://github.com/docker/docker-agent/issues/3093
func claudeSettings(r *Request, _ *memory) *refusal {
	for _, name := range []string{"temperature", "top_p", "top_k"} {
		if !isOne(r, name) {
			return badRequest("`" + name + "` is deprecated for this model.")
		}
	}
	if thinking(r) == "enabled" {
		return badRequest(`"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.`)
	}
	return nil
}

func thinking(r *Request) string {
	var in struct{ Type string }
	_ = decode(r.Fields["thinking"], &in)
	return in.Type
}

// claudeTurns: user and assistant alternate, the user first, and nothing is empty.
// The API has joined neighbours since 2025. Compatible servers and older versions
// refuse them, so this rule is the stricter one.
// https://github.com/mattermost/mattermost-plugin-agents/issues/180,
// https://github.com/mckaywrigley/chatbot-ui/issues/1656
func claudeTurns(r *Request, _ *memory) *refusal {
	for i, t := range r.turns {
		switch {
		case t.role != user && t.role != assistant:
			return badRequest(`messages: Unexpected role "` + t.role + `". The Messages API accepts a top-level ` + "`system`" + ` parameter, not "` + t.role + `" as an input message role.`)
		case i == 0 && t.role != user:
			return badRequest(`messages: first message must use the "user" role`)
		case i > 0 && t.role == r.turns[i-1].role:
			return badRequest(`messages: roles must alternate between "user" and "assistant", but found multiple "` + t.role + `" roles in a row`)
		case len(t.blocks) == 0 && (t.role == user || i < len(r.turns)-1):
			return badRequest("messages." + at(i) + ": all messages must have non-empty content except for the optional final assistant message")
		}
		for _, b := range t.blocks {
			if b.Type == "text" && strings.TrimSpace(b.Text) == "" {
				return badRequest("messages: text content blocks must be non-empty")
			}
		}
	}
	return nil
}

// claudeResults: tool_result comes directly after tool_use, and before anything else.
// https://platform.claude.com/docs/en/agents-and-tools/tool-use/implement-tool-use,
// https://github.com/anthropics/claude-code/issues/8612 and /18947
func claudeResults(r *Request, _ *memory) *refusal {
	var open []string
	for i, t := range r.turns {
		for n, b := range t.blocks {
			if b.Type != "tool_result" {
				continue
			}
			which := slices.Index(open, b.ToolUseID)
			if which < 0 {
				return badRequest("messages." + at(i) + ".content." + at(n) + ": unexpected `tool_use_id` found in `tool_result` blocks: " + b.ToolUseID +
					". Each `tool_result` block must have a corresponding `tool_use` block in the previous message.")
			}
			if n > 0 && t.blocks[n-1].Type != "tool_result" {
				break // after text it does not count
			}
			open = slices.Delete(open, which, which+1)
		}
		if len(open) > 0 {
			return unanswered(i-1, open)
		}
		for _, b := range t.blocks {
			if b.Type == "tool_use" {
				open = append(open, b.ID)
			}
		}
	}
	if len(open) > 0 {
		return unanswered(len(r.turns)-1, open)
	}
	return nil
}

func unanswered(i int, ids []string) *refusal {
	return badRequest("messages." + at(i) + ": `tool_use` ids were found without `tool_result` blocks immediately after: " + strings.Join(ids, ", ") +
		". Each `tool_use` block must have a corresponding `tool_result` block in the next message.")
}

// claudeThoughts: a thinking block comes back unchanged, before the calls that it
// came with, while the turn of these calls continues. Blocks of other servers are
// refused. https://platform.claude.com/docs/en/build-with-claude/extended-thinking,
// https://github.com/lbjlaq/Antigravity-Manager/issues/139 and /498,
// https://github.com/anthropics/claude-code/issues/63284
func claudeThoughts(r *Request, m *memory) *refusal {
	begun := 0 // index of the newest user turn
	for i, t := range r.turns {
		if t.role == user && slices.ContainsFunc(t.blocks, func(b block) bool { return b.Type != "tool_result" }) {
			begun = i
		}
	}
	for i, t := range r.turns {
		for n, b := range t.blocks {
			where := "messages." + at(i) + ".content." + at(n)
			made := m.of(Call{Name: b.Name, Arguments: string(b.Input)})
			switch {
			case b.Type == "thinking" && !m.seals[b.Signature]:
				return badRequest(where + ": Invalid `signature` in `thinking` block")
			case b.Type == "thinking" && b.Thinking != "":
				return badRequest(where + ": `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.")
			case b.Type == "tool_use" && i > begun && len(made) > 0 && !slices.ContainsFunc(made, func(s sealed) bool { return s.seal == "" || s.seal == t.blocks[0].Signature }):
				return badRequest("messages." + at(i) + ".content.0.type: Expected `thinking` or `redacted_thinking`, but found `" + t.blocks[0].Type +
					"`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks). " +
					"We recommend you include thinking blocks from previous turns. To avoid this requirement, disable `thinking`.")
			}
		}
	}
	return nil
}
