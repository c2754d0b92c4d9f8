package providers

import (
	"net/http"
	"strings"

	"dragoman/agent/agenttest"
)

// stream writes server-sent events with a type.
type stream struct {
	w     http.ResponseWriter
	flush func()
}

func newStream(w http.ResponseWriter) *stream {
	w.Header().Set("Content-Type", "text/event-stream")
	s := &stream{w: w, flush: func() {}}
	if f, ok := w.(http.Flusher); ok {
		s.flush = f.Flush
	}
	return s
}

// event sends fields, which are JSON without its outer braces.
func (s *stream) event(kind, fields string) {
	if fields != "" {
		fields = "," + fields
	}
	// An error means that the client is gone, and the test notices that.
	_, _ = s.w.Write([]byte("event: " + kind + "\ndata: {\"type\":" + quote(kind) + fields + "}\n\n"))
	s.flush()
}

// sendResponse writes an answer of the responses API.
// https://platform.openai.com/docs/api-reference/responses-streaming
func (s *Server) sendResponse(w http.ResponseWriter, req *Request, out Answer, before sealed) {
	var items []string
	if before.seal != "" {
		encrypted := ""
		if strings.Contains(string(req.Fields["include"]), "reasoning.encrypted_content") {
			encrypted = `,"encrypted_content":` + quote(before.seal)
		}
		items = append(items, `{"type":"reasoning","id":"`+before.item+`","summary":[]`+encrypted+`}`)
	}
	if out.Text != "" {
		items = append(items, `{"type":"message","id":"msg_`+before.item+`","role":"assistant","status":"completed","content":[{"type":"output_text","text":`+quote(out.Text)+`,"annotations":[]}]}`)
	}
	for _, c := range out.Calls {
		items = append(items, `{"type":"function_call","id":"`+c.item+`","call_id":"`+c.ID+`","name":`+quote(c.Name)+`,"arguments":`+quote(c.Arguments)+`,"status":"completed"}`)
	}
	head := `"id":"resp_1","object":"response","created_at":1783000000,"model":` + quote(s.Model)
	whole := `{` + head + `,"status":"completed","output":[` + strings.Join(items, ",") + `],"usage":{"input_tokens":` + at(s.usage(req)) +
		`,"input_tokens_details":{"cached_tokens":0},"output_tokens":8,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":` + at(s.usage(req)+8) + `}}`
	if !req.Stream {
		reply(w, http.StatusOK, whole)
		return
	}
	e := newStream(w)
	e.event("response.created", `"response":{`+head+`,"status":"in_progress","output":[]}`)
	for i, item := range items {
		where := `"output_index":` + at(i)
		e.event("response.output_item.added", where+`,"item":`+begun(item))
		switch {
		case strings.HasPrefix(item, `{"type":"message"`):
			for _, piece := range agenttest.Words(out.Text) {
				e.event("response.output_text.delta", where+`,"item_id":"msg_`+before.item+`","content_index":0,"delta":`+quote(piece))
			}
			e.event("response.output_text.done", where+`,"item_id":"msg_`+before.item+`","content_index":0,"text":`+quote(out.Text))
		case strings.HasPrefix(item, `{"type":"function_call"`):
			c := out.Calls[i-(len(items)-len(out.Calls))]
			half := len(c.Arguments) / 2
			for _, piece := range []string{c.Arguments[:half], c.Arguments[half:]} {
				e.event("response.function_call_arguments.delta", where+`,"item_id":"`+c.item+`","delta":`+quote(piece))
			}
			e.event("response.function_call_arguments.done", where+`,"item_id":"`+c.item+`","arguments":`+quote(c.Arguments))
		}
		e.event("response.output_item.done", where+`,"item":`+item)
	}
	e.event("response.completed", `"response":`+whole)
}

// begun is an item as it is announced, without what streams later.
func begun(item string) string {
	for _, field := range []string{`,"content":[{`, `,"arguments":"`} {
		if head, _, found := strings.Cut(item, field); found {
			return head + `,"status":"in_progress"` + map[bool]string{true: `,"content":[]}`, false: `,"arguments":""}`}[strings.Contains(field, "content")]
		}
	}
	return item
}

// sendMessage writes an answer of Anthropic's API.
// https://platform.claude.com/docs/en/build-with-claude/streaming
func (s *Server) sendMessage(w http.ResponseWriter, req *Request, out Answer, before sealed) {
	var blocks []string
	if before.seal != "" {
		blocks = append(blocks, `{"type":"thinking","thinking":"","signature":`+quote(before.seal)+`}`)
	}
	if out.Text != "" {
		blocks = append(blocks, `{"type":"text","text":`+quote(out.Text)+`}`)
	}
	for _, c := range out.Calls {
		blocks = append(blocks, `{"type":"tool_use","id":"`+c.ID+`","name":`+quote(c.Name)+`,"input":`+c.Arguments+`}`)
	}
	stop := "end_turn"
	if len(out.Calls) > 0 {
		stop = "tool_use"
	}
	head := `"id":"msg_1","type":"message","role":"assistant","model":` + quote(s.Model)
	if !req.Stream {
		reply(w, http.StatusOK, `{`+head+`,"content":[`+strings.Join(blocks, ",")+`],"stop_reason":"`+stop+`","stop_sequence":null,"usage":{"input_tokens":`+at(s.usage(req))+`,"output_tokens":8}}`)
		return
	}
	e := newStream(w)
	e.event("message_start", `"message":{`+head+`,"content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":`+at(s.usage(req))+`,"output_tokens":1}}`)
	e.event("ping", "")
	calls := out.Calls
	for i, b := range blocks {
		where, delta := `"index":`+at(i), func(fields string) { e.event("content_block_delta", `"index":`+at(i)+`,"delta":{`+fields+`}`) }
		switch {
		case strings.HasPrefix(b, `{"type":"thinking"`):
			e.event("content_block_start", where+`,"content_block":{"type":"thinking","thinking":"","signature":""}`)
			delta(`"type":"signature_delta","signature":` + quote(before.seal))
		case strings.HasPrefix(b, `{"type":"text"`):
			e.event("content_block_start", where+`,"content_block":{"type":"text","text":""}`)
			for _, piece := range agenttest.Words(out.Text) {
				delta(`"type":"text_delta","text":` + quote(piece))
			}
		default:
			e.event("content_block_start", where+`,"content_block":{"type":"tool_use","id":"`+calls[0].ID+`","name":`+quote(calls[0].Name)+`,"input":{}}`)
			half := len(calls[0].Arguments) / 2
			delta(`"type":"input_json_delta","partial_json":` + quote(calls[0].Arguments[:half]))
			delta(`"type":"input_json_delta","partial_json":` + quote(calls[0].Arguments[half:]))
			calls = calls[1:]
		}
		e.event("content_block_stop", where)
	}
	e.event("message_delta", `"delta":{"stop_reason":"`+stop+`","stop_sequence":null},"usage":{"output_tokens":8}`)
	e.event("message_stop", "")
}
