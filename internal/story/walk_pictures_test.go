package story_test

import (
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"dragoman/agent/agenttest"
	"dragoman/channels"
	"dragoman/internal/api"
	"dragoman/internal/testkit"

	"github.com/chromedp/chromedp/kb"
)

// spoken are the questions in the pictures, by some words of theirs, and what is answered.
var spoken = []struct{ words, answer string }{
	{"loaf", "**Rye sourdough** keeps longest: its acid keeps mould away, and the crumb holds its water.\n\n" +
		"| Bread | Keeps for | Where |\n|---|---|---|\n| Rye sourdough | 7 to 10 days | in linen |\n| Wheat sourdough | 4 to 5 days | in linen |\n| Baguette | 1 day | eat it |\n\n" +
		"So for a loaf of \\(m\\) grams of flour with 75 % water, take \\(0.75\\,m\\) of water and \\(0.02\\,m\\) of salt."},
	{"script", "This counts what you bought, the most frequent first:\n\n" +
		"```sh\n# one receipt a file\ngrep -ih flour ~/receipts/*.txt | sort | uniq -c | sort -rn\n```\n\nThe number before each line says how often it was."},
	{"tomatoes", "Bob, until Thursday. From Friday on it is Ann: she said so on Monday."},
	{"weekend", "Saturday is dry until four, and Sunday is for the museum: it opens at ten."},
	{"shade", "Parsley, chives and mint. Mint wants a pot of its own: it takes every bed."},
	{"Bruno", "Noted: **Bruno** is your starter. I will know it tomorrow, too."},
}

// called are the calls of tools in the pictures, by some words of the question.
var called = []struct{ words, tool, arguments string }{
	{"write it down", "write_file", `{"path":"garden/watering.md","content":"Mondays and Fridays: Ann. Thursdays: Bob."}`},
	{"Bruno", "remember", `{"text":"Their sourdough starter is called Bruno."}`},
}

// picturesModel answers as the pictures want it, and calls tools where they do.
func picturesModel(x *agenttest.Exchange) {
	text := x.Request.LastUser()
	last := x.Request.Messages[len(x.Request.Messages)-1]
	for _, c := range called {
		if !strings.Contains(text, c.words) || !x.Request.HasTool(c.tool) || last.Role == "tool" {
			continue
		}
		x.Tools(agenttest.ToolDelta{Index: agenttest.At(0), ID: "call_1", Name: c.tool})
		x.Tools(agenttest.ToolDelta{Index: agenttest.At(0), Arguments: c.arguments})
		x.End("tool_calls")
		return
	}
	for _, s := range spoken {
		if strings.Contains(text, s.words) {
			x.Wait(700 * time.Millisecond)
			x.Text(strings.SplitAfter(s.answer, " ")...)
			x.Usage(1800, 160, 1200)
			x.End("stop")
			return
		}
	}
	x.Text("Good morning. What can I do for you?")
	x.End("stop")
}

// To make the pictures in docs/images: make pictures. They are of the real page and the real
// daemon; people write to it over the networks' test servers.
func TestWalkPictures(t *testing.T) {
	pageKit(t)
	if os.Getenv("DRAGOMAN_PICTURES") == "" {
		t.Skip("DRAGOMAN_PICTURES names no folder to write to")
	}
	p := walkPlan()
	p.model = "model: {type: openai, name: sonnet, context_window: 200000, prices: {input: 3, output: 15}, base_url: %MODEL%}"
	p.options = agenttest.Options{Reply: func(*agenttest.Request) agenttest.Reply { return picturesModel }}
	p.rest = strings.ReplaceAll(p.rest, "telegram:72\"]", "telegram:71\"]")
	p.rest = strings.ReplaceAll(p.rest, "{person: {day: 5, month: 50}, all: {month: 100}}", "{person: {day: 0.05}, all: {month: 2}}")
	p.rest = strings.ReplaceAll(p.rest, "look-after-the-server-in-the-cellar-and-say-only-what-is-wrong", "server-in-the-cellar")
	h := newHouse(t, p)
	config, err := os.ReadFile(h.config)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(h.config, []byte(strings.ReplaceAll(string(config), "%MODEL%", h.model.URL())), 0o600); err != nil {
		t.Fatal(err)
	}
	d := h.start()
	made, err := api.CreateToken.Call(t.Context(), d.admin, api.NewToken{Name: "laptop", Person: "telegram:71", Scope: "admin"})
	if err != nil {
		t.Fatal(err)
	}
	w := d.walker(chromium(t), d.loggedIn(made.Secret))
	d.pictured(w)
	talk := "/talk/" + url.PathEscape("web:telegram:71/default")
	for _, shot := range []struct {
		name, path string
		width      int64
		dark       bool
	}{
		{"chat", talk, 1440, false},
		{"chat-dark", talk, 1440, true},
		{"chat-768", talk, 768, true},
		{"chat-768-light", talk, 768, false},
		{"chat-360", talk, 360, true},
		{"chat-360-light", talk, 360, false},
		{"details-dark", talk + "/details", 1440, true},
		{"approval", "/talk/" + url.PathEscape("telegram:-100200"), 768, false},
		{"list-360", "/talk", 360, false},
		{"foryou", "/you", 768, false},
		{"jobs", "/jobs", 1440, true},
		{"channels", "/channels", 1440, false},
		{"usage", "/usage", 1440, false},
	} {
		theme := "light"
		if shot.dark {
			theme = "dark"
		}
		w.prefers("prefers-reduced-motion=reduce", "prefers-color-scheme="+theme)
		w.resize(shot.width, map[int64]int64{360: 740, 768: 960, 1440: 900}[shot.width])
		w.open(shot.path)
		w.until("formulas and colours", `!document.querySelector(".formula:not(.set), .block code:not(:has(span))")`)
		if !strings.HasPrefix(shot.path, "/talk") {
			w.until("what is unread", `document.querySelector('a[href="/talk"] .count')`)
		}
		if shot.path == "/usage" {
			w.click("button", "By conversation")
			w.until("the titles", `document.querySelector(".legend")?.innerText.includes("Bread")`)
		}
		asks[bool](w, `(document.activeElement?.blur(), true)`)
		w.picture(shot.name)
	}
}

// pictured is a house in whose conversations there is something to look at.
func (d *daemon) pictured(w *walker) {
	d.t.Helper()
	d.tell(ann, "What is planned for the weekend?")
	d.said(ann.ID, 1)
	team := d.api.Supergroup(-100200, "Garden", false)
	team.Say(ann, "@dragoman_bot who waters the tomatoes this week?")
	d.said(-100200, 1)
	for room, texts := range map[string][]string{
		"default": {"Remember that my starter is called Bruno", "Write me a script that counts the flour I bought", "Which loaf keeps longest, and how much water does it take?"},
		"herbs":   {"Which herbs like shade?"},
	} {
		w.open("/talk/" + url.PathEscape("web:telegram:71/"+room))
		for i, text := range texts {
			w.types("Write a message", text)
			w.press(kb.Enter)
			w.until("the answer", `document.querySelectorAll(".message .answer").length === `+string(rune('1'+i))+` && !document.querySelector(".growing")`)
		}
	}
	team.Say(ann, "@dragoman_bot write it down, please")
	for key, title := range map[string]string{"web:telegram:71/default": "Bread", "web:telegram:71/herbs": "Herbs for the north side", "telegram:71": "Ann", "telegram:-100200": "The garden team"} {
		if err := api.Rename.Call(d.t.Context(), d.admin, api.Title{Key: channels.MustKey(key), Title: title}); err != nil {
			d.t.Fatal(err)
		}
	}
	testkit.Eventually(d.t, "a question", func() bool {
		waiting, err := api.ListApprovals.Call(d.t.Context(), d.admin, api.ApprovalQuery{})
		return err == nil && len(waiting.Data) > 0
	})
}
