package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/sashabaranov/go-openai"

	"dragoman/agent"
	"dragoman/sessions"
)

var (
	// errNoChoices is a stream that ended well and said nothing.
	errNoChoices = errors.New("the answer has no choices")
	errNameless  = errors.New("the answer calls a tool without naming it")
)

// chunk is what we read of one frame. go-openai's own type knows neither
// content in parts nor "reasoning", and takes twice as long to fill.
type chunk struct {
	Choices []struct {
		Index        int             `json:"index"`
		Delta        delta           `json:"delta"`
		Message      *delta          `json:"message"` // of a server that does not stream
		FinishReason json.RawMessage `json:"finish_reason"`
	} `json:"choices"`
	Usage *struct {
		openai.Usage
		// CacheHits is DeepSeek's name for the cached part.
		CacheHits int `json:"prompt_cache_hit_tokens"`
	} `json:"usage"`
}

type delta struct {
	Content          text       `json:"content"`
	Refusal          text       `json:"refusal"`
	ReasoningContent text       `json:"reasoning_content"`
	Reasoning        text       `json:"reasoning"`
	ToolCalls        []toolCall `json:"tool_calls"`
}

type toolCall struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name string `json:"name"`
		// Arguments is a string, except on servers that send the object.
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
}

// text is a string, or a list of parts of which those of type text count.
type text string

// UnmarshalJSON accepts any value; what is no text is empty.
func (t *text) UnmarshalJSON(b []byte) error {
	switch b[0] {
	case '"':
		// A decoder of its own for each word would be most of the work.
		if plain := b[1 : len(b)-1]; !bytes.ContainsRune(plain, '\\') && utf8.Valid(plain) {
			*t = text(plain)
			return nil
		}
		return json.Unmarshal(b, (*string)(t))
	case '[':
		var parts []struct {
			Type string `json:"type"`
			Text string `json:"text"`
		}
		if err := json.Unmarshal(b, &parts); err != nil {
			return err
		}
		for _, p := range parts {
			if p.Type == "" || strings.HasSuffix(p.Type, "text") {
				*t += text(p.Text)
			}
		}
	}
	return nil
}

// answer gathers a stream into a response.
type answer struct {
	onDelta func(agent.Delta)
	content strings.Builder
	calls   calls
	finish  string
	usage   *sessions.Usage
	begun   bool // a choice was seen
	refused bool // some of the content is a refusal
}

// add takes one frame.
func (a *answer) add(frame []byte) error {
	f, ok := readPlain(frame)
	if !ok {
		return a.addAny(frame)
	}
	a.begun = true
	a.take(&delta{Content: text(f.content)})
	if len(f.finish) > 0 {
		a.finish = string(f.finish)
	}
	return nil
}

// addAny takes one frame of any form.
func (a *answer) addAny(frame []byte) error {
	var c chunk
	if err := json.Unmarshal(frame, &c); err != nil {
		return fmt.Errorf("the stream has a chunk that cannot be read: %w", cause(err))
	}
	if u := c.Usage; u != nil && u.TotalTokens+u.PromptTokens+u.CompletionTokens > 0 {
		a.usage = &sessions.Usage{Input: u.PromptTokens, Output: u.CompletionTokens, Cached: u.CacheHits}
		if d := u.PromptTokensDetails; d != nil && d.CachedTokens > 0 {
			a.usage.Cached = d.CachedTokens
		}
	}
	for i := range c.Choices {
		choice := &c.Choices[i]
		if choice.Index != 0 {
			continue
		}
		a.begun = true
		d := &choice.Delta
		if choice.Message != nil {
			d = choice.Message
		}
		a.take(d)
		if reason := loose(choice.FinishReason); reason != "" {
			a.finish = reason
		}
	}
	return nil
}

// cause keeps a decoder's error from showing what was decoded.
func cause(err error) error {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return fmt.Errorf("%s is a %s", wrong.Field, strings.Fields(wrong.Value + " value")[0])
	}
	return errors.New("it is no valid JSON")
}

func (a *answer) take(d *delta) {
	reasoning := d.ReasoningContent
	if reasoning == "" {
		reasoning = d.Reasoning
	}
	a.refused = a.refused || strings.TrimSpace(string(d.Refusal)) != ""
	if said, thought := clean(d.Content+d.Refusal), clean(reasoning); said != "" || thought != "" {
		a.content.WriteString(said)
		a.onDelta(agent.Delta{Text: said, Reasoning: thought})
	}
	for i := range d.ToolCalls {
		a.calls.add(&d.ToolCalls[i], i, len(d.ToolCalls))
	}
}

// clean drops NUL, which no chat network and not every store can carry.
func clean(t text) string {
	return strings.ReplaceAll(string(t), "\x00", "")
}

// check says what is wrong with an answer whose stream ended well.
func (a *answer) check() error {
	switch {
	case !a.begun:
		return errNoChoices
	case a.finish == "error":
		return errors.New("the server reports that it failed in the middle of the answer")
	case a.calls.nameless():
		return errNameless
	}
	return nil
}

func (a *answer) response(model string) agent.Response {
	out := agent.Response{
		Message: sessions.Message{
			Role:      sessions.RoleAssistant,
			Content:   a.content.String(),
			ToolCalls: a.calls.all(),
			Model:     model,
			Usage:     a.usage,
		},
		Usage:   a.usage,
		Finish:  a.finish,
		Refused: a.refused,
	}
	switch {
	case len(out.Message.ToolCalls) > 0 && a.finish != "length":
		out.Finish = "tool_calls" // some servers say "stop"
	case a.finish == "":
		out.Finish = "stop" // the server said [DONE] alone
	}
	return out
}

// argumentText is the text of a piece of arguments.
func argumentText(raw json.RawMessage) string {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return ""
	}
	var s string
	if raw[0] == '"' && json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}
