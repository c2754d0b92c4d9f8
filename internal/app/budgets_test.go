package app_test

import (
	"net/http"
	"strings"
	"testing"

	"dragoman/internal/budget"
)

// A budget of the configuration ends turns when it is used up, over restarts, and a larger
// one lets them go on. Requests without a conversation are refused as OpenAI does.
func TestABudgetIsUsedUp(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "agent: {time_zone: Europe/Berlin}\nlimits: {budgets: {unit: "+budget.Tokens+", all: {day: 2}}}")
	r := p.run()
	if got := r.ask(r.page("hall"), "hello"); strings.Contains(got, "I have used") {
		t.Fatalf("the first answer is %q", got)
	}
	const over = "I have used today's 2 tokens. I go on at 00:00 (Berlin), or ask whoever runs me."
	if got := r.ask(r.page("hall"), "and again"); got != over {
		t.Errorf("the second answer is %q, want %q", got, over)
	}
	r.stop()
	r = p.run()
	if got := r.ask(r.page("other"), "hello"); got != over {
		t.Errorf("after a restart the answer is %q, want %q", got, over)
	}
	h := speaker{r, r.token("program", "", "chat")}.expect(http.StatusTooManyRequests, `"type":"insufficient_quota"`, messages("hello"))
	if h.Get("Retry-After") == "" {
		t.Error("the refusal does not say when to come back")
	}
}

// Requests without a conversation use up a budget too.
func TestGivenTurnsUseABudget(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "limits: {budgets: {unit: tokens, all: {day: 2}}}")
	r := p.run()
	s := speaker{r, r.token("program", "", "chat")}
	s.expect(http.StatusOK, "", messages("hello"))
	s.expect(http.StatusTooManyRequests, "I have used today's 2 tokens.", messages("hello"))
}
