package wire

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"dragoman/agent"
	"dragoman/internal/lazily"
)

// refusal is a server's error with what is needed to judge it.
type refusal struct {
	*errorBody
	words  string // the code, type, status and message in lower case
	status int    // of HTTP; of an error in a 200 its code, if that is a status
	host   string // of the server
}

// verdict is what follows from a kind of refusal.
type verdict struct {
	refused string // what was refused, for readers of the table
	says    func(r *refusal) bool
	kind    agent.ErrorKind // "": what the status means
	cause   agent.Cause
}

// verdicts has every kind of refusal and what follows from it. The first that applies
// counts: an error often says more than one thing.
var verdicts = []verdict{
	// A rate limit may also speak of the context window or of money, with any status.
	// Neither a shorter request nor a payment is needed then.
	{"more tokens than a minute may have", both(limited, neverPasses), agent.ErrorRefused, agent.CauseBusy},
	{"requests for some seconds", both(limited, form(shortWait)), agent.ErrorTemporary, agent.CauseBusy},
	{"requests for a while, as if for ever", throttledAsQuota, agent.ErrorTemporary, agent.CauseBusy},
	{"the account", either(phrases(quotaPhrases), form(noMoney), form(spent), both(form(usedUp), not(status(http.StatusTooManyRequests))), status(http.StatusPaymentRequired)), agent.ErrorRefused, agent.CauseQuota},
	{"the key", either(phrases(keyPhrases), status(http.StatusUnauthorized)), agent.ErrorRefused, agent.CauseKey},
	{"this country", either(form(namesRegion), both(status(http.StatusForbidden), form(aboutRegion))), agent.ErrorRefused, agent.CauseRegion},
	{"the text, by a moderator", both(status(http.StatusForbidden), form(moderated)), "", agent.CauseFilter},
	{"this model, to us", both(status(http.StatusForbidden), form(aboutModelAccess)), agent.ErrorRefused, agent.CauseModelAccess},
	{"the model, by its code", phrases([]string{"model_not_found"}), agent.ErrorRefused, agent.CauseModel},
	{"the key's rights", phrases([]string{"permission_denied"}), agent.ErrorRefused, agent.CauseAccess},
	{"requests for a while", limited, agent.ErrorTemporary, agent.CauseBusy},

	{"the size of the body", status(http.StatusRequestEntityTooLarge), agent.ErrorContext, ""},
	{"the account, in passing", both(status(http.StatusForbidden), phrases([]string{"billing", "credit balance"})), agent.ErrorRefused, agent.CauseQuota},
	{"the text", phrases(filterPhrases), "", agent.CauseFilter},
	{"the length", both(not(status(http.StatusForbidden)), tooLong), agent.ErrorContext, ""},
	{"everybody, for a while", status(http.StatusServiceUnavailable, 529), agent.ErrorTemporary, agent.CauseBusy},
	{"tools", form(toolRefusals), "", agent.CauseTools},
	{"the model", both(either(form(unknownModel), both(form(retiredModel), not(form(aboutField)))), func(r *refusal) bool { return r.status < 500 }), agent.ErrorRefused, agent.CauseModel},
	{"the way to the server", both(status(http.StatusForbidden), form(aboutBlock)), agent.ErrorRefused, agent.CauseBlocked},
	{"access", status(http.StatusForbidden), agent.ErrorRefused, agent.CauseAccess},
	{"the address", either(status(http.StatusNotFound, http.StatusMethodNotAllowed), redirects), agent.ErrorRefused, agent.CauseURL},
	{"a setting", aboutSetting, "", agent.CauseParameter},
}

// judge returns what follows from an error that came with an HTTP status.
func judge(e *errorBody, status int, host string) (agent.ErrorKind, agent.Cause) {
	r := &refusal{errorBody: e, words: e.words(), status: status, host: host}
	if code, err := strconv.Atoi(string(e.Code)); status == http.StatusOK && err == nil && code >= 400 && code < 600 {
		r.status = code
	}
	for _, v := range verdicts {
		if !v.says(r) {
			continue
		}
		if v.kind == "" {
			return r.kindOfStatus(), v.cause
		}
		return v.kind, v.cause
	}
	return r.kindOfStatus(), ""
}

// kindOfStatus returns what the status alone means.
func (r *refusal) kindOfStatus() agent.ErrorKind {
	switch {
	case r.status == http.StatusForbidden, r.status == http.StatusNotFound, r.status == http.StatusMethodNotAllowed, redirects(r):
		return agent.ErrorRefused
	case r.status == http.StatusRequestTimeout, r.status == http.StatusConflict, r.status == http.StatusTooEarly:
		return agent.ErrorTemporary
	case r.status >= 400 && r.status < 500, r.status < 300 && strings.Contains(r.words, "invalid_request"):
		return agent.ErrorInvalid
	default:
		return agent.ErrorTemporary
	}
}

func both(a, b func(*refusal) bool) func(*refusal) bool {
	return func(r *refusal) bool { return a(r) && b(r) }
}

func either(some ...func(*refusal) bool) func(*refusal) bool {
	return func(r *refusal) bool {
		return slices.ContainsFunc(some, func(says func(*refusal) bool) bool { return says(r) })
	}
}

func not(a func(*refusal) bool) func(*refusal) bool {
	return func(r *refusal) bool { return !a(r) }
}

func status(some ...int) func(*refusal) bool {
	return func(r *refusal) bool { return slices.Contains(some, r.status) }
}

func phrases(list []string) func(*refusal) bool {
	return func(r *refusal) bool { return containsAny(r.words, list) }
}

func form(e *lazily.Expression) func(*refusal) bool {
	return func(r *refusal) bool { return e.Matches(r.words) }
}

func redirects(r *refusal) bool { return r.status >= 300 && r.status < 400 }

func limited(r *refusal) bool {
	return r.status == http.StatusTooManyRequests || containsAny(r.words, rateLimitPhrases)
}

func neverPasses(r *refusal) bool {
	limit, _ := r.exceededLimit()
	return limit > 0
}

// throttledAsQuota: Alibaba's servers throttle with the words of a used up quota, and
// answer again after some seconds. Their link tells it apart, also behind a router. An
// account without money is an "arrearage" there.
func throttledAsQuota(r *refusal) bool {
	return strings.Contains(r.words, "error-code#token-limit") ||
		r.status == http.StatusTooManyRequests && strings.HasSuffix(hostName(r.host), ".aliyuncs.com") && !noMoney.Matches(r.words)
}

func hostName(hostPort string) string {
	name, _, _ := strings.Cut(hostPort, ":")
	return strings.ToLower(name)
}

func tooLong(r *refusal) bool {
	return containsAny(r.words, overflowPhrases) || overflowPatterns.Matches(r.words) ||
		tokenOverflow.Matches(r.words) && !otherTokens.Matches(r.words)
}

func aboutSetting(r *refusal) bool {
	return r.Param != "" && r.kindOfStatus() == agent.ErrorInvalid && !lengthParams.Matches(string(r.Param))
}

// keyPhrases say that the API key is missing or wrong. All phrases here are in
// lower case.
var keyPhrases = []string{
	"invalid_api_key", "incorrect api key", "api key not valid", "invalid api key", "authentication_error", "authentication fails",
	"invalid x-api-key", "no api key", "missing api key", "api_key_invalid", "no auth credentials", "user not found",
}

var (
	namesRegion = lazily.Compile(`unsupported_country|user location is not supported`)
	moderated   = lazily.Compile(`\bflagged\b|\bmoderat`)
	aboutRegion = lazily.Compile(`unsupported_country|\b(?:country|countries|region|location|territor\w+|geograph\w*)\b[^\n]{0,60}\b(?:not (?:supported|available|allowed|permitted|served)|unsupported|unavailable|restricted|blocked|prohibited)` +
		`|\b(?:not (?:supported|available|allowed|permitted|served)|unsupported|unavailable|restricted|blocked|prohibited)\b[^\n]{0,60}\b(?:country|countries|region|location|territor\w+)\b`)
	aboutModelAccess = lazily.Compile(`model_not_allowed|model_access_denied|\b(?:access|authori[sz]ed|permission|permitted|allowed|entitled|subscription|enabled|invoke|tier|plan)\b[^\n]{0,80}\bmodels?\b|\bmodels?\b[^\n]{0,80}\b(?:not (?:allowed|permitted|authori[sz]ed|enabled|accessible|available to)|gated|restricted|access|tier|plan)\b`)
	// aboutBlock matches what is not the words of a model's server.
	aboutBlock = lazily.Compile(`\(a web page\)|cloudflare|akamai|\bwaf\b|web application firewall|captcha|challenge|\b(?:proxy|firewall|gateway policy|security policy|ip (?:address )?(?:is )?(?:blocked|not allowed))\b|blocked by\b|error code: 10\d\d`)
)

// quotaPhrases say that the account has no credit left.
var quotaPhrases = []string{
	"insufficient_quota", "exceeded your current quota", "billing_hard_limit", "billing hard limit", "billing_not_active",
	"billing details", "plans & billing", "requires more credits",
}

// noMoney matches the same in other words.
var noMoney = lazily.Compile(
	`\b(?:insufficient|not enough|low|negative|zero|no|out of|without|used up|depleted|exhausted)\b[^\n.]{0,30}\b(?:balance|credits?|funds|resource package)\b` +
		`|\b(?:balance|credits?|funds)\b[^\n.]{0,30}\b(?:insufficient|not enough|too low|negative|exhausted|depleted|used up|run out|ran out|overdue)\b` +
		`|\brecharge\b|\barrear|\btop[ -]?up\b|payment required|overdue payment|余额不足|欠费`)

// spent matches a limit of money that the account, or the key, has reached. usedUp matches
// one of use, which in a 429 may be one of some hours.
var (
	spent = lazily.Compile(`budget_exceeded|` + reached(`(?:spend(?:ing)?|billing|credit|budget|monthly(?: spend\w*| usage)?|key)[ -](?:limits?|caps?|quota|budget)|(?:max )?budget`) +
		`|\bused all\b[^\n.]{0,20}\bcredits?\b|\baccount\b[^\n.]{0,40}\b(?:suspended|past due|delinquent)\b`)
	usedUp = lazily.Compile(reached(`usage (?:limits?|cap|quota)`))
)

// reached matches that a limit is reached or exceeded, in either order.
func reached(limit string) string {
	const verb = `(?:reached|reaching|exceed(?:s|ed|ing)?|hit|used up|is over)`
	return `\b` + verb + `\b[^\n.]{0,30}\b(?:` + limit + `)\b|\b(?:` + limit + `)\b[^\n.]{0,30}\b` + verb + `\b`
}
