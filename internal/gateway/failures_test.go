package gateway_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/agent"
	"dragoman/internal/gateway"
	"dragoman/sessions"
)

// Each cause has a short sentence for people, without settings, and a cure for
// whoever runs Dragoman, with the server's words. The model later reads the
// sentence.
func TestCausesAreNamed(t *testing.T) {
	refusal := func(c agent.Cause, status int) *agent.ModelError {
		return &agent.ModelError{Kind: agent.ErrorRefused, Cause: c, Status: status, Err: errors.New("the server's words")}
	}
	away := refusal(agent.CauseUnreachable, 0)
	away.Kind = agent.ErrorTemporary
	busy := refusal(agent.CauseBusy, 503)
	busy.Kind = agent.ErrorTemporary
	slow := refusal(agent.CauseSlow, 0)
	slow.Kind = agent.ErrorTemporary
	invalid := refusal("", 400)
	invalid.Kind = agent.ErrorInvalid
	for name, test := range map[string]struct {
		err        *agent.ModelError
		said, cure string
	}{
		"key":       {refusal(agent.CauseKey, 401), "does not accept my key", "model.api_key"},
		"access":    {refusal(agent.CauseAccess, 403), "refuses my requests", "what the key, its project and its account may do"},
		"region":    {refusal(agent.CauseRegion, 403), "does not serve the country", "another provider"},
		"not ours":  {refusal(agent.CauseModelAccess, 403), "not allowed to use the model", "this key may not use it"},
		"blocked":   {refusal(agent.CauseBlocked, 403), "something between me and the model's server", "HTTPS_PROXY"},
		"model":     {refusal(agent.CauseModel, 404), "does not exist on its server", "model.name"},
		"quota":     {refusal(agent.CauseQuota, 429), "has no credit left", "credit"},
		"url":       {refusal(agent.CauseURL, 404), "nothing answers at the address", "/v1"},
		"filter":    {refusal(agent.CauseFilter, 400), "say it in other words", "content filter"},
		"tools":     {refusal(agent.CauseTools, 400), "cannot use tools", "agent.tools"},
		"untrusted": {refusal(agent.CauseCertificate, 0), "certificate of the model's server", "model.ca_file"},
		"parameter": {refusal(agent.CauseParameter, 400), "one of my settings", "under model"},
		"away":      {away, "could not reach the model for a while", "model.base_url"},
		"slow":      {slow, "took too long", "model.first_byte_timeout"},
		"busy":      {busy, "was overloaded", "fallback"},
		"no reason": {invalid, "Please ask in other words, or start again with /new", "does not suit"},
		"unknown":   {refusal("", 418), "refuses my requests", "the server's words"},
		"a new one": {refusal("something else", 418), "refuses my requests", "the server's words"},
	} {
		for _, owner := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := start(t, func(_ *world, _ *gateway.Binding, o *gateway.Options) { o.People = operatorsRooms(owner) })
					w.agent.run = func(context.Context, agent.Turn) (string, error) { return "", test.err }
					w.say("1", "hello")
					time.Sleep(20 * time.Minute)
					synctest.Wait()
					got := w.net.texts("1")
					if len(got) != 1 {
						t.Fatalf("it says %q, want one apology", got)
					}
					short, more, _ := strings.Cut(got[0], "\n\n")
					if !strings.Contains(short, test.said) || !strings.HasPrefix(short, "Sorry, ") || !strings.Contains(short, "(error ") || len(short) > 250 {
						t.Errorf("people read %q, want a sentence with %q", short, test.said)
					}
					if told := strings.Contains(more, test.cure) && strings.Contains(more, "the server's words"); told != owner {
						t.Errorf("owner %v reads %q beside it; the cure is %q", owner, more, test.cure)
					}
					tr := w.transcript("1")
					if len(tr) != 2 || tr[1] != "assistant: "+short {
						t.Errorf("the transcript is %q, want the sentence for people", tr)
					}
				})
			})
		}
	}
}

// If a model says nothing at the end, a message says so, and why if that is
// known. The next question comes after an answer.
func TestAnEmptyAnswerIsSaid(t *testing.T) {
	for name, test := range map[string]struct {
		ended      agent.Result
		said, cure string
	}{
		"empty":    {agent.Result{Finish: "stop"}, "(The model gave an empty answer. Please ask again, or in other words.)", "template"},
		"thoughts": {agent.Result{Finish: "stop", Thought: true}, "(The model thought about this and then gave no answer.", "model.max_tokens"},
		"cut":      {agent.Result{Finish: "length", Thought: true}, "(The answer reached its length limit before its first word.", "model.max_tokens"},
		"filtered": {agent.Result{Finish: "content_filter"}, "(The model's provider filtered the answer.", "content filter"},
	} {
		for _, owner := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := start(t, func(_ *world, _ *gateway.Binding, o *gateway.Options) { o.People = operatorsRooms(owner) })
					w.agent.ended = test.ended
					w.agent.run = func(context.Context, agent.Turn) (string, error) { return "", nil }
					w.say("1", "hello")
					synctest.Wait()
					w.say("1", "again")
					synctest.Wait()
					got := w.net.texts("1")
					if len(got) != 2 || !strings.HasPrefix(got[0], test.said) || strings.Contains(got[0], test.cure) != owner {
						t.Fatalf("owner %v reads %q, want %q with or without %q", owner, got, test.said, test.cure)
					}
					short, _, _ := strings.Cut(got[0], "\n\n")
					tr := w.transcript("1")
					if len(tr) != 4 || tr[1] != "assistant: "+short || tr[2] != "user: again" {
						t.Errorf("the transcript is %q, want each question answered", tr)
					}
				})
			})
		}
	}
}

// cutModel is a model whose answers end before their first word.
type cutModel struct{ plainModel }

func (cutModel) Complete(context.Context, agent.Request, func(agent.Delta)) (agent.Response, error) {
	return agent.Response{Message: sessions.Message{Role: sessions.RoleAssistant}, Finish: "length"}, nil
}

// The same with the real agent, which has its own words for it.
func TestACutAnswerIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ag, err := agent.New(cutModel{}, nil, agent.Options{})
		if err != nil {
			t.Fatal(err)
		}
		w := start(t, func(w *world, _ *gateway.Binding, _ *gateway.Options) { w.real = ag })
		w.say("1", "hello")
		const want = "(The answer reached its length limit before its first word. Please ask again, or for less at once.)"
		w.expect("1", want)
		if tr := w.transcript("1"); len(tr) != 2 || tr[1] != "assistant: "+want {
			t.Errorf("the transcript is %q", tr)
		}
	})
}

// In a conversation that is too long and cannot be summarised, the person is
// told once that its beginning is out of view, and again only after /new.
func TestUnseenIsSaidOnce(t *testing.T) {
	const notice = "This conversation is longer than I can read at once, and I could not summarise its older part, so I can no longer see it. Nothing is deleted; /new starts a new conversation."
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		w.agent.needs = func(h sessions.History) bool { return len(h.Messages) > 0 && h.Messages[0].Content != "short" }
		w.agent.summarize = func(context.Context, sessions.History) (sessions.Summary, error) {
			return sessions.Summary{}, errors.New("no")
		}
		w.say("1", "one") // its summary fails
		synctest.Wait()
		w.say("1", "two")
		w.expect("1", "echo one", "echo two")
		w.agent.ended = agent.Result{Unaccounted: 3, SummaryFailed: true}
		w.say("1", "three")
		w.expect("1", "echo one", "echo two", "echo three", notice)
		w.say("1", "four")
		w.expect("1", "echo one", "echo two", "echo three", notice, "echo four")
		if tr := w.transcript("1"); len(tr) != 8 {
			t.Errorf("the transcript has %d messages, want 8: the notice is none", len(tr))
		}
		w.say("1", "/new")
		w.say("1", "five")
		synctest.Wait()
		w.say("1", "six")
		synctest.Wait()
		n := 0
		for _, text := range w.net.texts("1") {
			if text == notice {
				n++
			}
		}
		if n != 2 {
			t.Errorf("it was said %d times, want once in each of two conversations: %q", n, w.net.texts("1"))
		}
		w.agent.ended.SummaryFailed = false
		w.say("2", "short")
		w.expect("2", "echo short") // no summary has failed there
		w.seen.clear()              // the agent of this test leaves messages out, and says so
	})
}

// A model that its server does not have, or not for us, is corrected where it is named: in the
// configuration, by the channel, or in the conversation.
func TestWhereAMissingModelIsNamed(t *testing.T) {
	gone := &agent.ModelError{Kind: agent.ErrorRefused, Cause: agent.CauseModel, Status: 404, Err: errors.New("the server's words")}
	for name, test := range map[string]struct {
		own, channel, want string
		cause              agent.Cause
	}{
		"not for us":                 {"closed", "", `dragoman sessions unset "net:1" model`, agent.CauseModelAccess},
		"configured, not for us":     {"", "", "set model.name to a model that the key may use", agent.CauseModelAccess},
		"configured":                 {"", "", "Set model.name", agent.CauseModel},
		"the conversation's":         {"retired", "", `dragoman sessions unset "net:1" model`, agent.CauseModel},
		"the channel's":              {"", "retired", "The channel net names the model retired", agent.CauseModel},
		"both, the conversation's":   {"retired", "another", `dragoman sessions unset "net:1" model`, agent.CauseModel},
		"the same as the configured": {"configured", "", "Set model.name", agent.CauseModel},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := start(t, func(_ *world, b *gateway.Binding, o *gateway.Options) {
				o.People, o.Model = operatorsRooms(true), "configured"
				b.Model = func(string) string { return test.channel }
			})
			if test.own != "" {
				w.configure("1", func(s *sessions.Settings) { s.Model = test.own })
			}
			failed := *gone
			failed.Cause = test.cause
			w.agent.run = func(context.Context, agent.Turn) (string, error) { return "", &failed }
			w.say("1", "hello")
			time.Sleep(time.Minute)
			synctest.Wait()
			if got := w.net.texts("1"); len(got) != 1 || !strings.Contains(got[0], test.want) {
				t.Errorf("%s: it says %q, want %q", name, got, test.want)
			}
		})
	}
}
