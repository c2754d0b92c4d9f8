package app_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dragoman/agent/agenttest"
	"dragoman/channels"
	"dragoman/internal/api"
)

// A program sees a message join the running turn: its events say which message and which
// turn, the model reads it with the next step, and both have one answer.
func TestSteerIsTold(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{})
	hold := make(chan struct{})
	server := agenttest.Serve(t, agenttest.Options{Models: []string{"main"}, Reply: func(r *agenttest.Request) agenttest.Reply {
		for _, m := range r.Messages {
			if m.Role == "tool" {
				return nil // the echo of the newest message
			}
		}
		close(asked)
		return func(x *agenttest.Exchange) {
			<-hold
			agenttest.ToolReply(agenttest.ToolDelta{Index: agenttest.At(0), ID: "a", Name: "time", Arguments: "{}"})(x)
		}
	}})
	r := newPlace(t, "model: {base_url: '"+server.URL()+"', name: main, context_window: 50000}").run()
	k := channels.MustKey("web:default")
	ctx, cancel := context.WithTimeout(t.Context(), most)
	defer cancel()
	begun := make(chan struct{})
	ended := make(chan error, 1)
	var told []string
	go func() {
		ended <- r.admin.Events(ctx, api.EventQuery{Key: []channels.Key{k}}, func(e api.Event, _ string) error {
			switch e.Event {
			case "hello":
				close(begun)
			case "turn_begun", "turn_joined", "turn_done":
				told = append(told, strings.TrimSpace(fmt.Sprint(e.Event, " ", e.Turn, " ", e.Seq, " ", e.ID, e.Outcome)))
			}
			if e.Event == "turn_done" {
				cancel()
			}
			return nil
		})
	}()
	<-begun
	say := func(text, mode string) api.Said {
		t.Helper()
		said, err := api.PutPrompt.Call(t.Context(), r.admin, api.Prompt{Key: k, Text: text, Mode: mode})
		if err != nil {
			t.Fatal(err)
		}
		return said
	}
	say("what time is it?", "")
	<-asked
	two := say("and the date, please", "steer")
	close(hold)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	const turn = "web:default#1"
	want := []string{
		"turn_begun " + turn + " 0", fmt.Sprint("turn_joined ", turn, " ", two.Seq, " ", two.Row), "turn_done " + turn + " 0 answered",
	}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("the events (-want +got):\n%s", diff)
	}
	page, err := api.ReadMessages.Call(t.Context(), r.admin, api.Part{Key: k})
	if err != nil || len(page.Data) != 5 {
		t.Fatalf("the transcript is %+v, %v; want five messages", page.Data, err)
	}
	joined, answer := page.Data[3], page.Data[4]
	if joined.Content != "and the date, please" || joined.Turn != turn || answer.Turn != turn || !strings.Contains(answer.Content, "and the date, please") {
		t.Errorf("the message joined as %+v, and the answer is %+v", joined, answer)
	}
}
