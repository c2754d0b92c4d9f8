package provider_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"dragoman/agent"
	"dragoman/agent/agenttest"
	"dragoman/agent/provider"
)

// TestEnds: what the reason for an answer's end means. An answer that the server or the
// model broke off is an error, as a broken stream is; a full window is an error about
// the length, if nothing was said.
func TestEnds(t *testing.T) {
	const temporary, context = "error " + string(agent.ErrorTemporary), "error " + string(agent.ErrorContext)
	for reason, want := range map[string]struct{ half, nothing string }{
		"stop":                          {"stop", "stop"},
		"STOP":                          {"stop", "stop"},
		"end_turn":                      {"stop", "stop"},
		"eos_token":                     {"stop", "stop"},
		"FINISH_REASON_STOP":            {"stop", "stop"},
		"length":                        {"length", "length"},
		"MAX_TOKENS":                    {"length", "length"},
		"max_output_tokens":             {"length", "length"},
		"model_length":                  {"length", "length"},
		"truncated":                     {"length", "length"},
		"content_filter":                {"content_filter", "content_filter"},
		"SAFETY":                        {"content_filter", "content_filter"},
		"sensitive":                     {"content_filter", "content_filter"},
		"RECITATION":                    {"content_filter", "content_filter"},
		"guardrail_intervened":          {"content_filter", "content_filter"},
		"insufficient_system_resource":  {temporary, temporary},
		"malformed_function_call":       {temporary, temporary},
		"UNEXPECTED_TOOL_CALL":          {temporary, temporary},
		"network_error":                 {temporary, temporary},
		"aborted":                       {temporary, temporary},
		"error":                         {temporary, temporary},
		"model_context_window_exceeded": {"length", context},
		"context_length_exceeded":       {"length", context},
		"max_input_tokens":              {"length", context},
		"OTHER":                         {"length", "length"},
		"LANGUAGE":                      {"length", "length"},
		"FINISH_REASON_UNSPECIFIED":     {"length", "length"},
		"unsupported_language":          {"length", "length"},
		"moonrise":                      {"moonrise", "moonrise"},
		"function_call_filter: MALFORMED_FUNCTION_CALL": {temporary, temporary},
	} {
		for text, want := range map[string]string{"Half": want.half, "": want.nothing} {
			s := agenttest.Serve(t, agenttest.Options{})
			s.Next(agenttest.RawReply(fmt.Sprintf(`data: {"choices":[{"index":0,"delta":{"content":%q},"finish_reason":null}]}`+"\n\n"+
				`data: {"choices":[{"index":0,"delta":{},"finish_reason":%q}]}`+"\n\ndata: [DONE]\n\n", text, reason)))
			var log bytes.Buffer
			m := model(t, s.URL(), func(o *provider.Options) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
			resp, _, _, err := complete(t, m, ask("hi"))
			got := resp.Finish
			if failed, ok := errors.AsType[*agent.ModelError](err); ok {
				got = "error " + string(failed.Kind)
			}
			if got != want || err == nil && resp.Message.Content != text {
				t.Errorf("%q after %q ends as %s with %q, %v; want %s", reason, text, got, resp.Message.Content, err, want)
			}
			if logged := strings.Contains(log.String(), "does not know"); logged != (reason == "moonrise") {
				t.Errorf("%q is logged: %v", reason, logged)
			}
		}
	}
}

// Of two reasons the one counts that says that the answer is not whole.
func TestTwoEnds(t *testing.T) {
	const chunk = `data: {"choices":[{"index":0,"delta":{"content":"%s"},"finish_reason":%s}]}` + "\n\n"
	for _, reasons := range [][2]string{{`"length"`, `"stop"`}, {`"stop"`, `"length"`}, {`"length"`, `null`}} {
		s := agenttest.Serve(t, agenttest.Options{})
		s.Next(agenttest.RawReply(fmt.Sprintf(chunk, "Half", reasons[0]) + fmt.Sprintf(chunk, "", reasons[1])))
		if resp, _, _, err := complete(t, model(t, s.URL()), ask("hi")); err != nil || resp.Finish != "length" {
			t.Errorf("%v: Finish = %q, %v, want length", reasons, resp.Finish, err)
		}
	}
}
