package gateway_test

import (
	"regexp"
	"strings"
	"sync"
	"testing"

	"dragoman/channels"
	"dragoman/internal/actions"
	"dragoman/internal/gateway"
	"dragoman/sessions"
)

// The same question is allowed on one node and refused on another at once: one of them
// counts, and the call runs at most once.
func TestAnswersOnTwoNodes(t *testing.T) {
	c := &caller{
		calls: []sessions.ToolCall{{ID: "c1", Name: "mail", Arguments: `{"to":"bob@example.org"}`}},
		taint: []sessions.Origin{sessions.OriginWeb},
	}
	p := startPair(t, func(w *world, _ *gateway.Binding, o *gateway.Options) {
		o.Actions = actions.New(w.mem, actions.Options{})
		w.agent.run = c.run
	})
	p.front.say("1", "go")
	p.eventually("a question", func(sent []string) bool { return len(sent) == 1 && strings.Contains(sent[0], "May I run") })
	code := regexp.MustCompile(`/allow ([A-Z0-9]{4})`).FindStringSubmatch(p.front.net.texts("1")[0])
	list, err := actions.New(p.back.mem, actions.Options{}).List(t.Context(), channels.MustKey("net:1"))
	if err != nil || len(list) != 1 || code == nil {
		t.Fatalf("List = %+v, %v; asked %q", list, err, p.front.net.texts("1"))
	}
	var both sync.WaitGroup
	both.Go(func() { p.front.say("1", "/allow "+code[1]) })
	both.Go(func() {
		_, err := p.back.gw.Answer(t.Context(), actions.Who{Channel: "net", IDs: []string{"1"}}, list[0].ID, actions.Deny)
		if err != nil {
			t.Error(err)
		}
	})
	both.Wait()
	p.eventually("the answer", func(sent []string) bool {
		for _, text := range sent {
			if text == "answer go" {
				return true
			}
		}
		return false
	})
	allowed := c.has("c1", "done")
	denied := c.has("", deniedCall)
	if allowed != "" && denied != "" {
		t.Error(allowed)
	}
	questions := 0
	for _, text := range p.front.net.texts("1") {
		if strings.Contains(text, "May I run") {
			questions++
		}
	}
	if questions != 1 {
		t.Errorf("%d questions: %q", questions, p.front.net.texts("1"))
	}
}
