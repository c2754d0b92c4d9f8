package wire

import (
	"net/http"

	"dragoman/agent"
	"dragoman/internal/lazily"
)

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
