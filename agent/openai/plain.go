package openai

import (
	"bytes"
	"unicode/utf8"
)

// usual is what frames look like. An answer comes in dozens of them, which nearly
// all differ only in a word or two. Those words are read without reflection,
// which was a fifteenth of the time of a turn.
type usual struct {
	before, after []byte // of the words
}

// learn remembers what is around the words of frame, which is c, if there is
// nothing else in it. The words must stand there as they are, and no other key
// may be read for this one.
func (u *usual) learn(frame []byte, c *chunk) {
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
	rest, said := bytes.CutPrefix(bytes.TrimLeft(rest, " "), []byte(`"`+string(d.Content)))
	if found && said && rest[0] == '"' {
		u.before, u.after = bytes.Clone(frame[:len(frame)-len(rest)-len(d.Content)]), bytes.Clone(rest)
	}
}

// words are those of frame, if the rest of it is as usual.
func (u *usual) words(frame []byte) (words []byte, ok bool) {
	if u.after == nil || !bytes.HasPrefix(frame, u.before) || !bytes.HasSuffix(frame[len(u.before):], u.after) {
		return nil, false
	}
	words = frame[len(u.before) : len(frame)-len(u.after)]
	return words, utf8.Valid(words) && !bytes.ContainsFunc(words, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' })
}
