package openai

import (
	"dragoman/agent"
	"dragoman/agent/wire"
)

// Frames decodes frames twice: with the fast path, and without it. usual
// reports whether the fast path reads the last frame after the others.
func Frames(frames ...[]byte) (fast, slow agent.Response, shown [2]string, errs [2]error, usual bool) {
	read := func(i int, add func(*answer, []byte) (bool, error)) agent.Response {
		a := &answer{Draft: wire.Draft{In: &wire.Input{Request: &agent.Request{}}, OnDelta: func(d agent.Delta) { shown[i] += d.Reasoning + "|" + d.Text + "|" }}}
		for _, frame := range frames {
			_, usual = a.fast.text(frame)
			if errs[i] == nil {
				_, errs[i] = add(a, frame)
			}
		}
		if errs[i] == nil {
			errs[i] = a.Check()
		}
		var out agent.Response
		a.Fill(&out)
		for i := range out.Message.ToolCalls {
			out.Message.ToolCalls[i].ID = "" // missing ids are random
		}
		return out
	}
	slow = read(1, (*answer).addChunk)
	fast = read(0, func(a *answer, frame []byte) (bool, error) { return a.Add("", frame) })
	return fast, slow, shown, errs, usual
}

// Read decodes frames, and returns all that was shown.
func Read(frames ...[]byte) (out agent.Response, shown agent.Delta, err error) {
	a := &answer{Draft: wire.Draft{In: &wire.Input{Request: &agent.Request{}}, OnDelta: func(d agent.Delta) {
		shown.Text += d.Text
		shown.Reasoning += d.Reasoning
	}}}
	for _, frame := range frames {
		if _, err := a.Add("", frame); err != nil {
			return out, shown, err
		}
	}
	err = a.Check()
	a.Fill(&out)
	return out, shown, err
}

// With returns frame with another text if the fast path reads frame; ""
// otherwise.
func With(frame, text string) string {
	var a answer
	if _, err := a.addChunk([]byte(frame)); err != nil || a.fast.after == nil {
		return ""
	}
	return string(a.fast.before) + text + string(a.fast.after)
}
