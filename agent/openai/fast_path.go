package openai

import (
	"bytes"
	"unicode/utf8"
)

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
