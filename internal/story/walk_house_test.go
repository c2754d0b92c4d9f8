package story_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"dragoman/agent/agenttest"
	"dragoman/channels"
	"dragoman/channels/channeltest/botapi"
	"dragoman/internal/api"
	"dragoman/internal/testkit"
)

// shown is an answer with everything that the page draws in one.
const shown = `A sundial turns the **sun's path** into hours: a rod, the *gnomon*, throws a shadow on a plate.

## How it reads

| Time | Shadow points | Length |
|---|---|---:|
| 9:00 | north-west | 2.1 m |
| 12:00 | north | 1.4 m |

1. Lean the rod by your latitude.
2. Point it at the pole:
   - north of the equator at the *north* pole
   - south of it at the south pole

` + "```go\n" + shownCode + "\n```" + `

Noon is \(h_0 = 12\), and with the latitude \(\varphi\) the line of an hour leans by

\[
\tan \theta = \frac{\tan(15^\circ (h - h_0))}{\sin \varphi} \cdot \left( 1 + \sum_{n=1}^{\infty} \frac{1}{2^n} - 1 \right) = \tan(15^\circ (h - 12)) \cdot \sin^{-1} \varphi
\]

and not by \(\nosuch{h}\).

> The shadow knows nothing of time zones.

More at https://example.org/sundials/with/an/address/that/is/longer/than/the/screen/of/any/phone/that/people/carry/around.`

// shownCode is the code in it.
const shownCode = "// hourAngle is how far the sun has turned since noon. This line is long enough to scroll by itself on every phone.\nfunc hourAngle(hours float64) float64 {\n\treturn 15 * (hours - 12)\n}"

// walkModel answers as the walks need it: a whole page of Markdown, a refusal, a call of a
// tool, or an echo.
func walkModel(x *agenttest.Exchange) {
	text := x.Request.LastUser()
	switch {
	case strings.Contains(text, "sundial"):
		x.Text(strings.SplitAfter(shown, " ")...)
		x.Usage(1200, 400, 0)
		x.End("stop")
	case strings.Contains(text, "no key"):
		agenttest.StatusReply(401, nil, `{"error":{"message":"no such key","code":"invalid_api_key"}}`)(x)
	default:
		agenttest.EchoReply(x)
	}
}

// walkPlan is a house with something in each view once people have written.
func walkPlan() plan {
	return plan{
		channels: "pairing: true\n    allow: [\"71\", \"72\"]",
		rest: "agent: {tools: {write_file: ask}}\n" +
			"people: {read_along: true}\n" +
			"approvals: {approvers: [\"telegram:72\"]}\n" +
			"limits: {budgets: {person: {day: 5, month: 50}, all: {month: 100}}}\n" +
			"heartbeat:\n  jobs:\n" +
			"    - {name: morning, cron: \"0 8 * * *\", target: \"telegram:71\", prompt: \"what is planned today?\"}\n" +
			"    - {name: look-after-the-server-in-the-cellar-and-say-only-what-is-wrong, every: 12h, target: \"telegram:72\", prompt: look}\n",
		options: agenttest.Options{Reply: func(*agenttest.Request) agenttest.Reply { return walkModel }},
	}
}

// lived is a daemon whose people have written: in private and in a group, with an answer that
// failed, a delivery that fails, a call that waits for a yes and a stranger at the door.
// All of it came in through its networks and its API.
func lived(t *testing.T) *daemon {
	t.Helper()
	return livedIn(t, walkPlan())
}

// livedIn is lived in a house of another plan.
func livedIn(t *testing.T, p plan) *daemon {
	t.Helper()
	h := newHouse(t, p)
	d := h.start()
	h.tell(ann, "How does a sundial work?")
	h.until("the first answer", func() bool { return len(finished(h.api.FromBot(ann.ID))) > 0 }) // else both are one turn, which does not fail
	h.tell(ann, "there is no key")
	h.tell(bob, "Good morning. "+strings.Repeat("This is a long message that somebody wrote on a train. ", 20))
	h.said(bob.ID, 1)
	h.api.Private(bob).Block(bob)
	h.tell(bob, "one that cannot be answered")
	team := h.api.Supergroup(-100200, "The garden team of the house at the end of the road, and friends", false)
	team.Say(ann, "@dragoman_bot who waters the tomatoes?")
	h.said(-100200, 1) // else both are one turn, which waits for its yes
	team.Say(ann, `@dragoman_bot !tool write_file {"path":"watering/plan.txt","content":"Mondays: Ann. Thursdays: Bob."}`)
	h.tell(botapi.Person(73, "Carol"), "Hello, may I come in?")
	for _, words := range []string{"How does a sundial work?", "مرحبا، كيف تعمل الساعة الشمسية؟"} {
		if _, err := api.PutQuestion.Call(t.Context(), d.admin, api.Question{Key: channels.MustKey("web:default"), Text: words}); err != nil {
			t.Fatal(err)
		}
	}
	testkit.Eventually(t, "a call to wait for a yes", func() bool {
		waiting, err := api.ListApprovals.Call(t.Context(), d.admin, api.ApprovalQuery{})
		return err == nil && len(waiting.Data) > 0
	})
	for _, key := range []string{"telegram:71", "telegram:-100200"} {
		testkit.Eventually(t, "the conversation "+key, func() bool {
			c, err := api.ReadConversation.Call(t.Context(), d.admin, api.About{Key: channels.MustKey(key)})
			return err == nil && c.MessageCount > 0
		})
	}
	testkit.Eventually(t, "a delivery that is refused", func() bool {
		queue, err := api.ListQueue.Call(t.Context(), d.admin, api.QueueQuery{})
		return err == nil && slices.ContainsFunc(queue.Data, func(i api.QueueItem) bool { return i.Kind == "out" && i.Error != "" })
	})
	return d
}

// kill ends the daemon as a crash does.
func (d *daemon) kill() {
	d.t.Helper()
	d.over = true
	if err := d.cmd.Process.Kill(); err != nil {
		d.t.Fatal(err)
	}
	<-d.ended
}

// holder is the cookie of somebody who logged in with a token of a scope.
func (d *daemon) holder(scope, person string) string {
	d.t.Helper()
	made, err := api.CreateToken.Call(d.t.Context(), d.admin, api.NewToken{Name: "walk-" + scope, Person: person, Scope: scope})
	if err != nil {
		d.t.Fatal(err)
	}
	return d.loggedIn(made.Secret)
}

// loggedIn is the cookie of a session that a token begins.
func (d *daemon) loggedIn(token string) string {
	d.t.Helper()
	s, err := api.ReadStatus.Call(d.t.Context(), d.admin, api.None{})
	if err != nil {
		d.t.Fatal(err)
	}
	site := "http://" + s.Listen
	req, err := http.NewRequestWithContext(d.t.Context(), http.MethodPost, site+"/login", strings.NewReader(url.Values{"token": {token}}.Encode()))
	if err != nil {
		d.t.Fatal(err)
	}
	req.Header.Set("Origin", site)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Close = true
	resp, err := http.DefaultTransport.RoundTrip(req) // follows no redirect
	if err != nil {
		d.t.Fatal(err)
	}
	_ = resp.Body.Close()
	if len(resp.Cookies()) != 1 {
		d.t.Fatalf("the login with a token = %s", resp.Status)
	}
	return resp.Cookies()[0].Name + "=" + resp.Cookies()[0].Value
}
