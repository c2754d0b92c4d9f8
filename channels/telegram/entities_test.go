package telegram_test

import (
	"strings"
	"testing"
	"unicode/utf16"

	"dragoman/channels/channeltest/botapi"
	"dragoman/channels/telegram"
)

// entity marks the first words of that kind in text.
func entity(text, words, kind string, more map[string]any) map[string]any {
	at := strings.Index(text, words)
	e := map[string]any{"type": kind, "offset": telegram.Units(text[:at]), "length": len(utf16.Encode([]rune(words)))}
	for name, value := range more {
		e[name] = value
	}
	return e
}

// What the sender marked reaches the model as Markdown: in texts, captions and quotes,
// whatever characters come before, and also where the bot's name is cut off.
func TestEntitiesAreMarkdown(t *testing.T) {
	link := map[string]any{"url": "https://example.org/post/42"}
	type part struct {
		words, kind string
		more        map[string]any
	}
	tests := map[string]struct {
		text  string
		parts []part
		want  string
	}{
		"hidden link":           {"Read this article and say", []part{{"this article", "text_link", link}}, "Read [this article](https://example.org/post/42) and say"},
		"after an emoji":        {"👨‍👩‍👧 see here", []part{{"here", "text_link", link}}, "👨‍👩‍👧 see [here](https://example.org/post/42)"},
		"after the bot's name":  {"@dragoman_bot, 𝒇 read it", []part{{"@dragoman_bot", "mention", nil}, {"it", "text_link", link}}, "𝒇 read [it](https://example.org/post/42)"},
		"around the name":       {"@dragoman_bot read it", []part{{"@dragoman_bot", "mention", nil}, {"@dragoman_bot read it", "text_link", link}}, "[read it](https://example.org/post/42)"},
		"address with brackets": {"x", []part{{"x", "text_link", map[string]any{"url": "https://e.org/a_(b)"}}}, "[x](<https://e.org/a_(b)>)"},
		"address as words":      {"https://example.org/post/42", []part{{"https://example.org/post/42", "text_link", link}}, "https://example.org/post/42"},
		"nested":                {"all bold and here", []part{{"all bold and here", "bold", nil}, {"and here", "italic", nil}, {"here", "text_link", link}}, "**all bold *and [here](https://example.org/post/42)***"},
		"spaces at the edges":   {"a b c", []part{{" b ", "bold", nil}}, "a **b** c"},
		"code":                  {"run `x` now", []part{{"`x`", "code", nil}}, "run `` `x` `` now"},
		"code has no markup":    {"a*b*c", []part{{"a*b*c", "code", nil}, {"b", "bold", nil}}, "`a*b*c`"},
		"code block":            {"see\nx := 1\nend", []part{{"x := 1", "pre", map[string]any{"language": "go"}}}, "see\n```go\nx := 1\n```\nend"},
		"block in a line":       {"see x := 1 end", []part{{"x := 1", "pre", nil}}, "see \n```\nx := 1\n```\n end"},
		"quotation":             {"one\ntwo\nthree", []part{{"one\ntwo", "blockquote", nil}}, "> one\n> two\nthree"},
		"code in a quotation":   {"one\ntwo", []part{{"one\ntwo", "expandable_blockquote", nil}, {"two", "pre", nil}}, "> one\n> ```\n> two\n> ```"},
		"overlapping":           {"a b c", []part{{"a b", "bold", nil}, {"b c", "italic", nil}}, "**a b** c"},
		"outer one first":       {"here we are", []part{{"here", "italic", nil}, {"here we are", "bold", nil}}, "***here* we are**"},
		"lines of a quotation":  {"one\n\ntwo\n\nthree", []part{{"one\n\ntwo", "blockquote", nil}, {"two", "bold", nil}}, "> one\n> \n> **two**\n\nthree"},
		"block with its break":  {"x := 1\nend", []part{{"x := 1\n", "pre", nil}}, "```\nx := 1\n```\nend"},
		"command with an end":   {"/new and bold", []part{{"/new", "bot_command", nil}, {"/new and bold", "bold", nil}}, "/new **and bold**"},
		"a command stays one":   {"/new", []part{{"/new", "bot_command", nil}, {"/new", "bold", nil}}, "/new"},
		"struck and hidden":     {"old new", []part{{"old", "strikethrough", nil}, {"new", "spoiler", nil}}, "~~old~~ ||new||"},
		"half of a character":   {"😀 x", []part{{"x", "bold", map[string]any{"offset": 1, "length": 2}}}, "😀 x"},
		"what people type":      {"2*3*4 [a](b)", nil, "2*3*4 [a](b)"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			n := newNetwork(t)
			in := n.run(t, n.open(t, telegram.Options{}))
			entities := []map[string]any{}
			for _, p := range test.parts {
				entities = append(entities, entity(test.text, p.words, p.kind, p.more))
			}
			group := n.Group(-5, "friends")
			said := group.Say(n.ann, "before")
			group.Post(botapi.Post{From: n.ann, Text: test.text, Extra: map[string]any{"entities": entities}})
			group.Post(botapi.Post{From: n.ann, Extra: map[string]any{"caption": test.text, "caption_entities": entities, "photo": photoOf("FILE-1")}})
			group.Post(botapi.Post{From: n.ann, Text: "x", ReplyTo: said, Extra: map[string]any{"quote": map[string]any{"text": test.text, "entities": entities}}})
			n.settled(t)
			got := in.Messages()[1:]
			if got[0].Text != test.want || got[1].Text != test.want {
				t.Errorf("text %q, caption %q, want %q", got[0].Text, got[1].Text, test.want)
			}
			if q := got[2].Quote; name != "around the name" && (q == nil || !strings.Contains(q.Text, test.want)) {
				t.Errorf("quote %+v, want %q", q, test.want)
			}
		})
	}
}

func photoOf(id string) []map[string]any {
	return []map[string]any{{"file_id": id, "file_unique_id": "u" + id, "width": 9, "height": 9, "file_size": 3}}
}
