package wire

import (
	"net/http"

	"dragoman/agent"
	"dragoman/internal/lazily"
)

// wrongKeys are how servers say that the key is missing or wrong, in lower case.
var wrongKeys = []string{
	"invalid_api_key", "incorrect api key", "api key not valid", "invalid api key", "authentication_error", "authentication fails",
	"invalid x-api-key", "no api key", "missing api key", "api_key_invalid", "no auth credentials", "user not found",
}

// usedUp are how they say that the account has nothing left.
var usedUp = []string{
	"insufficient_quota", "exceeded your current quota", "billing", "credit balance", "insufficient balance", "insufficient credits",
	"requires more credits", "payment required",
}

// noModel is how they say that they do not have the model.
var noModel = lazily.Compile(`model_not_found|invalid_model|model_not_available|not_found_error\n+model:` +
	`|\bmodel\b[^\n]{0,120}\b(?:not found|not exist|does not exist|is not available|not supported for|unknown|was not found|not loaded)` +
	`|(?:no such|unknown|invalid|unsupported|unrecognized|there is no) model\b|no models? (?:named|called|matches|matching|found)\b|not a valid model|models/[^\n]{1,80} is not found|no endpoints found for`)

// toolRefusals are how they say that the model cannot call tools: Ollama,
// OpenRouter, vLLM, llama.cpp, LM Studio, Groq, OpenAI of its reasoning models.
var toolRefusals = lazily.Compile(`(?:not|n't) (?:currently )?support (?:tools?\b|tool[ _-](?:use|call|choice)|function[ _-]?(?:call|tool)|the use of tools)` +
	`|(?:tools?|tool[ _-](?:use|calls?|calling|choice)|function[ _-]?(?:calls?|calling|tools?))['"\x60]? (?:is|are) not (?:yet |currently )?(?:supported|enabled|available)` +
	`|no endpoints found that support tool use|--enable-auto-tool-choice|tools param requires --jinja|unsupported param\S*: tools\b`)

// ofLength are the parameters that may be wrong because they are too long.
var ofLength = lazily.Compile(`^(?:messages|input|prompt$)`)

// RefusesTools reports whether the model, or its server, takes no tools.
func (e *Said) RefusesTools() bool { return toolRefusals.Regexp().MatchString(e.Words) }

// cause names what e means, which came with an HTTP status and is of that kind.
func (e *wireError) cause(status int, kind agent.ErrorKind) agent.Cause {
	words := e.words()
	switch {
	case kind == agent.ErrorContext:
		return ""
	case mentions(words, filters):
		return agent.CauseFilter
	case kind == agent.ErrorRefused && mentions(words, wrongKeys), status == http.StatusUnauthorized:
		return agent.CauseKey
	case status == http.StatusPaymentRequired, kind == agent.ErrorRefused && mentions(words, usedUp):
		return agent.CauseQuota
	case status == http.StatusTooManyRequests, status == http.StatusServiceUnavailable, status == 529, mentions(words, limits):
		return agent.CauseBusy
	case toolRefusals.Regexp().MatchString(words):
		return agent.CauseTools
	case status < 500 && noModel.Regexp().MatchString(words):
		return agent.CauseModel
	case status == http.StatusForbidden:
		return agent.CauseKey
	case status == http.StatusNotFound, status == http.StatusMethodNotAllowed, status >= 300 && status < 400:
		return agent.CauseURL
	case kind == agent.ErrorInvalid && e.Param != "" && !ofLength.Regexp().MatchString(e.Param):
		return agent.CauseParameter
	}
	return ""
}
