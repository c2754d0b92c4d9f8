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

// overflowPhrases say that a request does not fit into the context window, in
// lower case: those of OpenAI, Azure, llama.cpp, Ollama, vLLM, SGLang, LM
// Studio, TGI, TabbyAPI, Anthropic, Bedrock, Gemini, Groq, xAI, LiteLLM,
// Copilot, Cohere, Moonshot, Zhipu, MiniMax, DashScope, SiliconFlow,
// Volcengine, Poolside. No phrase may occur in other errors: "context window"
// alone could be in the description of a tool.
var overflowPhrases = []string{
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

// overflowPatterns match the same where other words may stand between:
// something exceeds a context window, or messages are too long or too many.
var overflowPatterns = lazily.Compile(
	`\b(?:exceed(?:s|ed|ing)?|overflow(?:s|ed)?|fit (?:in|into|within)|(?:longer|larger|greater|bigger) than|too (?:long|large|big) for)` +
		`(?: [\w']+){0,3}? context[ _](?:window|length|size)\b` +
		`|\bcontext[ _](?:window|length|size)(?: [\w']+){0,2} (?:exceed(?:s|ed)|overflow(?:s|ed))\b` +
		`|\bprompt token count of [\d,]+ exceeds the limit` +
		`|'messages\S*': (?:string|array) too long`)

// rateLimitPhrases say that there were too many requests or tokens in a short
// time.
var rateLimitPhrases = []string{
	"tokens per min", "requests per min", "tokens per day", "requests per day", "(tpm)", "(rpm)",
	"rate limit", "rate-limit", "rate_limit", "too many requests", "overloaded", "resource_exhausted", "throttling",
	"please wait before trying again",
}

// shortWait matches a request to wait for seconds. It counts before all other
// phrases, because Gemini names the quota and the billing page in every rate
// limit error.
var shortWait = lazily.Compile(`please (?:re)?try (?:again )?in [\d.]+ ?m?s`)

// permanentPhrases say that another try is useless.
var permanentPhrases = []string{
	"insufficient_quota", "exceeded your current quota", "billing_hard_limit", "billing hard limit", "billing_not_active",
	"billing details", "plans & billing", "credit balance is too low", "invalid_api_key", "incorrect api key",
	"api key not valid", "authentication_error", "permission_denied", "model_not_found",
}

// filterPhrases say that a content filter refused the text. Such an error may
// quote anything, so it says nothing about the length.
var filterPhrases = []string{
	"content_filter", "content filter", "content_policy", "content management policy", "responsibleaipolicy",
	"data_inspection_failed", "data may contain inappropriate content",
}

// tokenLimit matches a limit on tokens per time and the number that was
// requested, as OpenAI, Azure and Groq write them.
var tokenLimit = lazily.Compile(`\blimit:? ([\d,]{1,12})\b[^\d]{1,20}(?:used:? [\d,]{1,12}\b[^\d]{1,20})?requested:? ([\d,]{1,12})`)

func (e *errorBody) words() string {
	return strings.ToLower(string(e.Code + "\n" + e.Type + "\n" + e.Status + "\n" + e.Message))
}

// kind classifies an error that came with an HTTP status. An error in a 200 is
// judged by its words, or by its code if that is an HTTP status.
func (e *errorBody) kind(status int) agent.ErrorKind {
	words := e.words()
	if code, err := strconv.Atoi(string(e.Code)); status == http.StatusOK && err == nil && code >= 400 && code < 600 {
		status = code
	}
	// A rate limit may also mention the context window, with any status. A shorter
	// request would not help then.
	limited := status == http.StatusTooManyRequests || containsAny(words, rateLimitPhrases)
	switch limit, _ := e.exceededLimit(); {
	case limited && limit > 0:
		return agent.ErrorRefused
	case limited && shortWait.Regexp().MatchString(words):
		return agent.ErrorTemporary
	case containsAny(words, permanentPhrases):
		return agent.ErrorRefused
	case limited:
		return agent.ErrorTemporary
	case status == http.StatusRequestEntityTooLarge:
		return agent.ErrorContext
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusPaymentRequired:
		return agent.ErrorRefused
	case !containsAny(words, filterPhrases) && (containsAny(words, overflowPhrases) || overflowPatterns.Regexp().MatchString(words)):
		return agent.ErrorContext
	default:
		return kindOfStatus(status, words)
	}
}

func kindOfStatus(status int, words string) agent.ErrorKind {
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

// exceededLimit returns the limit on tokens per time in e and the requested
// number, if the request alone exceeds the limit: waiting is then useless.
// Otherwise it returns 0, 0.
func (e *errorBody) exceededLimit() (limit, asked int) {
	found := tokenLimit.Regexp().FindStringSubmatch(e.words())
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

func (s *Server) serverError(e *errorBody, status int) *agent.ModelError {
	out := &agent.ModelError{Kind: e.kind(status)}
	text := errorPrefix
	if limit, asked := e.exceededLimit(); out.Kind == agent.ErrorRefused && limit > 0 {
		out.Limit, out.Requested = limit, asked
		text += fmt.Sprintf("the provider's rate limit is smaller than the request (limit %d, requested %d): "+
			"waiting does not help, but a smaller context_window or a higher limit does; ", limit, asked)
	}
	out.Cause = e.cause(status, out.Kind)
	out.Err = &ServerError{
		prefix: text, message: scrub(e.text(), s.secrets), Status: status, Param: string(e.Param),
		Words: strings.ToLower(string(e.Code + "\n" + e.Type + "\n" + e.Message)),
	}
	return out
}

func containsAny(words string, phrases []string) bool {
	return slices.ContainsFunc(phrases, func(p string) bool { return strings.Contains(words, p) })
}

// keyPhrases say that the API key is missing or wrong. All phrases here are in
// lower case.
var keyPhrases = []string{
	"invalid_api_key", "incorrect api key", "api key not valid", "invalid api key", "authentication_error", "authentication fails",
	"invalid x-api-key", "no api key", "missing api key", "api_key_invalid", "no auth credentials", "user not found",
}

// quotaPhrases say that the account has no credit left.
var quotaPhrases = []string{
	"insufficient_quota", "exceeded your current quota", "billing", "credit balance", "insufficient balance", "insufficient credits",
	"requires more credits", "payment required",
}

// unknownModel matches the words of a server that does not have the model.
var unknownModel = lazily.Compile(`model_not_found|invalid_model|model_not_available|not_found_error\n+model:` +
	`|\bmodel\b[^\n]{0,120}\b(?:not found|not exist|does not exist|is not available|not supported for|unknown|was not found|not loaded)` +
	`|(?:no such|unknown|invalid|unsupported|unrecognized|there is no) model\b|no models? (?:named|called|matches|matching|found)\b|not a valid model|models/[^\n]{1,80} is not found|no endpoints found for`)

// toolRefusals match the words of servers whose model cannot call tools:
// Ollama, OpenRouter, vLLM, llama.cpp, LM Studio, Groq, and OpenAI about its
// reasoning models.
var toolRefusals = lazily.Compile(`(?:not|n't) (?:currently )?support (?:tools?\b|tool[ _-](?:use|call|choice)|function[ _-]?(?:call|tool)|the use of tools)` +
	`|(?:tools?|tool[ _-](?:use|calls?|calling|choice)|function[ _-]?(?:calls?|calling|tools?))['"\x60]? (?:is|are) not (?:yet |currently )?(?:supported|enabled|available)` +
	`|no endpoints found that support tool use|--enable-auto-tool-choice|tools param requires --jinja|unsupported param\S*: tools\b`)

// lengthParams match parameters that are refused if they are too long.
var lengthParams = lazily.Compile(`^(?:messages|input|prompt$)`)

// RefusesTools reports whether the model or its server takes no tools.
func (e *ServerError) RefusesTools() bool { return toolRefusals.Regexp().MatchString(e.Words) }

// cause returns the cause of an error of this kind that came with an HTTP
// status.
func (e *errorBody) cause(status int, kind agent.ErrorKind) agent.Cause {
	words := e.words()
	switch {
	case kind == agent.ErrorContext:
		return ""
	case containsAny(words, filterPhrases):
		return agent.CauseFilter
	case kind == agent.ErrorRefused && containsAny(words, keyPhrases), status == http.StatusUnauthorized:
		return agent.CauseKey
	case status == http.StatusPaymentRequired, kind == agent.ErrorRefused && containsAny(words, quotaPhrases):
		return agent.CauseQuota
	case status == http.StatusTooManyRequests, status == http.StatusServiceUnavailable, status == 529, containsAny(words, rateLimitPhrases):
		return agent.CauseBusy
	case toolRefusals.Regexp().MatchString(words):
		return agent.CauseTools
	case status < 500 && unknownModel.Regexp().MatchString(words):
		return agent.CauseModel
	case status == http.StatusForbidden:
		return agent.CauseKey
	case status == http.StatusNotFound, status == http.StatusMethodNotAllowed, status >= 300 && status < 400:
		return agent.CauseURL
	case kind == agent.ErrorInvalid && e.Param != "" && !lengthParams.Regexp().MatchString(string(e.Param)):
		return agent.CauseParameter
	}
	return ""
}
