package app_test

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/channels/channeltest/botapi"
	"dragoman/internal/api"
	"dragoman/internal/budget"
	"dragoman/internal/respond"
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
	const over = "I have used today's 2 tokens for everybody. I go on at 00:00 (Berlin): write again then, or ask whoever runs me."
	if got := r.ask(r.page("hall"), "and again"); got != over {
		t.Errorf("the second answer is %q, want %q", got, over)
	}
	r.stop()
	r = p.run()
	if got := r.ask(r.page("other"), "hello"); got != over {
		t.Errorf("after a restart the answer is %q, want %q", got, over)
	}
	_, err := api.PutQuestion.Call(t.Context(), r.admin, api.Question{Key: channels.MustKey("web:own"), Text: "hello"})
	var refused *respond.Refusal
	if !errors.As(err, &refused) || refused.Status != http.StatusTooManyRequests || refused.Code != respond.CodeQuota || refused.Sentence != over || refused.RetryAfter <= 0 {
		t.Errorf("the API's question is refused with %+v", refused)
	}
	h := speaker{r, r.token("program", "", "chat")}.expect(http.StatusTooManyRequests, `"type":"insufficient_quota"`, messages("hello"))
	if h.Get("Retry-After") == "" {
		t.Error("the refusal does not say when to come back")
	}
}

// Whoever runs Dragoman reads who used what by the names that people have.
func TestUsageNamesPeople(t *testing.T) {
	t.Parallel()
	r := withRules(t, "")
	ann := botapi.User{ID: annsID, FirstName: "Ann"}
	r.bot.Private(ann).Say(ann, "hello")
	r.until("Ann to be answered", func() bool { return len(r.bot.FromBot(annsID)) > 0 })
	said := r.ask(r.page("hall"), "/usage")
	if !regexp.MustCompile(`(?m)^- Ann \(telegram:7\): [0-9,]+ tokens this month$`).MatchString(said) {
		t.Errorf("/usage = %q", said)
	}
}

// Whoever has a budget sees it: by /usage, by the API and, for all, at the command line.
func TestBudgetsAreShown(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "agent: {time_zone: Europe/Berlin}\nlimits: {budgets: {unit: tokens, person: {day: 1000000}, all: {month: 2000000}}}")
	r := p.run()
	r.ask(r.page("hall"), "hello")
	said := r.ask(r.page("hall"), "/usage")
	used := regexp.MustCompile(`^You: ([0-9,]+) tokens today, ([0-9,]+) tokens this month\.
Left: [0-9,]+ of today's 1,000,000 tokens for you, until 00:00 \(Berlin\)\.
Left: [0-9,]+ of this month's 2,000,000 tokens for everybody, until 00:00 on 1 \w+ \(Berlin\)\.
Everybody: [0-9,]+ tokens today, [0-9,]+ tokens this month\.
- operator: [0-9,]+ tokens this month$`).FindStringSubmatch(said)
	if used == nil || used[1] == "0" || used[1] != used[2] {
		t.Fatalf("/usage = %q", said)
	}
	own, err := api.ListOwnBudgets.Call(t.Context(), r.admin, api.None{})
	if err != nil || len(own.Data) != 1 {
		t.Fatalf("ListOwnBudgets = %+v, %v, want one", own, err)
	}
	got := own.Data[0]
	if budget.Grouped(int64(got.Used)) != used[1] || got.Of != "person" || got.Name != "operator" || got.Limit != 1e6 || got.Share != got.Used/1e6 || !got.Until.After(time.Now()) {
		t.Errorf("the budget is %+v, and /usage says %q", got, said)
	}
	r.stop()
	r = p.run()
	all, err := api.ListBudgets.Call(t.Context(), r.admin, api.BudgetQuery{})
	if err != nil || len(all.Data) != 2 || all.Data[0].Of != "person" || all.Data[1].Of != "all" || all.Data[1].Used != got.Used {
		t.Errorf("ListBudgets after a restart = %+v, %v", all, err)
	}
}

// At four fifths, one answer says so, and none after a restart.
func TestLittleOfABudgetIsLeft(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "limits: {budgets: {unit: tokens, person: {day: 1000000}}}")
	r := p.run()
	first := r.ask(r.page("hall"), "hello")
	own, err := api.ListOwnBudgets.Call(t.Context(), r.admin, api.None{})
	if err != nil || len(own.Data) != 1 {
		t.Fatalf("ListOwnBudgets = %+v, %v", own, err)
	}
	if strings.Contains(first, "I have used") {
		t.Errorf("far from the limit: %q", first)
	}
	r.stop()
	// What one answer takes is less than a fifth of this limit, and two are more than it.
	one := own.Data[0].Used
	p.write(fmt.Sprintf("limits: {budgets: {unit: tokens, person: {day: %.0f}}}", 2.4*one))
	r = p.run()
	second := r.ask(r.page("hall"), "hello")
	if !strings.Contains(second, " % of today's ") {
		t.Errorf("the second answer is %q, want the sentence", second)
	}
	r.stop()
	r = p.run()
	third := r.ask(r.page("other"), "hello")
	if strings.Contains(third, " % of today's ") {
		t.Errorf("after a restart the answer is %q, want no second sentence", third)
	}
	r.stop()
}

// Requests without a conversation use up a budget too.
func TestGivenTurnsUseABudget(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "limits: {budgets: {unit: tokens, all: {day: 2}}}")
	r := p.run()
	s := speaker{r, r.token("program", "", "chat")}
	s.expect(http.StatusOK, "", messages("hello"))
	s.expect(http.StatusTooManyRequests, "I have used today's 2 tokens for everybody.", messages("hello"))
}
