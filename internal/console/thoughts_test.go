package console_test

import (
	"fmt"
	"strings"
	"testing"

	"dragoman/channels"
	"dragoman/channels/live"
)

// The model's thoughts are folded above its answer. A person may open them and follow their
// end; a reload removes them.
func TestThoughtsAreFolded(t *testing.T) {
	browser := chrome(t)
	for _, c := range []struct {
		name          string
		width, height int64
		phone         bool
	}{
		{"1120", 1120, 800, false},
		{"360", 360, 740, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newGateway(t, "", sundial)
			v := visit(t, browser, c.width, c.height, c.phone, "http://"+g.addr+"/old")
			v.until(connected)
			question := inbound("q", "How does a sundial work?")
			g.put(live.Item{ID: question.ID, From: live.FromPerson, Text: question.Text})
			show := func(text, thoughts string) string {
				t.Helper()
				id, err := g.channel().Preview(t.Context(), channels.Preview{Key: question.Key, Turn: "t", Text: text, Thoughts: thoughts})
				if err != nil {
					t.Fatal(err)
				}
				return id
			}
			show("", "The sun, <b>a rod</b> and\na shadow. ")
			const title = `document.querySelector("li.writing details.thoughts:not([open]) summary")?.textContent`
			v.until(title + ` === "Thinking…"`)
			v.until(`document.querySelector(".thoughts-text").textContent === ""`) // nothing is drawn while it is closed
			v.picture("thoughts-" + c.name + "-closed")
			v.do(click(".thoughts summary"))
			v.until(`document.querySelector(".thoughts-text").textContent === "The sun, <b>a rod</b> and\na shadow. "`)
			for i := range 60 {
				show("", fmt.Sprintf("Point %d is a somewhat longer thought.\n", i))
			}
			v.until(`document.querySelector(".thoughts-text").textContent.endsWith("Point 59 is a somewhat longer thought.\n")`)
			v.until(`(() => { const b = document.querySelector(".thoughts-text"); return b.scrollHeight > b.clientHeight && b.scrollHeight - b.scrollTop - b.clientHeight < 2; })()`)
			v.fits()
			show("A sundial turns", "")
			id := show("A sundial turns the **sun's path** into hours", "That is it.")
			v.until(`document.querySelector("li.writing .text strong") !== null`)
			v.picture("thoughts-" + c.name + "-open")
			g.finish(question, rich, id)
			v.until(`!document.querySelector("li.writing") && document.querySelector("li.dragoman .thoughts[open] summary").textContent === "Thoughts"`)
			v.until(`document.querySelector(".thoughts-text").textContent.endsWith("That is it.")`)
			if got := js[int](v, answers); got != 1 {
				t.Errorf("%d answers are shown, want 1", got)
			}
			v.do(click(".thoughts summary"))
			v.until(`!document.querySelector(".thoughts[open]")`)
			v.until(`(() => { document.querySelector("main").scrollTop = 0; return true; })()`)
			v.picture("thoughts-" + c.name + "-answer")
			if got := strings.Join(g.texts(), ""); strings.Contains(got, "a rod</b>") {
				t.Error("the feed has thoughts")
			}
			v.do(reload)
			v.until(answers + ` === 1 && !document.querySelector(".thoughts")`)
		})
	}
}

// A page keeps the end of long thoughts, and so does one that attaches in the middle.
func TestLongThoughts(t *testing.T) {
	g := newGateway(t, "", sundial)
	v := visit(t, chrome(t), 800, 600, false, "http://"+g.addr+"/old")
	v.until(connected)
	var all strings.Builder
	for i := range 300 {
		piece := strings.Repeat("x", 1000) + fmt.Sprintf(" %d\n", i)
		all.WriteString(piece)
		if _, err := g.channel().Preview(t.Context(), channels.Preview{Key: channels.MustKey("web:default"), Turn: "t", Thoughts: piece}); err != nil {
			t.Fatal(err)
		}
	}
	const same = `(() => { const s = document.querySelector(".thoughts-text")?.textContent; return s?.length === 65536 && s.endsWith(" 298\n" + "x".repeat(1000) + " 299\n"); })()`
	for range 2 {
		v.until(`document.querySelector(".thoughts summary")`)
		v.do(click(".thoughts summary"))
		v.until(same)
		v.do(reload)
	}
}
