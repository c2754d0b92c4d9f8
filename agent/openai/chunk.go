package openai

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"dragoman/agent/wire"
)

// chunk is what we read of one frame. go-openai's own type knows neither
// content in parts nor "reasoning", and takes twice as long to fill. Nothing in
// it can make a frame unreadable but what the answer consists of: content, tool
// calls and the reason that it ended. Of the rest, what is odd is not said.
type chunk struct {
	Choices []struct {
		Index        wire.Number     `json:"index"`
		Delta        delta           `json:"delta"`
		Message      *delta          `json:"message"` // of a server that does not stream
		FinishReason json.RawMessage `json:"finish_reason"`
	} `json:"choices"`
	Usage  json.RawMessage `json:"usage"`
	Object word            `json:"object"`
}

type delta struct {
	Content          text       `json:"content"`
	Refusal          loose      `json:"refusal"`
	ReasoningContent loose      `json:"reasoning_content"`
	Reasoning        loose      `json:"reasoning"`
	ToolCalls        []toolCall `json:"tool_calls"`
	// What goes back to the provider: see attached.
	Details json.RawMessage `json:"reasoning_details"`
	Extra   json.RawMessage `json:"extra_content"`
}

type toolCall struct {
	Index    wire.Number `json:"index"`
	ID       word        `json:"id"`
	Function struct {
		Name string `json:"name"`
		// Arguments is a string, except on servers that send the object.
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
	Extra json.RawMessage `json:"extra_content"`
}

// text is a string, or a list of parts of which those of type text count.
type text string

// UnmarshalJSON accepts any value but a list that is none of parts; what is no
// text is empty.
func (t *text) UnmarshalJSON(b []byte) error {
	switch b[0] {
	case '"':
		// A decoder for each word would be most of the work.
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

// loose is a text that is fit to be kept, and that an answer can do without.
type loose string

// UnmarshalJSON accepts any value.
func (l *loose) UnmarshalJSON(b []byte) error {
	var said text
	if said.UnmarshalJSON(b) == nil {
		*l = loose(wire.Clean(string(said)))
	}
	return nil
}

// word is a string, or any other value as it is written.
type word string

// UnmarshalJSON accepts any value.
func (w *word) UnmarshalJSON(b []byte) error {
	*w = word(wire.Loose(b))
	return nil
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
