package openai_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dragoman/agent"
	"dragoman/agent/agenttest"
	"dragoman/agent/openai"
	"dragoman/sessions"
)

// events returns chunks as an event stream.
func events(chunks ...string) string {
	var b strings.Builder
	for _, c := range chunks {
		fmt.Fprintf(&b, "data: %s\n\n", c)
	}
	return b.String() + "data: [DONE]\n\n"
}

// choice is a chunk with one choice of these fields.
func choice(fields string) string { return `{"choices":[{"index":0,` + fields + `}]}` }

// TestWholeMessages: what has come so far may come again, in every chunk or at the
// end. It adds nothing, in the text, the thoughts and the calls.
func TestWholeMessages(t *testing.T) {
	const call = `"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"time","arguments":"{\"zone\":\"UTC\"}"}}]`
	delta := func(text string) string { return choice(`"delta":{"content":` + text + `}`) }
	for name, test := range map[string]struct {
		chunks []string
		text   string
		calls  int
	}{
		"at the end": {
			[]string{delta(`"Paris"`), delta(`" it is."`), `{"object":"chat.completion.done","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"Paris it is."},"delta":{"content":""}}]}`},
			"Paris it is.", 0,
		},
		"at the end, alone": {
			[]string{delta(`"Paris"`), delta(`" it is."`), choice(`"message":{"content":"Paris it is."},"finish_reason":"stop"`)},
			"Paris it is.", 0,
		},
		"at the end, trimmed": {
			[]string{delta(`"Paris"`), delta(`" it is.\n"`), choice(`"message":{"content":"Paris it is."},"finish_reason":"stop"`)},
			"Paris it is.\n", 0,
		},
		"at the end, in other words": {
			[]string{delta(`"**Paris**"`), delta(`" it is."`), choice(`"message":{"content":"Paris it is."},"finish_reason":"stop"`)},
			"**Paris** it is.", 0,
		},
		"at the end, with more": {
			[]string{delta(`"Paris"`), choice(`"message":{"content":"Paris it is."},"finish_reason":"stop"`)},
			"Paris it is.", 0,
		},
		"in each chunk, beside pieces": {
			[]string{
				choice(`"delta":{"content":"Paris"},"message":{"content":"Paris"}`), choice(`"delta":{"content":" it"},"message":{"content":"Paris it"}`),
				choice(`"delta":{"content":" is."},"message":{"content":"Paris it is."},"finish_reason":"stop"`),
			},
			"Paris it is.", 0,
		},
		"in each chunk, alone": {
			[]string{choice(`"message":{"content":"Paris"}`), choice(`"message":{"content":"Paris it"}`), choice(`"message":{"content":"Paris it is."},"finish_reason":"stop"`)},
			"Paris it is.", 0,
		},
		"in each chunk, and the last twice": {
			[]string{choice(`"message":{"content":"Paris"}`), choice(`"message":{"content":"Paris it is."}`), choice(`"message":{"content":"Paris it is."},"finish_reason":"stop"`)},
			"Paris it is.", 0,
		},
		"pieces called messages": {
			[]string{choice(`"message":{"content":"Paris"}`), choice(`"message":{"content":" it is."},"finish_reason":"stop"`)},
			"Paris it is.", 0,
		},
		"growing pieces": {
			[]string{delta(`"P"`), delta(`"Paris"`), delta(`"Paris it"`), delta(`"Paris it is."`), choice(`"delta":{"content":"Paris it is."},"finish_reason":"stop"`)},
			"Paris it is.", 0,
		},
		"two growing pieces": {
			[]string{delta(`"Paris it"`), delta(`"Paris it is."`), choice(`"delta":{},"finish_reason":"stop"`)},
			"Paris it is.", 0,
		},
		"two growing pieces that nobody can tell": {
			[]string{delta(`"Paris"`), delta(`"Paris it is."`), choice(`"delta":{},"finish_reason":"stop"`)},
			"ParisParis it is.", 0,
		},
		"three numbers that look so": {
			[]string{delta(`"1"`), delta(`"10"`), delta(`"100"`), choice(`"delta":{},"finish_reason":"stop"`)},
			"110100", 0,
		},
		"a laugh": {
			[]string{delta(`"ha"`), delta(`"haha"`), delta(`"hahaha"`), delta(`"hahahaha, "`), delta(`"no"`), choice(`"delta":{},"finish_reason":"stop"`)},
			"hahahahahahahahahaha, no", 0,
		},
		"a rule": {
			[]string{delta(`"="`), delta(`"=="`), delta(`"===="`), delta(`"========"`), delta(`"================"`), choice(`"delta":{},"finish_reason":"stop"`)},
			strings.Repeat("=", 31), 0,
		},
		"bits": {
			[]string{delta(`"1"`), delta(`"0"`), delta(`"10"`), choice(`"delta":{},"finish_reason":"stop"`)},
			"1010", 0,
		},
		"the same line twice": {
			[]string{delta(`"Row your boat, please.\n"`), delta(`"Row your boat, please.\n"`), choice(`"delta":{},"finish_reason":"stop"`)},
			"Row your boat, please.\nRow your boat, please.\n", 0,
		},
		"a sentence that begins a second time": {
			[]string{delta(`"Paris, "`), delta(`"as ever."`), delta(`"Paris, as ever."`), delta(`" No."`), choice(`"delta":{},"finish_reason":"stop"`)},
			"Paris, as ever.Paris, as ever. No.", 0,
		},
		"once more as a short piece": {
			[]string{delta(`"Paris"`), delta(`" it is."`), choice(`"delta":{"content":"Paris it is."},"finish_reason":"stop"`)},
			"Paris it is.", 0,
		},
		"pieces that only look so": {
			[]string{delta(`"1"`), delta(`"10"`), delta(`" is one hundred and ten."`), choice(`"delta":{},"finish_reason":"stop"`)},
			"110 is one hundred and ten.", 0,
		},
		"two short pieces that look so": {
			[]string{delta(`"1"`), delta(`"10"`), choice(`"delta":{},"finish_reason":"stop"`)},
			"110", 0,
		},
		"once more as a piece": {
			[]string{delta(`"Paris, "`), delta(`"as far as I know."`), choice(`"delta":{"content":"Paris, as far as I know."},"finish_reason":"stop"`)},
			"Paris, as far as I know.", 0,
		},
		"one piece twice": {
			[]string{delta(`"Paris, as far as I know."`), choice(`"delta":{"content":"Paris, as far as I know."},"finish_reason":"stop"`)},
			"Paris, as far as I know.", 0,
		},
		"a word twice": {
			[]string{delta(`"ha"`), delta(`"ha"`), delta(`"ha"`), choice(`"delta":{},"finish_reason":"stop"`)},
			"hahaha", 0,
		},
		"calls at the end": {
			[]string{choice(`"delta":{"content":"I look. ",` + call + `}`), choice(`"message":{"content":"I look. ",` + call + `},"finish_reason":"tool_calls"`)},
			"I look. ", 1,
		},
		"calls in each chunk": {
			[]string{choice(`"message":{` + strings.Replace(call, `\"UTC\"}`, ``, 1) + `}`), choice(`"message":{` + call + `}`), choice(`"message":{` + call + `},"finish_reason":"tool_calls"`)},
			"", 1,
		},
		"calls in a message alone": {
			[]string{delta(`"I look. "`), choice(`"delta":{},"message":{"content":"I look. ",` + call + `},"finish_reason":"tool_calls"`)},
			"I look. ", 1,
		},
		"thoughts at the end": {
			[]string{choice(`"delta":{"reasoning_content":"hm"}`), delta(`"Paris"`), choice(`"message":{"content":"Paris","reasoning_content":"hm"},"finish_reason":"stop"`)},
			"Paris", 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := agenttest.Serve(t, agenttest.Options{})
			s.Next(agenttest.RawReply(events(test.chunks...)))
			resp, shown, thoughts, err := complete(t, model(t, s.URL()), ask("hi"))
			if err != nil {
				t.Fatal(err)
			}
			if resp.Message.Content != test.text || shown != test.text {
				t.Errorf("the answer is %q, and %q was shown; want %q", resp.Message.Content, shown, test.text)
			}
			if calls := resp.Message.ToolCalls; len(calls) != test.calls || test.calls > 0 && calls[0].Arguments != `{"zone":"UTC"}` {
				t.Errorf("the calls are %+v, want %d", calls, test.calls)
			}
			if thoughts != "" && thoughts != "hm" {
				t.Errorf("the thoughts are %q", thoughts)
			}
		})
	}
}

// dialect writes one answer as some server does.
type dialect struct {
	t     *testing.T
	dice  []byte // decides what the server does
	index int
}

// roll returns a number below n.
func (d *dialect) roll(n int) int {
	if len(d.dice) == 0 {
		return 0
	}
	b := d.dice[d.index%len(d.dice)]
	d.index++
	return int(b) % n
}

// cut cuts text into pieces, none of them empty.
func (d *dialect) cut(text string) (pieces []string) {
	runes := []rune(text)
	for len(runes) > 0 {
		n := min(1+d.roll(9), len(runes))
		pieces = append(pieces, string(runes[:n]))
		runes = runes[n:]
	}
	return pieces
}

func (d *dialect) json(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		d.t.Fatal(err)
	}
	return string(b)
}

// What a server does with texts and calls.
const (
	asPieces = iota
	asPiecesThenWhole
	asWholeOnly
	asWholeEachTime
	asGrowing
	asPiecesAndAgain
	dialects
)

// text writes the field of a text.
func (d *dialect) text(field, text string) (chunks []string) {
	way := d.roll(dialects)
	pieces := d.cut(text)
	switch {
	case way == asGrowing && unmistakable(clip(text, 12)):
		pieces = append([]string{clip(text, 12)}, d.cut(text[len(clip(text, 12)):])...)
	case way == asGrowing, way == asPiecesAndAgain && !unmistakable(text):
		way = asPieces
	}
	soFar := ""
	for _, piece := range pieces {
		soFar += piece
		switch way {
		case asPieces, asPiecesThenWhole, asPiecesAndAgain:
			chunks = append(chunks, choice(fmt.Sprintf(`"delta":{%q:%s}`, field, d.json(piece))))
		case asWholeEachTime:
			chunks = append(chunks, choice(fmt.Sprintf(`"message":{%q:%s}`, field, d.json(soFar))))
		case asGrowing:
			chunks = append(chunks, choice(fmt.Sprintf(`"delta":{%q:%s}`, field, d.json(soFar))))
		}
	}
	switch {
	case way == asGrowing && len(chunks) > 1:
		chunks = append(chunks, chunks[len(chunks)-1])
	case way == asPiecesAndAgain:
		chunks = append(chunks, choice(fmt.Sprintf(`"delta":{%q:%s}`, field, d.json(text))))
	case text == "" || way == asPieces || way == asGrowing:
	default:
		chunks = append(chunks, choice(fmt.Sprintf(`"message":{%q:%s}`, field, d.json(text))))
	}
	return chunks
}

// unmistakable reports whether text twice in a row is a repeat of the server's: it has
// words, and would need a space between.
func unmistakable(text string) bool {
	return plainWords.MatchString(text) && !repeatsBeginning(text)
}

var plainWords = regexp.MustCompile(`^[a-zA-Z]+ [a-zA-Z ]{6,}[a-z.]$`)

func clip(text string, most int) string { return string([]rune(text)[:min(most, len([]rune(text)))]) }

// call writes one call.
func (d *dialect) call(at int, c sessions.ToolCall) (chunks []string) {
	piece := func(index int, args string, name bool) string {
		fields := map[string]any{"index": index, "id": c.ID, "function": map[string]string{"arguments": args}}
		if name {
			fields["function"] = map[string]string{"name": c.Name, "arguments": args}
		}
		return choice(fmt.Sprintf(`"delta":{"tool_calls":[%s]}`, d.json(fields)))
	}
	again := d.roll(2) == 1
	switch d.roll(5) {
	case 0: // in pieces
		for i, args := range d.cut(c.Arguments) {
			chunks = append(chunks, piece(at, args, i == 0 || again))
		}
	case 1: // growing
		soFar := ""
		for i, args := range d.cut(c.Arguments) {
			soFar += args
			chunks = append(chunks, piece(at, soFar, i == 0 || again))
		}
	case 2: // an empty object first
		chunks = append(chunks, piece(at, "{}", true), piece(at, c.Arguments, again))
	case 3: // the whole call again
		chunks = append(chunks, piece(at, c.Arguments, true), piece(at, c.Arguments, true))
	case 4: // at several indexes
		for i := range 1 + d.roll(3) {
			for _, args := range d.cut(c.Arguments) {
				chunks = append(chunks, piece(at+100*i, args, true))
			}
		}
	}
	return chunks
}

// message writes the calls once more, or only once, in a whole message.
func (d *dialect) message(calls []sessions.ToolCall) string {
	list := []any{}
	for i, c := range calls {
		list = append(list, map[string]any{"index": i, "id": c.ID, "function": map[string]string{"name": c.Name, "arguments": c.Arguments}})
	}
	return choice(`"message":{"tool_calls":` + d.json(list) + `}`)
}

// FuzzDialects: whatever a server repeats, says as a whole, or sends at several
// indexes, the answer is the same.
func FuzzDialects(f *testing.F) {
	f.Add("Paris it is.", "Let me see.", "UTC", "Europe/Rome", []byte{0})
	f.Add("Here you are: 110.", "", "a\\\"b{}", "", []byte{1, 2, 3, 4, 5, 6, 7, 8, 9})
	f.Add("", "hm", "", "x", []byte{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9})
	f.Add("As far as I know it is Paris.", "Well then let me see.", "UTC", "", []byte{5, 1, 4, 3, 4, 2, 5, 8, 4, 4})
	f.Add("äöü 🙂 {}", "{}", "{}", "{\"zone\":1}", []byte{4, 4, 4, 2, 4, 1, 0})
	f.Fuzz(func(t *testing.T, text, thoughts, first, second string, dice []byte) {
		clean := func(s string) string { return strings.ReplaceAll(strings.ToValidUTF8(s, ""), "\x00", "") }
		text, thoughts = clean(text), clean(thoughts)
		d := &dialect{t: t, dice: dice}
		var calls []sessions.ToolCall
		for i, zone := range []string{first, second} {
			if zone != "" {
				calls = append(calls, sessions.ToolCall{ID: fmt.Sprint("call_", i), Name: []string{"time", "read_file"}[i], Arguments: d.json(map[string]string{"zone": clean(zone)})})
			}
		}
		// A first piece that the text repeats at once is a growing one; no server can
		// be told from another by it.
		if repeatsBeginning(text) || repeatsBeginning(thoughts) {
			t.Skip()
		}
		chunks := append(d.text("reasoning_content", thoughts), d.text("content", text)...)
		whole := d.roll(3)
		if whole != 2 {
			for i, c := range calls {
				chunks = append(chunks, d.call(i, c)...)
			}
		}
		if whole > 0 && len(calls) > 0 {
			chunks = append(chunks, d.message(calls))
		}
		chunks = append(chunks, choice(`"delta":{},"finish_reason":"stop"`))
		var frames [][]byte
		for _, c := range chunks {
			frames = append(frames, []byte(c))
		}
		resp, shown, err := openai.Read(frames...)
		if err != nil {
			t.Fatalf("%v: %s", err, strings.Join(chunks, "\n"))
		}
		want := sessions.Message{Role: sessions.RoleAssistant, Content: text, ToolCalls: calls}
		got := sessions.Message{Role: resp.Message.Role, Content: resp.Message.Content, ToolCalls: resp.Message.ToolCalls}
		if diff := cmp.Diff(want, got); diff != "" || shown != (agent.Delta{Text: text, Reasoning: thoughts}) {
			t.Errorf("read (-want +got):\n%s\nshown %+v, want %q and %q, of\n%s", diff, shown, text, thoughts, strings.Join(chunks, "\n"))
		}
	})
}

// repeatsBeginning reports whether text begins with something twice.
func repeatsBeginning(text string) bool {
	for n := 1; n <= len(text)/2; n++ {
		if text[:n] == text[n:2*n] {
			return true
		}
	}
	return false
}
