package story_test

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"dragoman/agent/agenttest"
	"dragoman/channels/channeltest/botapi"
	"dragoman/internal/api"
	"dragoman/internal/testkit"
)

// The model's server is away for a while. Everybody who wrote meanwhile is
// answered when it is back, once and in order; nobody is told anything before.
func TestModelAwayForAWhile(t *testing.T) {
	h := newHouse(t, plan{})
	addr := testkit.FreeAddress(t)
	h.configure(plan{model: fmt.Sprintf("model: {type: openai, base_url: 'http://%s/v1', name: fake, context_window: 100000, retries: 0}", addr)})
	d := h.start()
	for n := range 3 {
		h.tell(ann, fmt.Sprintf("from Ann #%d", n+1))
	}
	h.tell(bob, "from Bob #9")
	testkit.Eventually(h.t, "both chats to be postponed", func() bool {
		s, err := api.ReadStatus.Call(t.Context(), d.admin, api.None{})
		return err == nil && s.Waiting == 4 && strings.Count(d.out.String(), "the turn is postponed") >= 2
	})
	if n := len(h.api.FromBot(ann.ID)) + len(h.api.FromBot(bob.ID)); n != 0 {
		t.Errorf("people were told %d things while the model was away", n)
	}
	if list := h.dragoman("queue", "list"); !strings.Contains(list, "telegram:71") || !strings.Contains(list, "telegram:72") {
		t.Errorf("queue list does not show what waits:\n%s", list)
	}
	server := agenttest.NewServer(agenttest.Options{Reply: func(*agenttest.Request) agenttest.Reply { return h.reply }})
	if err := server.Start(addr); err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	h.said(bob.ID, 1)
	h.until("all of Ann's answers", func() bool {
		return len(agenttest.Marks(strings.Join(h.api.FromBot(ann.ID), " "))) >= 3
	})
	if got := agenttest.Marks(strings.Join(h.api.FromBot(ann.ID), " ")); strings.Join(got, " ") != "#1 #2 #3" {
		t.Errorf("Ann's messages are answered as %v, want each once, in order", got)
	}
	testkit.Eventually(h.t, "an empty queue", func() bool { return strings.Contains(h.dragoman("queue", "list"), "The queue is empty") })
}

var errorID = regexp.MustCompile(`error ([0-9a-f]{6})`)

// The model's server refuses the key: the person is told at once, with an id
// that the operator finds in the log. The key is nowhere.
func TestRefusedKey(t *testing.T) {
	const key = "sk-canary-0123456789abcdefghijklmnop"
	leaky := agenttest.StatusReply(401, nil, `{"error":{"message":"Incorrect API key provided: `+key+`. Check https://example.com/keys?key=`+key[:20]+`","code":"invalid_api_key"}}`)
	h := newHouse(t, plan{rest: "log: {level: debug}", options: agenttest.Options{
		Reply: func(*agenttest.Request) agenttest.Reply { return leaky },
	}})
	h.configure(plan{rest: "log: {level: debug}", model: fmt.Sprintf("model: {type: openai, base_url: %s, name: fake, api_key: %s}", h.model.URL(), key)})
	d := h.start()
	h.tell(ann, "hello #1")
	got := h.said(ann.ID, 1)[0]
	id := errorID.FindStringSubmatch(got)
	if id == nil || !strings.Contains(got, "does not accept my key") {
		t.Fatalf("the bot says %q, want an apology with an id", got)
	}
	if !strings.Contains(d.out.String(), "error_id="+id[1]) {
		t.Errorf("the log does not know %s", id[1])
	}
	if got := h.model.Requests()[0].Header.Get("Authorization"); got != "Bearer "+key {
		t.Fatalf("the server was sent %q; this test tests nothing", got)
	}
	_, metrics := d.read("/metrics")
	everything := map[string]string{
		"the log": d.out.String(), "the chat": got, "metrics": metrics,
		"status": h.dragoman("status"), "status --json": h.dragoman("status", "--json"),
		"queue": h.dragoman("queue", "list", "--json"), "the transcript": h.dragoman("sessions", "export", "telegram:71"),
		"check": h.dragoman("check", "--effective"),
	}
	for where, text := range everything {
		if strings.Contains(text, key[:14]) {
			t.Errorf("%s shows the key:\n%s", where, text)
		}
	}
	h.tell(ann, "and now? #2")
	h.said(ann.ID, 2)
}

// An answer in which the model's server breaks off is made again, and shown
// once.
func TestModelBreaksOff(t *testing.T) {
	h := newHouse(t, plan{})
	h.configure(plan{model: fmt.Sprintf("model: {type: openai, base_url: %s, name: fake, context_window: 100000, retries: 2}", h.model.URL())})
	h.start()
	h.model.Next(agenttest.Faults["cut"], agenttest.Faults["cut-mid-json"])
	h.tell(botapi.Person(75, "Eve"), "hello #1")
	if got := h.said(75, 1)[0]; got != "echo: hello #1" {
		t.Errorf("the bot says %q", got)
	}
	if n := len(h.api.FromBot(75)); n != 1 {
		t.Errorf("the chat shows %d messages, want one", n)
	}
}

// What calls cost stands with each answer, in the numbers of each chat and of
// the day, and in the metrics: at the prices of the model that was called.
func TestPrices(t *testing.T) {
	h := newHouse(t, plan{options: agenttest.Options{Reply: func(*agenttest.Request) agenttest.Reply {
		return func(x *agenttest.Exchange) {
			x.Text("## Progress\nAnn said hello.")
			x.Finish("stop")
			x.Usage(1000, 100, 400)
			x.Done()
		}
	}}})
	h.configure(plan{model: fmt.Sprintf(`model:
  {type: openai, base_url: %s, name: fake, context_window: 100000, prices: {input: 2, output: 8, cached: 0.5},
   others: [{name: cheap, prices: {input: 1, output: 1}}]}`, h.model.URL()), rest: `
summary: {trigger: {messages: 4}, keep: {n: 2}, model: {name: cheap}}`})
	d := h.start()
	// 600 tokens at 2, 400 at 0.5 and 100 at 8 for a million.
	const one, other = 0.0022, 0.0011
	h.tell(ann, "hello #1")
	h.said(ann.ID, 1)
	h.dragoman("sessions", "set", "telegram:71", "model=cheap")
	h.tell(ann, "and now? #2")
	h.said(ann.ID, 2)

	var costs []string
	for _, m := range regexp.MustCompile(`"cost":([0-9.e-]+)`).FindAllStringSubmatch(h.dragoman("sessions", "export", "telegram:71"), -1) {
		costs = append(costs, m[1])
	}
	if want := []string{fmt.Sprint(one), fmt.Sprint(other)}; !slices.Equal(costs, want) {
		t.Errorf("the messages of the transcript cost %q, want %q", costs, want)
	}
	near := func(what string, got, want float64) {
		if math.Abs(got-want) > 1e-9 {
			t.Errorf("%s = %v, want %v", what, got, want)
		}
	}
	n := decode[api.Numbers](t, h.dragoman("sessions", "stats", "--json"))
	if len(n.Top) != 1 || len(n.Days) == 0 {
		t.Fatalf("stats has %d conversations and %d days", len(n.Top), len(n.Days))
	}
	near("the conversation's cost", n.Top[0].Usage.Cost, one+other)
	spent := 0.0
	for _, day := range n.Days {
		spent += day.Usage.Cost
	}
	near("the days' cost", spent, one+other)
	if out := h.dragoman("sessions", "stats"); !strings.Contains(out, "COST") || !strings.Contains(out, "0.0033") {
		t.Errorf("stats shows no cost of 0.0033:\n%s", out)
	}
	// The third turn makes it long enough for a summary, at the other's price.
	h.tell(ann, "one more #3")
	h.said(ann.ID, 3)
	testkit.Eventually(h.t, "a summary", func() bool { return strings.Contains(d.out.String(), "conversation summarised") })
	_, metrics := d.read("/metrics")
	for model, want := range map[string]float64{"fake": one, "cheap": 3 * other} {
		found := regexp.MustCompile(`dragoman_model_cost_total\{model="` + model + `"\} (\S+)`).FindStringSubmatch(metrics)
		if found == nil {
			t.Errorf("the metrics lack the cost of %s", model)
			continue
		}
		got, err := strconv.ParseFloat(found[1], 64)
		if err != nil {
			t.Error(err)
		}
		near("what "+model+" cost, the summary included,", got, want)
	}
}
