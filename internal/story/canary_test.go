package story_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"dragoman/agent/agenttest"
	"dragoman/channels/channeltest/botapi"
	"dragoman/channels/channeltest/ircd"
	"dragoman/internal/respond"
	"dragoman/internal/testkit"
)

// What must stay between the people, the model and the networks. No canary is
// part of another one, and none is a word that anything prints by itself.
const (
	chatCanary   = "zwiebelfisch"  // in what people write
	answerCanary = "querulantin"   // in what the model answers
	fileCanary   = "nachtigallruf" // in what tools write and read
	poisonCanary = "grottenolm"    // in what no client can decode
	tokenCanary  = "AAFcanarytokenoftelegram-0123456789"
	keyCanary    = "sk-canary-modelkey-0123456789abcdef"
	pageCanary   = "canary-pagetoken-0123456789abcdef"
	serverCanary = "canary-ircserver-pw"
	saslCanary   = "canary-sasl-pw-99"
	roomCanary   = "canaryroomkey77"
	saslBase64   = "Y2FuYXJ5LXNhc2wtcHctOTk=" // saslCanary as it is sent
)

var canaries = []string{
	chatCanary, answerCanary, fileCanary, poisonCanary, tokenCanary, keyCanary, pageCanary,
	serverCanary, saslCanary, roomCanary, saslBase64,
}

// silent fails the test if text holds a canary.
func silent(t *testing.T, where, text string) {
	t.Helper()
	for _, c := range canaries {
		for line := range strings.Lines(text) {
			if strings.Contains(strings.ToLower(line), strings.ToLower(c)) {
				t.Errorf("%s shows %s: %.400s", where, c, line)
				break
			}
		}
	}
}

// canaryModel answers, calls tools, fails, and repeats what it was told in its
// errors, as some servers do.
func canaryModel(r *agenttest.Request) agenttest.Reply {
	text := r.LastUser()
	last := r.Messages[len(r.Messages)-1]
	echo := func(code int, form string) agenttest.Reply {
		return agenttest.StatusReply(code, nil, fmt.Sprintf(form, text))
	}
	switch {
	case len(r.Tools) == 0:
		return agenttest.TextReply("## Critical context\nA summary about " + chatCanary + ", where more was said. The answer was " + answerCanary + ".")
	case strings.Contains(text, "write a file") && last.Role != "tool":
		return agenttest.ToolReply(
			agenttest.ToolDelta{Index: agenttest.At(0), ID: "a", Name: "write_file", Arguments: `{"path":"` + fileCanary + `.txt","content":"` + fileCanary + `"}`},
			agenttest.ToolDelta{Index: agenttest.At(1), ID: "b", Name: "read_file", Arguments: `{"path":"no-` + fileCanary + `.txt"}`},
			agenttest.ToolDelta{Index: agenttest.At(2), ID: "c", Name: "remember", Arguments: `{"text":"` + fileCanary + `"}`},
			agenttest.ToolDelta{Index: agenttest.At(3), ID: "d", Name: "no_such_" + fileCanary, Arguments: `{"broken json ` + fileCanary},
			agenttest.ToolDelta{Index: agenttest.At(4), ID: "e", Name: "web_fetch", Arguments: `{"url":"http://127.0.0.1/` + fileCanary + `"}`},
		)
	case strings.Contains(text, "fail 400"):
		return echo(400, `{"error":{"message":"Invalid value in messages[1].content: %q","type":"invalid_request_error"}}`)
	case strings.Contains(text, "fail 422"):
		return echo(422, `{"detail":[{"loc":["body","messages",0],"msg":"Input should be a dict","input":%q}]}`)
	case strings.Contains(text, "fail 403"):
		return echo(403, `Your prompt was flagged: %s`)
	case strings.Contains(text, "fail 500"):
		return echo(500, `{"error":"upstream failed on %s"}`)
	case strings.Contains(text, "fail key"):
		return agenttest.StatusReply(401, nil, `{"error":{"message":"Incorrect API key provided: `+keyCanary+`"}}`)
	case strings.Contains(text, "cut"):
		return func(x *agenttest.Exchange) { x.Text("half of "+answerCanary, " and"); x.Cut() }
	}
	return agenttest.TextReply("The answer is " + answerCanary + ", since you said " + text)
}

// A busy day at the most talkative log level, with everything going wrong
// that can: no word that anybody said and no secret is in anything that the
// daemon prints, measures or tells the operator unasked.
func TestNoCanaryIsHeard(t *testing.T) {
	net := ircd.New(ircd.Config{Caps: []string{"sasl=PLAIN"}, Accounts: map[string]string{"dragoman": saslCanary}, Password: serverCanary})
	addr, err := net.Listen()
	if err != nil {
		t.Fatal(err)
	}
	defer net.Close()
	h := newHouse(t, plan{options: agenttest.Options{Reply: canaryModel}})
	api, err := botapi.Start("127.0.0.1:0", botapi.Options{Token: "1000:" + tokenCanary})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(api.Close)
	h.api = api
	h.configure(plan{
		model: fmt.Sprintf("model: {type: openai, base_url: %s, name: fake, api_key: %s, retries: 0}", h.model.URL(), keyCanary),
		rest: `log: {level: debug}
agent: {give_up_after: 1s}
queue: {max_message_bytes: 4KiB, rate_per_minute: 0}
summary: {trigger: {messages: 10}, keep: {n: 2}}
http: {listen: "127.0.0.1:0", token: "` + pageCanary + `"}
heartbeat:
  jobs: [{name: watch, every: 12h, target: "telegram:71", prompt: "look at the ` + chatCanary + `"}]`,
		channels: `allow: [71, 72, "chat:-100200"]
    pairing: true
  libera:
    type: irc
    server: ` + addr + `
    tls: false
    nick: dragoman
    password: ` + serverCanary + `
    sasl: {mechanism: plain, user: dragoman, password: ` + saslCanary + `}
    channels: [{name: "#go", key: ` + roomCanary + `}]
    allow: ["*"]
    flood: {burst: 20, every: 10ms}`,
	})
	d := h.start()
	private := api.Private(ann)
	answered := 0
	tell := func(text string) {
		t.Helper()
		private.Say(ann, text)
		answered++
		h.until("an answer to "+text, func() bool { return len(finished(api.FromBot(ann.ID))) >= answered })
	}
	for _, text := range []string{
		"hello, " + chatCanary, "/status " + chatCanary, "/" + chatCanary + " is no command",
		"write a file about " + chatCanary, "fail 400 " + chatCanary, "fail 422 " + chatCanary, "fail 403 " + chatCanary,
		"fail 500 " + chatCanary, "fail key " + chatCanary, "cut it, " + chatCanary,
		"too long: " + strings.Repeat(chatCanary+" ", 500), "/new " + chatCanary,
	} {
		tell(text)
	}
	for range 8 { // enough for a summary
		tell("more about " + chatCanary)
	}
	testkit.Eventually(h.t, "a summary", func() bool { return strings.Contains(d.out.String(), "conversation summarised") })
	private.Edit(private.Say(ann, "an edit of "+chatCanary), "another "+chatCanary)
	h.dragoman("jobs", "run", "watch")
	api.Supergroup(-100200, "Team "+chatCanary, false).Say(bob, "@dragoman_bot in a group, "+chatCanary)
	api.Private(botapi.Person(90, "Eve")).Say(botapi.Person(90, "Eve"), "let me in, "+chatCanary)
	api.PushRaw(func(id int64) []byte {
		return fmt.Appendf(nil, `{"update_id":%d,"message":{"message_id":"%s"}}`, id, poisonCanary)
	})
	// Networks fail as well, in words of their own.
	api.Break(botapi.Fault{Method: "sendMessage", ChatID: bob.ID, Times: 1, Status: 500, Body: "<html>proxy error for /bot1000:" + tokenCanary + "/sendMessage</html>"})
	api.Break(botapi.Fault{Method: "sendMessage", ChatID: bob.ID, Times: 1, DropBefore: true})
	api.Break(botapi.Fault{Method: "getUpdates", Times: 1, DropBefore: true})
	api.Private(bob).Say(bob, "bob says "+chatCanary)
	net.Inject("dragoman", ":alice!a@example.org PRIVMSG #go :dragoman: on IRC, "+chatCanary)
	page := d.page(pageCanary)
	if err := page.Post(t.Context(), "message-1", "on the page, "+chatCanary); err != nil {
		t.Fatal(err)
	}
	var refused *respond.Refusal
	if err := d.page("wrong").Post(t.Context(), "message-2", chatCanary); !errors.As(err, &refused) || refused.Status != http.StatusUnauthorized {
		t.Errorf("Post with a wrong token = %v, want 401", err)
	} else {
		silent(t, "the refusal", refused.Sentence)
	}
	if !net.WaitHeard("dragoman", "PRIVMSG #go ", 1, most) {
		t.Errorf("nothing was said on IRC: %q", net.Heard("dragoman"))
	}
	if heard := strings.Join(net.Heard("dragoman"), "\n"); !strings.Contains(heard, saslBase64) || !strings.Contains(heard, roomCanary) {
		t.Errorf("the IRC server was told no password: %q", heard)
	}
	h.until("the group's answer", func() bool { return len(finished(api.FromBot(-100200))) == 1 })
	h.until("Eve's code", func() bool { return len(api.FromBot(90)) == 1 })
	testkit.Eventually(h.t, "a failed delivery in the queue", func() bool {
		out := h.dragoman("queue", "list", "--json")
		silent(t, "queue list --json", out)
		return strings.Contains(out, "telegram:72") || len(finished(api.FromBot(bob.ID))) > 0
	})
	h.until("Bob's answer", func() bool { return len(finished(api.FromBot(bob.ID))) >= 1 })
	testkit.Eventually(h.t, "the page's answer", func() bool {
		items, err := page.Feed(t.Context(), 0, 10)
		return err == nil && len(items) == 2
	})

	auth := []string{"Authorization", "Bearer " + pageCanary}
	for _, path := range []string{"/healthz", "/readyz", "/metrics", "/api/nothing", "/api/chat/nothing"} {
		_, body := d.get(path, auth...)
		silent(t, path, body)
		_, body = d.get(path)
		silent(t, path+" without the token", body)
	}
	for _, args := range [][]string{
		{"status"},
		{"status", "--json"},
		{"queue", "list"},
		{"queue", "list", "--json"},
		{"jobs", "list"},
		{"jobs", "log", "--json"},
		{"sessions", "list"},
		{"pair", "list"},
		{"check", "--effective"},
	} {
		if args[0] == "check" || args[0] == "sessions" {
			// The job's prompt is the operator's own text, and stands there; a
			// list names a conversation after its first words.
			silent(t, args[0], strings.ReplaceAll(h.dragoman(args...), chatCanary, ""))
			continue
		}
		silent(t, strings.Join(args, " "), h.dragoman(args...))
	}
	silent(t, "the daemon's output", d.out.String())
	if !strings.Contains(d.out.String(), "level=DEBUG") {
		t.Error("the daemon printed nothing at level debug: this test tests little")
	}
}
