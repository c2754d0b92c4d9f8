package wire

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"dragoman/agent"
	"dragoman/internal/lazily"
)

// overflows are how servers say that a request does not fit the window, in
// lower case: OpenAI, Azure, llama.cpp, Ollama, vLLM, SGLang, LM Studio, TGI,
// TabbyAPI, Anthropic, Bedrock, Gemini, Groq, xAI, LiteLLM, Copilot, Cohere,
// Moonshot, Zhipu, MiniMax, DashScope, SiliconFlow, Volcengine, Poolside. None
// may be in what they say of anything else, as "context window" alone would be
// in the description of a tool.
var overflows = []string{
	"context_length_exceeded", "exceed_context_size", "contextwindowexceeded", "context_window_exceeded",
	"maximum context length", "maximum prompt length", "maximum model length", "max_model_len", "max_seq_len",
	"model's context length", "max context length", "exceeds maximum context", "exceed context limit",
	"available context size", "configured context size is", "context the overflows", "context shift is disabled",
	"cannot truncate prompt with n_keep",
	"prompt is too long", "prompt too long", "input is too long", "input is too large to process",
	"prompt exceeds max length", "range of input length should be", "maximum allowed input length",
	"exceeds the maximum allowed length (", "exceeded model token limit", "exceed max message tokens",
	"too many tokens: total number of tokens", "model_max_prompt_tokens_exceeded",
	"input token count", "tokens exceed the configured limit", "reduce the length of the messages",
	"reduce the length of the prompt", "max_tokens must be at least 1, got", "`max_new_tokens` must be <=",
	"`inputs` must have less than",
}

// overflowForms are the same where other words may stand in between: what is
// longer than a context window, and messages that are too long or too many.
var overflowForms = lazily.Compile(
	`\b(?:exceed(?:s|ed|ing)?|overflow(?:s|ed)?|fit (?:in|into|within)|(?:longer|larger|greater|bigger) than|too (?:long|large|big) for)` +
		`(?: [\w']+){0,3}? context[ _](?:window|length|size)\b` +
		`|\bcontext[ _](?:window|length|size)(?: [\w']+){0,2} (?:exceed(?:s|ed)|overflow(?:s|ed))\b` +
		`|\bprompt token count of [\d,]+ exceeds the limit` +
		`|'messages\S*': (?:string|array) too long`)

// limits are how they say that one has asked for too much in too short a time.
var limits = []string{
	"tokens per min", "requests per min", "tokens per day", "requests per day", "(tpm)", "(rpm)",
	"rate limit", "rate-limit", "rate_limit", "too many requests", "overloaded", "resource_exhausted", "throttling",
	"please wait before trying again",
}

// soon is how they say that the limit is only for a short time, whatever else
// they say: Gemini's names the quota and the billing page in every one.
var soon = lazily.Compile(`please (?:re)?try (?:again )?in [\d.]+ ?m?s`)

// refusals are how they say that trying again is no use.
var refusals = []string{
	"insufficient_quota", "exceeded your current quota", "billing_hard_limit", "billing hard limit", "billing_not_active",
	"billing details", "plans & billing", "credit balance is too low", "invalid_api_key", "incorrect api key",
	"api key not valid", "authentication_error", "permission_denied", "model_not_found",
}

// filters are how they say that they do not like what is written. Such an
// error may quote anything, and says nothing about the length.
var filters = []string{
	"content_filter", "content filter", "content_policy", "content management policy", "responsibleaipolicy",
	"data_inspection_failed", "data may contain inappropriate content",
}

// beyond is a limit on the tokens in a time, and what a request takes of it:
// of OpenAI, Azure and Groq.
var beyond = lazily.Compile(`\blimit:? ([\d,]{1,12})\b[^\d]{1,20}(?:used:? [\d,]{1,12}\b[^\d]{1,20})?requested:? ([\d,]{1,12})`)

// words are all that e says, in lower case.
func (e *wireError) words() string {
	return strings.ToLower(e.Code + "\n" + e.Type + "\n" + e.Status + "\n" + e.Message)
}

// kind classifies e, which came with an HTTP status. A 200 with an error in
// it is judged by its words, or by the status that its code may be.
func (e *wireError) kind(status int) agent.ErrorKind {
	words := e.words()
	if code, err := strconv.Atoi(e.Code); status == http.StatusOK && err == nil && code >= 400 && code < 600 {
		status = code
	}
	// A limit on tokens in a time may speak of the context window too, with any
	// status, and making the request shorter would be no remedy.
	limited := status == http.StatusTooManyRequests || mentions(words, limits)
	switch limit, _ := e.never(); {
	case limited && limit > 0:
		return agent.ErrorRefused
	case limited && soon.Regexp().MatchString(words):
		return agent.ErrorTemporary
	case mentions(words, refusals):
		return agent.ErrorRefused
	case limited:
		return agent.ErrorTemporary
	case status == http.StatusRequestEntityTooLarge:
		return agent.ErrorContext
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusPaymentRequired:
		return agent.ErrorRefused
	case !mentions(words, filters) && (mentions(words, overflows) || overflowForms.Regexp().MatchString(words)):
		return agent.ErrorContext
	default:
		return ofStatus(status, words)
	}
}

// ofStatus is the kind of an error whose words say nothing.
func ofStatus(status int, words string) agent.ErrorKind {
	switch {
	case status == http.StatusNotFound, status == http.StatusMethodNotAllowed, status >= 300 && status < 400:
		return agent.ErrorRefused
	case status == http.StatusRequestTimeout, status == http.StatusConflict, status == http.StatusTooEarly:
		return agent.ErrorTemporary
	case status >= 400 && status < 500, status < 300 && strings.Contains(words, "invalid_request"):
		return agent.ErrorInvalid
	default:
		return agent.ErrorTemporary
	}
}

// never returns the limit on tokens in a time that e speaks of, and what was
// asked for, if that is more, so that waiting is no use; 0, 0 otherwise.
func (e *wireError) never() (limit, asked int) {
	found := beyond.Regexp().FindStringSubmatch(e.words())
	if found == nil {
		return 0, 0
	}
	limit, bad := strconv.Atoi(strings.ReplaceAll(found[1], ",", ""))
	asked, worse := strconv.Atoi(strings.ReplaceAll(found[2], ",", ""))
	if bad != nil || worse != nil || limit <= 0 || asked <= limit {
		return 0, 0
	}
	return limit, asked
}

// failure is what e, which came with an HTTP status, is for the caller.
func (s *Server) failure(e *wireError, status int) *agent.ModelError {
	out := &agent.ModelError{Kind: e.kind(status)}
	text := prefix
	if limit, asked := e.never(); out.Kind == agent.ErrorRefused && limit > 0 {
		out.Limit, out.Requested = limit, asked
		text += fmt.Sprintf("the provider's rate limit is smaller than the request (limit %d, requested %d): "+
			"waiting does not help, but a smaller context_window or a higher limit does; ", limit, asked)
	}
	out.Cause = e.cause(status, out.Kind)
	out.Err = &Said{
		text: text, says: scrub(e.text(), s.secrets), Status: status, Param: e.Param,
		Words: strings.ToLower(e.Code + "\n" + e.Type + "\n" + e.Message),
	}
	return out
}

func mentions(words string, phrases []string) bool {
	return slices.ContainsFunc(phrases, func(p string) bool { return strings.Contains(words, p) })
}
