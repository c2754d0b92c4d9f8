package story_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"dragoman/agent/agenttest"
)

// The answer of TestWalkMiddle, which is written in parts: before a call of a tool, before
// another page is opened, and after that.
const (
	middleAsks  = "I look at the clock first."
	middleHalf  = " Half past nine, so the sun stands in the"
	middleWhole = " east."
)

// slowly answers with a call of a tool, and after it writes half of the answer, and the rest
// when it may.
func slowly(may <-chan struct{}) agenttest.Reply {
	return func(x *agenttest.Exchange) {
		if x.Request.Messages[len(x.Request.Messages)-1].Role != "tool" {
			x.Text(middleAsks)
			x.Tools(agenttest.ToolDelta{Index: agenttest.At(0), ID: "call1", Name: "read_file", Arguments: `{"path":"clock.txt"}`})
			x.End("tool_calls")
			return
		}
		x.Text(strings.SplitAfter(middleHalf, " ")...)
		x.Flush()
		<-may
		x.Text(middleWhole)
		x.End("stop")
	}
}

// Whoever opens a conversation in the middle of an answer reads it from its beginning: in
// another browser, in another tab, and after a reload. Nothing is read twice.
func TestWalkMiddle(t *testing.T) {
	pageKit(t)
	may := make(chan struct{})
	goOn := sync.OnceFunc(func() { close(may) })
	p := walkPlan()
	p.options = agenttest.Options{Reply: func(*agenttest.Request) agenttest.Reply { return slowly(may) }}
	d := newHouse(t, p).start()
	t.Cleanup(goOn) // else the daemon would wait for its answer
	browser := chromium(t)
	first := d.walker(browser, d.linked())
	first.open("/talk/web:default")
	first.types("Write a message", "Where is the sun?\r")
	first.reads(strings.TrimSpace(middleHalf))
	second := d.walker(browser, d.linked())
	second.open("/talk/web:default")
	for name, w := range map[string]*walker{"another browser": second, "the first": first} {
		w.until(name+" to read from the beginning on", saysOnce(middleAsks, middleHalf))
		w.until(name+" to see the step", `document.querySelector(".steps")?.textContent.includes("read_file")`)
	}
	first.open("/talk/web:default")
	first.until("the text after a reload", saysOnce(middleAsks, middleHalf))
	goOn()
	for _, w := range []*walker{first, second} {
		w.until("the whole answer", saysOnce(middleAsks, middleHalf, middleWhole)+` && !document.querySelector(".growing")`)
	}
}

// saysOnce is true when the one answer on the page has these words, each once.
func saysOnce(words ...string) string {
	var all []string
	for _, w := range words {
		all = append(all, fmt.Sprintf(`text.split(%q).length === 2`, strings.TrimSpace(w)))
	}
	return `((text) => ` + strings.Join(all, " && ") + `)(document.querySelector("article.message .answer")?.textContent ?? "")`
}
