package api_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"dragoman/channels"
	"dragoman/internal/api"
	"dragoman/sessions"
)

// Data that a provider attached is only for the provider: no list of messages
// has it, neither logs nor searches nor running turns.
func TestAttachedIsNotShown(t *testing.T) {
	s := filled(t)
	k := channels.MustKey("telegram:1")
	sealed := sessions.Message{
		Role: sessions.RoleAssistant, Content: "sealed answer",
		Attached: &sessions.Attached{By: sessions.Provenance{API: "chat"}, Data: json.RawMessage(`"thoughts"`)},
	}
	said := sessions.Entry{Inbound: channels.Inbound{Key: k, ID: "x", Text: "hello"}, Answered: true, Append: []sessions.Message{sealed}}
	if _, err := s.Accept(t.Context(), said); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Accept(t.Context(), sessions.Entry{Inbound: channels.Inbound{Key: k, ID: "y", Text: "and now?"}}); err != nil {
		t.Fatal(err)
	}
	journaled := make(chan error)
	ctx, cancel := context.WithCancel(t.Context())
	ran := make(chan struct{})
	go func() {
		defer close(ran)
		_ = s.Run(ctx, func(ctx context.Context, c sessions.Claim) error {
			if c.Key != k {
				return nil
			}
			p, err := s.Pending(ctx, c, 1)
			if err == nil {
				step := sessions.Step{Kind: sessions.StepModel, Message: &sealed}
				err = s.AppendStep(ctx, c, "t", []sessions.Answered{{Seq: p.Messages[0].Seq, Rev: p.Messages[0].Rev}}, step)
			}
			journaled <- err
			<-ctx.Done()
			return nil
		})
	}()
	defer func() {
		cancel()
		<-ran
	}()
	if err := <-journaled; err != nil {
		t.Fatal(err)
	}
	options := func() api.Options {
		o := optionsOf(s)
		o.Talk = saying{turn: "t", text: "sealed answer\n\nand more"}
		return o
	}
	clients(t, options, func(t *testing.T, c *api.Client) {
		all, err := api.ReadMessages.Call(t.Context(), c, api.Part{Key: k, Limit: 9, After: "0"})
		if err != nil {
			t.Fatal(err)
		}
		for _, in := range []channels.Key{k, {}} {
			found, err := api.SearchAll.Call(t.Context(), c, api.Search{Key: in, Query: "sealed", Limit: 9})
			if err != nil || len(found.Data) != 1 {
				t.Fatalf("SearchAll = %+v, %v, want one message", found, err)
			}
			all.Data = append(all.Data, found.Data[0].Message)
		}
		now, err := api.ReadRunning.Call(t.Context(), c, api.About{Key: k})
		if err != nil || len(now.Messages) != 2 || now.Text != "sealed answer\n\nand more" {
			t.Fatalf("Running = %+v, %v, want the question, a step and the text so far", now, err)
		}
		shown, err := json.Marshal(append(all.Data, now.Messages...))
		if err != nil || strings.Contains(string(shown), "thoughts") {
			t.Errorf("shown with what was attached: %s, %v", shown, err)
		}
	})
	h, err := s.History(t.Context(), k, sessions.HistoryLimit{})
	if err != nil || h.Messages[len(h.Messages)-1].Attached == nil {
		t.Errorf("the store has %+v, %v, want it with what was attached", h.Messages, err)
	}
}

// saying is a daemon with one running turn.
type saying struct {
	api.Talk
	turn string
	text string
}

func (s saying) Saying(channels.Key) (turn, text string) { return s.turn, s.text }

// A turn that has made no step is running, and its conversation is being answered.
func TestRunningBeforeTheFirstStep(t *testing.T) {
	o := optionsOf(filled(t))
	k := channels.MustKey("irc:#go/../x?y&z")
	o.Talk = saying{turn: k.String() + "#1"}
	c := api.InProcess(api.New(o))
	defer c.Close()
	now, err := api.ReadRunning.Call(t.Context(), c, api.About{Key: k})
	if err != nil || now.Turn != k.String()+"#1" || len(now.Messages) != 0 {
		t.Errorf("Running = %+v, %v; want the turn, and no messages", now, err)
	}
	one, err := api.ReadConversation.Call(t.Context(), c, api.About{Key: k})
	if err != nil || !one.Answering {
		t.Errorf("Conversation = %+v, %v; want it being answered", one, err)
	}
}
