package drawing

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// refusedBytes is how much of a refusal is looked at.
const refusedBytes = 8 << 10

// rulesWords are in refusals of prompts that break a server's rules: OpenAI's codes and
// sentences, and those of others.
var rulesWords = []string{"content_policy", "moderation", "content policy", "safety", "content_filter", "content filter", "nsfw", "sensitive", "responsibleai"}

// creditWords are in refusals of accounts that have nothing left.
var creditWords = []string{"insufficient_quota", "billing", "credit", "balance"}

// refusal says what a status other than 200 means. What the server wrote may repeat the
// key or the prompt, so it is only looked at.
func refusal(resp *http.Response) error {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, refusedBytes)) // what there is of it
	says := func(words []string) bool {
		lower := bytes.ToLower(body)
		for _, word := range words {
			if bytes.Contains(lower, []byte(word)) {
				return true
			}
		}
		return false
	}
	const pause = "wants a pause"
	status := resp.StatusCode
	switch {
	case status == http.StatusPaymentRequired, (status == http.StatusTooManyRequests || status == http.StatusForbidden || status == http.StatusBadRequest) && says(creditWords):
		return Flaw(fmt.Sprintf("has no credit left for this key (HTTP %d)", status))
	case status == http.StatusTooManyRequests:
		after := resp.Header.Get("Retry-After")
		if after != "" && len(after) < 5 && strings.Trim(after, "0123456789") == "" {
			return Flaw(pause + " of " + after + " seconds; do not try again before")
		}
		return Flaw(pause + "; do not try again now")
	case (status == http.StatusBadRequest || status == http.StatusForbidden || status == http.StatusUnprocessableEntity) && says(rulesWords):
		return ErrRules
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return Flaw(fmt.Sprintf("refused the key (HTTP %d)", status))
	case status == http.StatusNotFound, status == http.StatusMethodNotAllowed:
		return Flaw(fmt.Sprintf("has no /images/generations, or not the model (HTTP %d); see drawing.url and drawing.model", status))
	case status == http.StatusBadRequest, status == http.StatusUnprocessableEntity:
		return Flaw(fmt.Sprintf("refuses the model, the size or the prompt (HTTP %d); see drawing.model and drawing.size", status))
	}
	return Flaw(fmt.Sprintf("answered with HTTP %d", status))
}
