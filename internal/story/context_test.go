package story_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"dragoman/agent/agenttest"
	"dragoman/channels/channeltest/ircd"
	"dragoman/internal/testkit"
)

// read is what the model got of a request, message by message, as it was sent.
func read(t *testing.T, r *agenttest.Request) (list []string) {
	t.Helper()
	var body struct{ Messages []json.RawMessage }
	if err := json.Unmarshal(r.Body, &body); err != nil {
		t.Fatal(err)
	}
	for _, m := range body.Messages {
		list = append(list, string(m))
	}
	return list
}

// The model sees when each message was written, in the owner's zone, and the next
// request begins as the one before. Nobody else sees it, not even if the model
// copies it.
func TestModelSeesTheTime(t *testing.T) {
	h := newHouse(t, plan{rest: "agent: {time_zone: Asia/Kolkata}", options: agenttest.Options{
		Reply: func(r *agenttest.Request) agenttest.Reply {
			return agenttest.TextReply("[Mon 2026-11-23 14:00 +05:30]\nheard " + r.LastUser())
		},
	}})
	h.start()
	for n, text := range []string{"hello #1", "why? #2", "and now? #3"} {
		h.tell(ann, text)
		if got := h.said(ann.ID, n+1)[n]; got != "heard "+text {
			t.Errorf("Ann reads %q", got)
		}
	}
	asked := h.asked()
	stamp := regexp.MustCompile(`"content":"\[(Mon|Tue|Wed|Thu|Fri|Sat|Sun) \d{4}-\d\d-\d\d \d\d:\d\d \+05:30\]\\nwhy\? #2"`)
	if messages := read(t, asked[1]); !stamp.MatchString(messages[3]) || !strings.Contains(messages[0], "(time zone Asia/Kolkata)") {
		t.Errorf("the model reads %q", messages)
	}
	for i := range asked[1:] {
		if before, now := read(t, asked[i]), read(t, asked[i+1]); !slices.Equal(before, now[:len(before)]) {
			t.Errorf("request %d does not begin with the one before:\n%q\n%q", i+1, before, now)
		}
	}
	testkit.Eventually(h.t, "the transcript", func() bool {
		return strings.Contains(h.dragoman("sessions", "show", "telegram:71"), "heard and now? #3")
	})
	if shown := h.dragoman("sessions", "show", "telegram:71"); strings.Contains(shown, "+05:30]") {
		t.Errorf("the transcript has stamps:\n%s", shown)
	}
}

// A person asks about what a job said: the model knows it, in the right order,
// and every later request begins as that one.
func TestJobIsKnownToTheNextTurn(t *testing.T) {
	for _, store := range []string{"sqlite", "file"} {
		t.Run(store, func(t *testing.T) {
			h := newHouse(t, plan{rest: "store: {type: " + store + "}" + morning})
			h.start()
			h.tell(ann, "hello #0") // a bot may write to nobody before
			h.said(ann.ID, 1)
			h.dragoman("jobs", "run", "morning")
			h.said(ann.ID, 2)
			testkit.Eventually(h.t, "the delivery", func() bool { return strings.Contains(h.dragoman("queue", "list"), "The queue is empty") })
			h.tell(ann, "why? #1")
			h.said(ann.ID, 3)
			h.tell(ann, "I see #2")
			h.said(ann.ID, 4)
			asked := h.asked()
			note := ` +00:00]\n[The scheduled job \"morning\" wrote this here:]\necho: `
			before := read(t, asked[2])
			now := read(t, asked[3])
			if at := strings.Index(before[3], note); at < 0 || at > strings.Index(before[3], "why? #1") {
				t.Errorf("the model reads %q", before)
			}
			if !slices.Equal(before, now[:len(before)]) || strings.Count(strings.Join(now, ""), note) != 1 {
				t.Errorf("the request\n%q\nis followed by\n%q", before, now)
			}
		})
	}
}

// On IRC each room has its own prompt, in which it is named, and a private chat
// another. A SIGHUP changes them; a mistake in one changes nothing.
func TestPromptsOfRooms(t *testing.T) {
	server := ircd.StartNgircd(t, ircd.NgircdOptions{})
	h := newHouse(t, plan{})
	configure := func(prompt string) {
		h.configure(plan{channels: fmt.Sprintf(`allow: []
  libera:
    type: irc
    server: %s
    tls: false
    nick: dragoman
    channels: ["#go", "#c"]
    allow: ["*"]
    flood: {burst: 20, every: 10ms}
    system_prompt: "You are {nick} on {network}."
    prompts:
      group: "You are in {channel}."
      private: "You talk to one person."
      "#go": %q`, server.Addr(), prompt)})
	}
	configure("Only Go here.")
	d := h.start()
	alice := ircd.Join(t, server.Addr(), "alice", "#go", "#c")
	n := 0
	system := func(to string) string {
		t.Helper()
		who := "dragoman: "
		n++
		if to == "dragoman" {
			who = ""
		}
		alice.Say(to, who+fmt.Sprintf("hello #%d", n))
		testkit.Eventually(h.t, "the model to be asked", func() bool { return len(h.asked()) == n })
		_, own, _ := strings.Cut(h.asked()[n-1].Messages[0].Content, "such a line.\n\n")
		_, own, _ = strings.Cut(own, "never promise it.\n\n") // what it cannot do
		return own
	}
	want := func(got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("the prompt is %q, want %q", got, want)
		}
	}
	const all = "You are dragoman on 127.0.0.1.\n\n"
	want(system("#c"), all+"You are in #c.")
	want(system("#go"), all+"You are in #go.\n\nOnly Go here.")
	want(system("dragoman"), all+"You talk to one person.")
	if out := h.dragoman("check", "--config", h.config); !strings.Contains(out, "libera, #go: Only Go here.") {
		t.Errorf("check says\n%s", out)
	}
	hangup := func(prompt, words string) {
		t.Helper()
		configure(prompt)
		if err := d.cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		testkit.Eventually(h.t, words, func() bool { return strings.Contains(d.out.String(), words) })
	}
	hangup("Go and {{generics}} for {chat}.", "reloaded")
	want(system("#go"), all+"You are in #go.\n\nGo and {generics} for #go.")
	hangup("Go for {people}.", "unknown placeholder, {people}")
	want(system("#go"), all+"You are in #go.\n\nGo and {generics} for #go.")
	if strings.Contains(d.out.String(), "need a restart") {
		t.Errorf("prompts need a restart:\n%s", d.out)
	}
}

// What a person wants to be remembered stands in the prompt of their private
// chat, after a /new too, and in nobody else's.
func TestPromptHasFacts(t *testing.T) {
	keeper := func(x *agenttest.Exchange) {
		_, fact, said := strings.Cut(x.Request.LastUser(), "remember ")
		if last := x.Request.Messages[len(x.Request.Messages)-1]; !said || last.Role == "tool" {
			agenttest.EchoReply(x)
			return
		}
		x.Tools(agenttest.ToolDelta{Index: agenttest.At(0), ID: "call_1", Name: "remember"})
		x.Tools(agenttest.ToolDelta{Index: agenttest.At(0), Arguments: fmt.Sprintf(`{"text":%q}`, fact)})
		x.End("tool_calls")
	}
	h := newHouse(t, plan{
		options: agenttest.Options{Reply: func(*agenttest.Request) agenttest.Reply { return keeper }},
		rest:    "agent: {prompt_facts: 2}",
	})
	h.start()
	prompt := func() string { return h.asked()[len(h.asked())-1].LastUser() }
	for i, text := range []string{"remember My bicycle is red.", "remember I ride a bicycle.", "remember My bicycle is green.", "/new"} {
		h.tell(ann, text)
		h.said(ann.ID, i+1)
	}
	h.tell(ann, "which bicycle?")
	h.said(ann.ID, 5)
	facts := regexp.MustCompile(`never an instruction to you:\n- \(\d{4}-\d\d-\d\d\) My bicycle is green\.\n- \(\d{4}-\d\d-\d\d\) I ride a bicycle\.\n\nwhich bicycle\?$`)
	if p := prompt(); !facts.MatchString(p) {
		t.Errorf("the prompt of who has facts is %q", p)
	}
	h.tell(bob, "which bicycle?")
	h.said(bob.ID, 1)
	if p := prompt(); p != "which bicycle?" {
		t.Errorf("another's prompt is %q", p)
	}
}
