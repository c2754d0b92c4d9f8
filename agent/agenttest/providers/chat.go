package providers

import (
	"bytes"
	"io"
	"net/http"

	"dragoman/agent/agenttest"
)

// sendChat answers through the server of agenttest, which knows the wire format of
// chat completions.
func (s *Server) sendChat(w http.ResponseWriter, r *http.Request, req *Request, out Answer) {
	say := func(x *agenttest.Exchange) {
		if !s.hidden {
			for _, piece := range agenttest.Words(out.Think) {
				x.Reasoning(piece)
			}
		}
		x.Text(agenttest.Words(out.Text)...)
		for i, c := range out.Calls {
			half := len(c.Arguments) / 2
			x.Tools(agenttest.ToolDelta{Index: agenttest.At(i), ID: c.ID, Name: c.Name, Arguments: c.Arguments[:half], ExtraContent: extra(c)})
			x.Tools(agenttest.ToolDelta{Index: agenttest.At(i), Arguments: c.Arguments[half:]})
		}
		finish := "stop"
		if len(out.Calls) > 0 {
			finish = "tool_calls"
		}
		x.Finish(finish)
		x.Usage(s.usage(req), 8, 0)
		x.Done()
	}
	server := agenttest.NewServer(agenttest.Options{Recorded: -1, Reply: func(*agenttest.Request) agenttest.Reply { return say }})
	r = r.Clone(r.Context())
	r.URL.Path, r.Body = "/v1"+chatPath, io.NopCloser(bytes.NewReader(req.Body))
	server.ServeHTTP(w, r)
	_ = server.Close()
}

// extra returns the field in which Gemini puts the signature of a call.
func extra(c Call) string {
	if c.Seal == "" {
		return ""
	}
	return `{"google":{"thought_signature":` + quote(c.Seal) + `}}`
}
