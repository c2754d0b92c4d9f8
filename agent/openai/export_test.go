package openai

import (
	"dragoman/agent"
	"dragoman/agent/wire"
)

// Frames is what the answer of these frames comes to, read as fast as they allow
// and as any frame is read. usual says that the last one is as usual after the
// others.
func Frames(frames ...[]byte) (fast, any agent.Response, shown [2]string, errs [2]error, usual bool) {
	read := func(i int, add func(*answer, []byte) (bool, error)) agent.Response {
		a := &answer{Draft: wire.Draft{In: &wire.Input{Request: &agent.Request{}}, OnDelta: func(d agent.Delta) { shown[i] += d.Reasoning + "|" + d.Text + "|" }}}
		for _, frame := range frames {
			if _, usual = a.usual.words(frame); errs[i] == nil {
				_, errs[i] = add(a, frame)
			}
		}
		if errs[i] == nil {
			errs[i] = a.Check()
		}
		var out agent.Response
		a.Fill(&out)
		for i := range out.Message.ToolCalls {
			out.Message.ToolCalls[i].ID = "" // one without an id gets another each time
		}
		return out
	}
	any = read(1, (*answer).addAny)
	fast = read(0, func(a *answer, frame []byte) (bool, error) { return a.Add("", frame) })
	return fast, any, shown, errs, usual
}

// With is frame with other words, if it is as usual; "" otherwise.
func With(frame, words string) string {
	var a answer
	if _, err := a.addAny([]byte(frame)); err != nil || a.usual.after == nil {
		return ""
	}
	return string(a.usual.before) + words + string(a.usual.after)
}
