package gateway_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/internal/actions"
	"dragoman/internal/forms"
	"dragoman/internal/gateway"
	"dragoman/sessions"
)

// filling is an agent whose call asks the person for a city, as the real loop does.
type filling struct {
	mu  sync.Mutex
	got []any // the cities
}

func (f *filling) run(ctx context.Context, t agent.Turn) (string, error) {
	if !strings.HasPrefix(inputs(t), "book") {
		return "answer " + inputs(t), nil
	}
	if len(t.Steps) == 0 {
		m := sessions.Message{Role: sessions.RoleAssistant, ToolCalls: []sessions.ToolCall{{ID: "c1", Name: "travel__book", Arguments: "{}"}}}
		if err := record(ctx, t, sessions.Step{Kind: sessions.StepModel, Message: &m}); err != nil {
			return "", err
		}
		if err := record(ctx, t, sessions.Step{Kind: sessions.StepToolAsk, CallID: "c1"}); err != nil {
			return "", err
		}
	}
	form := agent.Form{From: "travel", Message: "Which city?", Fields: []agent.Field{{Name: "city", Type: "string", Required: true}}}
	a, until, err := t.Asker.Ask(ctx, agent.Asked{Turn: t.ID, Call: "c1", Nth: 1, Form: form, Person: t.Person})
	if err != nil {
		return "", err
	}
	if a == nil {
		return "", &agent.Waiting{Until: until}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.got = append(f.got, a.Values["city"])
	m := sessions.Message{Role: sessions.RoleTool, ToolCallID: "c1", Content: "booked"}
	return "booked", record(ctx, t, sessions.Step{Kind: sessions.StepToolDone, CallID: "c1", Message: &m})
}

// In a group only whoever asked for the turn answers a server, and only to Dragoman. Words of
// others, of strangers and of forwarders are no answer.
func TestOnlyWhoAskedAnswersAServer(t *testing.T) {
	for name, say := range map[string]func(w *world) channels.Inbound{
		"another member":         func(w *world) channels.Inbound { return groupMessage(w, "2", "Rome") },
		"another member cancels": func(w *world) channels.Inbound { return groupMessage(w, "2", "/deny") },
		"a stranger":             func(w *world) channels.Inbound { return groupMessage(w, "99", "Rome") },
		"nobody":                 func(w *world) channels.Inbound { return groupMessage(w, "", "Rome") },
		"with the asker's name": func(w *world) channels.Inbound {
			m := groupMessage(w, "2", "Rome")
			m.Sender.Name = "P1"
			return m
		},
		"the asker, to others": func(w *world) channels.Inbound {
			m := groupMessage(w, "1", "Rome")
			m.Addressed = false
			return m
		},
		"the asker, with another's words": func(w *world) channels.Inbound {
			m := groupMessage(w, "1", "Rome")
			m.Forwarded = &channels.Forward{Name: "Bob"}
			return m
		},
		"the asker, in a private chat": func(w *world) channels.Inbound { return w.message("1", "Rome") },
		"an edit": func(w *world) channels.Inbound {
			m := groupMessage(w, "1", "Rome")
			m.Edits = "n1"
			return m
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &filling{}
				w := start(t, func(w *world, _ *gateway.Binding, o *gateway.Options) {
					o.Actions = actions.New(w.mem, actions.Options{Zone: time.UTC})
					o.Forms = forms.New(w.mem, 0, nil)
					w.agent.run = f.run
				})
				hand := func(m channels.Inbound) {
					t.Helper()
					if err := w.in.Accept(t.Context(), m); err != nil {
						t.Fatal(err)
					}
					synctest.Wait()
				}
				book := groupMessage(w, "1", "book it")
				hand(book)
				if got := w.net.texts("-1"); len(got) != 1 || !strings.Contains(got[0], "I only listen to P1") {
					t.Fatalf("the group reads %q", got)
				}
				hand(say(w))
				hand(book) // as networks do after a crash
				f.mu.Lock()
				if len(f.got) != 0 {
					t.Errorf("the server is told %v", f.got)
				}
				f.mu.Unlock()
				answer := groupMessage(w, "1", "Oslo")
				hand(answer)
				hand(answer) // the network does not know that it was taken
				f.mu.Lock()
				defer f.mu.Unlock()
				if len(f.got) != 1 || f.got[0] != "Oslo" {
					t.Errorf("the server is told %v, want Oslo once; the group reads %q", f.got, w.net.texts("-1"))
				}
			})
		})
	}
}

// groupMessage is a message to Dragoman in a group.
func groupMessage(w *world, person, text string) channels.Inbound {
	m := w.message("1", text)
	m.Key = channels.MustKey("net:-1")
	m.Private = false
	m.Addressed = true
	m.Sender = channels.Person{IDs: []string{person}, Name: "P" + person}
	if person == "" {
		m.Sender = channels.Person{}
	}
	return m
}
