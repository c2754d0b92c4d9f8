package openai

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"dragoman/agent/wire"
)

// chunk holds the fields that we read of one frame. go-openai's type does not
// know content in parts or "reasoning", and takes twice as long to decode. A
// frame is unreadable only if content, tool calls or the finish reason are.
// Other fields of a wrong type are ignored.
type chunk struct {
	Choices []struct {
		Index        wire.Number     `json:"index"`
		Delta        delta           `json:"delta"`
		Message      *delta          `json:"message"` // from a server that does not stream
		FinishReason json.RawMessage `json:"finish_reason"`
	} `json:"choices"`
	Usage  json.RawMessage `json:"usage"`
	Object wire.Loose      `json:"object"`
	Model  json.RawMessage `json:"model"`
}

// delta is what a chunk adds to the answer.
type delta struct {
	Content          text         `json:"content"`
	Refusal          optionalText `json:"refusal"`
	ReasoningContent optionalText `json:"reasoning_content"`
	Reasoning        optionalText `json:"reasoning"`
	ToolCalls        []toolCall   `json:"tool_calls"`
	// The provider wants these back: see attached.
	Details json.RawMessage `json:"reasoning_details"`
	Extra   json.RawMessage `json:"extra_content"`
}

// toolCall is a piece of a tool call. It accepts numbers in quotes and ids that
// are numbers, which some servers send.
type toolCall struct {
	Index    wire.Number `json:"index"`
	ID       wire.Loose  `json:"id"`
	Function struct {
		Name string `json:"name"`
		// Arguments is a string; some servers send the object itself.
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
	Extra json.RawMessage `json:"extra_content"`
}

// text is a string, or a list of parts, of which only texts count.
type text string

// UnmarshalJSON accepts any value except a malformed list. A value without text
// is empty.
func (t *text) UnmarshalJSON(b []byte) error {
	switch b[0] {
	case '"':
		// This path saves a decoder for each word, which would be most of the work.
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

// optionalText is a text that an answer can do without. Values of another type
// are empty.
type optionalText string

func (l *optionalText) UnmarshalJSON(b []byte) error {
	var t text
	if t.UnmarshalJSON(b) == nil {
		*l = optionalText(wire.Clean(string(t)))
	}
	return nil
}

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

// fastPath reads the text of a chunk without decoding it. An answer has dozens
// of chunks, and nearly all differ only in a word or two. Decoding them took a
// fifteenth of the time of a turn.
type fastPath struct {
	before, after []byte // what surrounds the text in each chunk
}

// learn remembers what surrounds the text of frame, which decoded to c, if the
// chunk has nothing but text. The text must be in the frame without escapes,
// and there may be only one key "content".
func (u *fastPath) learn(frame []byte, c *chunk) {
	if len(c.Choices) != 1 || present(c.Usage) {
		return
	}
	choice := &c.Choices[0]
	if choice.Index.Value != 0 || choice.Message != nil || present(choice.FinishReason) {
		return
	}
	d := &choice.Delta
	if d.Content == "" || d.ReasoningContent+d.Reasoning+d.Refusal != "" || len(d.ToolCalls) > 0 || present(d.Details) || present(d.Extra) {
		return
	}
	if bytes.IndexByte(frame, '\\') >= 0 || bytes.Count(bytes.ToLower(frame), []byte(`"content"`)) != 1 {
		return
	}
	_, rest, found := bytes.Cut(frame, []byte(`"content":`))
	rest, same := bytes.CutPrefix(bytes.TrimLeft(rest, " "), []byte(`"`+string(d.Content)))
	if found && same && rest[0] == '"' {
		u.before, u.after = bytes.Clone(frame[:len(frame)-len(rest)-len(d.Content)]), bytes.Clone(rest)
	}
}

// text returns the text of frame if all around it is as learned.
func (u *fastPath) text(frame []byte) (content []byte, ok bool) {
	if u.after == nil || !bytes.HasPrefix(frame, u.before) || !bytes.HasSuffix(frame[len(u.before):], u.after) {
		return nil, false
	}
	content = frame[len(u.before) : len(frame)-len(u.after)]
	return content, utf8.Valid(content) && !bytes.ContainsFunc(content, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' })
}
