package wire

import (
	"fmt"
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
		`|'messages\S*': (?:string|array) too long` +
		`|\binput (?:is )?too (?:long|large)\b|\binput tokens? exceeded\b`)

// tokenOverflow matches a number of tokens that is more than a maximum, in either
// order. It says the same of an answer's tokens and of tokens in a minute, which
// otherTokens match.
var (
	tokenOverflow = lazily.Compile(
		`\b(?:input|prompt|request\w*|total|number of|context|messages?|conversation)\b[^\n]{0,60}\btokens?\b[^\n]{0,60}` +
			`(?:\bexceed(?:s|ed|ing)?\b|\b(?:more|greater|larger|higher) than\b|\bover\b|\babove\b|>)[^\n]{0,60}\b(?:max(?:imum)?|limit|length|allowed|context|window|supports?)\b` +
			`|\b(?:exceed(?:s|ed|ing)?|(?:more|greater|larger) than|over|above)\b[^\n]{0,40}\b(?:max(?:imum)?|limit)\b[^\n]{0,40}\b(?:input|prompt|context)[ _-]?tokens?\b`)
	otherTokens = lazily.Compile(`\b(?:output|completion|generated|response|new)[ _-]?tokens?\b|max_(?:completion_|output_|new_)?tokens\b|per (?:sec|min|hour|day|month)|/ ?min|\btp[md]\b`)
)

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
	kind, cause := judge(e, status, s.host)
	out := &agent.ModelError{Kind: kind, Cause: cause}
	text := errorPrefix
	if limit, asked := e.exceededLimit(); out.Kind == agent.ErrorRefused && limit > 0 {
		out.Limit, out.Requested = limit, asked
		text += fmt.Sprintf("the provider's rate limit is smaller than the request (limit %d, requested %d): "+
			"waiting does not help, but a smaller context_window or a higher limit does; ", limit, asked)
	}
	out.Err = &ServerError{
		prefix: text, message: scrub(e.text(), s.secrets), Status: status, Param: string(e.Param),
		Words: strings.ToLower(string(e.Code + "\n" + e.Type + "\n" + e.Message)),
	}
	return out
}

func containsAny(words string, phrases []string) bool {
	return slices.ContainsFunc(phrases, func(p string) bool { return strings.Contains(words, p) })
}

// unknownModel matches the words of a server that does not have the model.
var unknownModel = lazily.Compile(`model_not_found|invalid_model|model_not_available|not_found_error\n+model:` +
	`|\bmodel\b[^\n]{0,120}\b(?:not found|not exist|does not exist|is not available|not supported for|unknown|was not found|not loaded)` +
	`|(?:no such|unknown|invalid|unsupported|unrecognized|there is no) model\b|no models? (?:named|called|matches|matching|found)\b|not a valid model|models/[^\n]{1,80} is not found|no endpoints found for|deploymentnotfound`)

// retiredModel matches the words for a model that the server had, unless they are about a
// field of the request, as aboutField says.
var (
	retiredModel = lazily.Compile(`model_(?:decommissioned|deprecated|retired)` +
		`|\bmodels?\b[^\n]{0,100}\b(?:(?:is|are|was|been) (?:now |already |permanently )?(?:decommissioned|deprecated|retired|discontinued|removed|sunset|shut down)\b|no longer (?:supported|available|offered|served|exists?)\b|end[ -]of[ -]life\b)`)
	aboutField = lazily.Compile(`\b(?:param(?:eter)?s?|fields?|arguments?|options?|headers?|propert(?:y|ies)|tools?|image|streaming)\b`)
)

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
