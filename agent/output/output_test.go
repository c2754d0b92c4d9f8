package output_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dragoman/agent/output"
)

func known(name string) bool { return name == "time" || name == "web_fetch" }

// short writes an answer in short.
func short(a output.Answer) string {
	var b strings.Builder
	b.WriteString(a.Text)
	for _, c := range a.Calls {
		fmt.Fprintf(&b, "[%s %s]", c.Name, c.Arguments)
	}
	if a.Thought {
		b.WriteString(" (thought)")
	}
	if a.UnmarkedThoughts {
		b.WriteString(" (lone)")
	}
	return b.String()
}

var written = []struct{ name, in, want string }{
	{"plain", "Hello, *you*.", "Hello, *you*."},
	{"think", "<think>\nThe user is here.\n</think>\n\nHello!", "Hello! (thought)"},
	{"think, twice", "<think>a</think><think>b</think> Hi", "Hi (thought)"},
	{"think, in the middle", "Let me see.\n<think>\nHm.\n</think>\nIt is noon.", "Let me see.\n\nIt is noon. (thought)"},
	{"think, after a sentence", "Let me see.<think>Hm.</think>It is noon.", "Let me see.It is noon. (thought)"},
	{"think, never closed", "<think>\nI wonder", " (thought)"},
	{"thinking", "<thinking>hm</thinking>Hello", "Hello (thought)"},
	{"magistral", "[THINK]Okay, the user[/THINK]Hello!", "Hello! (thought)"},
	{"lone end", "Okay, the user wants a greeting. ...</think> Hello!", "Hello! (thought) (lone)"},
	{"lone end on its line", "Okay, the user\n\nwants `code`.\n</think>\n\nHello!", "Hello! (thought) (lone)"},
	{"lone end and nothing after it", "Okay.\n</think>\n", " (thought) (lone)"},
	{"harmony", "<|channel|>analysis<|message|>The user greets.<|end|><|start|>assistant<|channel|>final<|message|>Hello!<|return|>", "Hello! (thought)"},
	{"harmony, without ends", "<|channel|>analysis<|message|>The user greets.<|channel|>final<|message|>Hello!", "Hello! (thought)"},
	{"harmony, from its start", "<|start|>assistant<|channel|>final<|message|>Hello!", "Hello!"},
	{"harmony, cut in its thoughts", "<|channel|>analysis<|message|>The user", " (thought)"},
	{"harmony, cut in its header", "<|channel|>analy", ""},
	{"harmony, a call", `<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary to=functions.time <|constrain|>json<|message|>{"zone":"UTC"}<|call|>`, `[time {"zone":"UTC"}] (thought)`},
	{"harmony, words before a call", `<|channel|>commentary<|message|>Let me look.<|end|><|start|>assistant<|channel|>commentary to=functions.time<|message|>{}<|call|>`, `Let me look.[time {}]`},
	{"gemma 4", "<|channel>thought\nThe user greets.\n<channel|>Hello!", "Hello! (thought)"},
	{"gemma 4, empty thoughts", "<|channel>thought\n<channel|>Hello!<turn|>", "Hello! (thought)"},

	{"chatml end", "Hello!<|im_end|>\n<|im_start|>user\nAnd now?", "Hello!"},
	{"chatml end after bold", "**Hello**<|im_end|>", "**Hello**"},
	{"chatml end on its line", "Hello\n<|im_end|>\n", "Hello"},
	{"chatml start", "<|im_start|>assistant\nHello", "Hello"},
	{"chatml next turn", "Hello\n<|im_start|>user\nme", "Hello"},
	{"llama 3 end", "Hello!<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nme", "Hello!"},
	{"llama 2 end", "Hello!</s>", "Hello!"},
	{"gemma end", "Hello!<end_of_turn>\n<start_of_turn>user\nme", "Hello!"},
	{"gpt-2 end", "Hello!<|endoftext|>Human: me", "Hello!<|endoftext|>Human: me"},
	{"gpt-2 end, a line", "Hello!<|endoftext|>\nHuman: me", "Hello!"},
	{"deepseek end", "Hello!<｜end▁of▁sentence｜>", "Hello!"},
	{"end after code", "```\nx\n```<|im_end|>", "```\nx\n```"},
	{"control bytes", "a\x00b\x1b[31mc\x7f\td\r\ne\u009bf", "ab[31mc\td\nef"},
	{"not UTF-8", "a\xffb", "a\uFFFDb"},
	{"zero width", "\u200b\u00a0\u2060\n\ufeff", ""},
	{"blank letters", "\u3164\u2800", ""},

	{"hermes call", `<tool_call>{"name": "time", "arguments": {"zone": "UTC"}}</tool_call>`, `[time {"zone": "UTC"}]`},
	{"hermes call, lines", "I look.\n<tool_call>\n{\"name\": \"time\", \"arguments\": {}}\n</tool_call>\n", `I look.[time {}]`},
	{"hermes calls", `<tool_call>{"name":"time","arguments":{}}</tool_call>` + "\n" + `<tool_call>{"name":"web_fetch","arguments":{"url":"x"}}</tool_call><|im_end|>`, `[time {}][web_fetch {"url":"x"}]`},
	{"hermes call, not closed", `<tool_call>{"name":"time","arguments":{}}`, `[time {}]`},
	{"hermes call after thoughts", `<think>hm</think><tool_call>{"name":"time","arguments":{}}</tool_call>`, `[time {}] (thought)`},
	{"hermes call of nothing", `<tool_call>{"name":"fly","arguments":{}}</tool_call>`, `<tool_call>{"name":"fly","arguments":{}}</tool_call>`},
	{"block", "```json\n{\"name\": \"time\", \"arguments\": {\"zone\": \"UTC\"}}\n```", `[time {"zone": "UTC"}]`},
	{"block with words after it", "```json\n{\"name\": \"time\", \"arguments\": {}}\n```\nis a call.", "```json\n{\"name\": \"time\", \"arguments\": {}}\n```\nis a call."},
	{"block with words before it", "So:\n```json\n{\"name\": \"time\", \"arguments\": {}}\n```", "So:\n```json\n{\"name\": \"time\", \"arguments\": {}}\n```"},
	{"block in another language", "```go\n{}\n```", "```go\n{}\n```"},
	{"object", `{"name": "time", "parameters": {}}<|eot_id|>`, `[time {}]`},
	{"object with a function", `{"type":"function","function":{"name":"time","arguments":"{\"zone\":\"UTC\"}"}}`, `[time {"zone":"UTC"}]`},
	{"object without arguments", `{"name": "time"}`, `{"name": "time"}`},
	{"object of another kind", `{"name": "Ada", "arguments": {}}`, `{"name": "Ada", "arguments": {}}`},
	{"object with words after it", `{"name": "time", "arguments": {}} calls it`, `{"name": "time", "arguments": {}} calls it`},
	{"python tag", `<|python_tag|>{"name": "time", "parameters": {"zone": "UTC"}}<|eom_id|>`, `[time {"zone": "UTC"}]`},
	{"python tag, two", `<|python_tag|>{"name":"time","parameters":{}}; {"name":"time","parameters":{"zone":"UTC"}}`, `[time {}][time {"zone":"UTC"}]`},
	{"mistral", `[TOOL_CALLS][{"name": "time", "arguments": {}}, {"name": "web_fetch", "arguments": {"url":"x"}}]</s>`, `[time {}][web_fetch {"url":"x"}]`},
	{"mistral, newer", `[TOOL_CALLS]time[ARGS]{"zone":"UTC"}`, `[time {"zone":"UTC"}]`},
	{"function", `<function=time>{"zone": "UTC"}</function>`, `[time {"zone": "UTC"}]`},
	{"function in a call", "<tool_call>\n<function=time>{}</function>\n</tool_call>", `[time {}]`},
	{"function of nothing", `<function=fly>{}</function>`, `<function=fly>{}</function>`},
}

// mentions are texts that only mention marks.
var mentions = []string{
	"Models write <think> and </think> around their thoughts.",
	"Use <think>…</think> for that.",
	"The tag \"</think>\" ends it.",
	"It ends (</think>) there.",
	"In Qwen the `</think>` comes alone.\nSo strip up to `</think>`.",
	"```\n<think>\nhm\n</think>\nHello<|im_end|>\n```\nThat is it.",
	"~~~xml\n</think>\n~~~",
	"A turn ends with <|im_end|> in ChatML.",
	"The token is <|eot_id|>",
	"Write `<|im_end|>` there.",
	"- <|im_end|> ends\n- <|im_start|> begins",
	"<s>old</s>\nnew",
	"[/INST] ends an instruction.",
	"The channels are `<|channel|>analysis` and <|channel|> final.",
	"Write `<tool_call>{\"name\":\"time\",\"arguments\":{}}</tool_call>`.",
	"A `tick, an unclosed one, and x < y, a[0] ~ b.",
	"[THIN] or <thin, or <|im",
	"``a ` b`` and ``` in a line",
	"| `<think>` | opens |\n| `</think>` | closes |",
	"1 < 2 {\"name\": 1}",
}

func TestRead(t *testing.T) {
	for _, test := range written {
		if got := short(output.Read(test.in, known)); got != test.want {
			t.Errorf("%s: Read(%q)\n got %q\nwant %q", test.name, test.in, got, test.want)
		}
	}
	for _, text := range mentions {
		if got := short(output.Read(text, known)); got != text {
			t.Errorf("Read(%q) = %q, want it as it is", text, got)
		}
	}
}

// TestReadWithoutTools: without tools no text is a call.
func TestReadWithoutTools(t *testing.T) {
	const text = `<tool_call>{"name":"time","arguments":{}}</tool_call>`
	if got := output.Read(text, nil); got.Text != text || got.Calls != nil {
		t.Errorf("Read = %+v, want the text", got)
	}
}

// stream reads text in pieces, and checks what is shown on the way: it grows until it
// is the answer, and contains nothing that must not be shown.
func stream(t failer, pieces []string, thinks bool) output.Answer {
	t.Helper()
	r := output.Reader{Tool: known, ExpectThoughts: thinks}
	before, shrunk := "", 0
	for _, p := range pieces {
		now := r.Add(p)
		if !strings.HasPrefix(now, before) {
			shrunk++
		}
		before = now
	}
	a := r.End()
	if shrunk > 0 && !a.UnmarkedThoughts {
		t.Errorf("Add(%q) took text back, and no thoughts", pieces)
	}
	if end := strings.TrimSpace(strings.ToValidUTF8(before, "\uFFFD")); !strings.HasPrefix(a.Text, end) && !output.Blank(end) && !a.UnmarkedThoughts {
		t.Errorf("Add(%q) showed %q, and the answer is %q", pieces, end, a.Text)
	}
	return a
}

type failer interface {
	Helper()
	Errorf(format string, args ...any)
}

// TestStream: an answer has the same content however it is cut into pieces.
func TestStream(t *testing.T) {
	all := append([]string(nil), mentions...)
	for _, test := range written {
		all = append(all, test.in)
	}
	for _, text := range all {
		want := short(output.Read(text, known))
		if got := short(stream(t, strings.Split(text, ""), false)); got != want {
			t.Errorf("byte by byte, %q is\n%q, want\n%q", text, got, want)
		}
		for i := range len(text) {
			if got := short(stream(t, []string{text[:i], text[i:]}, false)); got != want {
				t.Errorf("cut at %d, %q is\n%q, want\n%q", i, text, got, want)
			}
		}
	}
	pieces := rapid.SliceOfN(rapid.OneOf(rapid.SampledFrom(fragments()), rapid.StringN(0, 6, 20)), 0, 12)
	rapid.Check(t, func(t *rapid.T) {
		drawn := pieces.Draw(t, "pieces")
		want := short(output.Read(strings.Join(drawn, ""), known))
		if got := short(stream(t, drawn, false)); got != want {
			t.Errorf("in pieces %q is\n%q, want\n%q", drawn, got, want)
		}
	})
}

// fragments returns marks with text around them.
func fragments() (list []string) {
	list = []string{" ", "\n", ".", "Hello", "`", "```", "```json\n", "{", "\"", "(", "<", "[", "<|message|>", "analysis", "final", "assistant", "<|end_header_id|>", `{"name":"time","arguments":{}}`}
	for _, m := range output.Marks() {
		list = append(list, m, m[:len(m)/2], m[len(m)/2:])
	}
	return list
}

// TestExpectThoughts: if the model's last answer began with unmarked thoughts, nothing of the
// next is shown until its thoughts end.
func TestExpectThoughts(t *testing.T) {
	r := output.Reader{ExpectThoughts: true}
	if got := r.Add("Okay, the user") + r.Add(" is back.</th"); got != "" {
		t.Errorf("the thoughts are shown: %q", got)
	}
	if got := r.Add("ink>\n\nHello"); got != "Hello" {
		t.Errorf("Add = %q, want Hello", got)
	}
	if a := r.End(); a.Text != "Hello" || !a.Thought || !a.UnmarkedThoughts {
		t.Errorf("End = %+v", a)
	}
	r = output.Reader{ExpectThoughts: true}
	r.Add("Hello, no thoughts")
	if a := r.End(); a.Text != "Hello, no thoughts" || a.Thought || a.UnmarkedThoughts {
		t.Errorf("without thoughts: %+v", a)
	}
}

// TestCallsAreNotShown: the beginning of a call is not shown while it streams.
func TestCallsAreNotShown(t *testing.T) {
	for _, test := range written {
		a := output.Read(test.in, known)
		if len(a.Calls) == 0 {
			continue
		}
		r := output.Reader{Tool: known}
		for _, b := range strings.Split(test.in, "") {
			if shown := r.Add(b); !strings.HasPrefix(a.Text+"\n", strings.TrimRight(shown, " \n")) {
				t.Errorf("%s: %q is shown", test.name, shown)
				break
			}
		}
	}
}

func TestBlank(t *testing.T) {
	for text, want := range map[string]bool{
		"": true, " \u00a0\u3000": true, "\u200b\u200d\ufeff\u2060": true, "\u00ad": true, "\u0301": true, "\u2800\u3164": true,
		"a": false, "🎉": false, "-": false, "\u200bx": false, "é": false, "ا": false,
	} {
		if got := output.Blank(text); got != want {
			t.Errorf("Blank(%q) = %v, want %v", text, got, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, test := range written {
		f.Add(test.in, 3)
	}
	for _, text := range mentions {
		f.Add(text, 1)
	}
	f.Fuzz(func(t *testing.T, text string, size int) {
		size = min(max(size, 1), 64)
		var pieces []string
		for rest := text; rest != ""; {
			n := min(size, len(rest))
			pieces, rest = append(pieces, rest[:n]), rest[n:]
		}
		want := short(output.Read(text, known))
		if got := short(stream(t, pieces, false)); got != want {
			t.Errorf("in pieces of %d, %q is\n%q, want\n%q", size, text, got, want)
		}
	})
}

func BenchmarkAdd(b *testing.B) {
	text := strings.SplitAfter(strings.Repeat("It is a fine day, and `code` is here. ", 500), " ")
	b.ReportAllocs()
	for b.Loop() {
		var r output.Reader
		for _, p := range text {
			r.Add(p)
		}
		r.End()
	}
}

// TestLongAnswers: endlessly repeated marks cost little time.
func TestLongAnswers(t *testing.T) {
	for _, piece := range append(fragments(), "`a` ``b", "<tool_call>{\"name\":", "<think> a", "</s><s>", " `x") {
		text := strings.Repeat(piece, 200_000/len(piece))
		began := time.Now()
		output.Read(text, known)
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("200 kB of %q take %v", piece, took)
		}
	}
}
