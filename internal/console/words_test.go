package console_test

import (
	"encoding/json"
	"testing"

	"dragoman/channels/channeltest"
)

// TestNothingIsDropped: whatever the Markdown, every word of an answer is on
// the page, and in order.
func TestNothingIsDropped(t *testing.T) {
	v := visit(t)
	answers := channeltest.NastyAnswers(400)
	var texts []string
	for _, a := range answers {
		texts = append(texts, a.Markdown)
	}
	source, err := json.Marshal(texts)
	if err != nil {
		t.Fatal(err)
	}
	shown := js[[]string](v, `import("/app/js/markdown.js").then((m) => `+string(source)+`.map((text) => {
		const e = document.createElement("div");
		new m.Rendered(e).update(text);
		return e.textContent;
	}))`)
	for i, a := range answers {
		a.EveryWord(t, shown[i], channeltest.But{Lost: []channeltest.Place{channeltest.Title}})
	}
}
