package openai

import (
	"dragoman/agent"
	"dragoman/agent/wire"
)

// Frames is what the answer of two equal frames comes to, read as fast as they
// allow and as any frame is read. plain says whether these are two ways.
func Frames(frame []byte) (fast, any agent.Response, shown [2]string, errs [2]error, plain bool) {
	_, plain = readPlain(frame)
	read := func(i int, add func(*answer, []byte) (bool, error)) agent.Response {
		a := &answer{Draft: wire.Draft{In: &wire.Input{Request: &agent.Request{}}, OnDelta: func(d agent.Delta) { shown[i] += d.Reasoning + "|" + d.Text + "|" }}}
		for range 2 {
			if errs[i] == nil {
				_, errs[i] = add(a, frame)
			}
		}
		if errs[i] == nil {
			errs[i] = a.Check()
		}
		var out agent.Response
		a.Fill(&out)
		return out
	}
	plainly := func(a *answer, frame []byte) (bool, error) { return a.Add("", frame) }
	return read(0, plainly), read(1, (*answer).addAny), shown, errs, plain
}
