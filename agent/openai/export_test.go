package openai

import "dragoman/agent"

// Frames is what the answer of two equal frames comes to, read as fast as they
// allow and as any frame is read. plain says whether these are two ways.
func Frames(frame []byte) (fast, any agent.Response, shown [2]string, errs [2]error, plain bool) {
	_, plain = readPlain(frame)
	read := func(i int, add func(*answer, []byte) error) agent.Response {
		a := &answer{onDelta: func(d agent.Delta) { shown[i] += d.Reasoning + "|" + d.Text + "|" }}
		for range 2 {
			if errs[i] == nil {
				errs[i] = add(a, frame)
			}
		}
		if errs[i] == nil {
			errs[i] = a.check()
		}
		var out agent.Response
		a.fill(&out, "m")
		return out
	}
	return read(0, (*answer).add), read(1, (*answer).addAny), shown, errs, plain
}
