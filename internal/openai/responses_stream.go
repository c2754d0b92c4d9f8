package openai

import (
	"maps"
	"time"

	"dragoman/internal/respond"
)

// responseStream writes a response as events, in the order in which all clients take them.
// The header is sent with the first of them, so that a turn that fails before has a status.
type responseStream struct {
	stream
	a  *responsesRequest
	at time.Time

	id    string // of the response; "": nothing was sent
	n     int    // sequence_number of the next event
	text  delta
	spoke bool // the message has begun
	items int  // that have ended
}

// send writes an event.
func (c *responseStream) send(name string, fields map[string]any) {
	all := map[string]any{"type": name, "sequence_number": c.n}
	maps.Copy(all, fields)
	c.n++
	c.event(name, all)
}

func (c *responseStream) begin(id string, at time.Time) {
	if c.id != "" {
		return
	}
	c.id = id
	c.at = at
	begun := begunResponse(id, at, c.a.model, c.a.echo, c.a.keep)
	c.send("response.created", map[string]any{"response": begun})
	c.send("response.in_progress", map[string]any{"response": begun})
}

// speak sends more of the message, which it begins.
func (c *responseStream) speak(text string) {
	if !c.spoke {
		c.spoke = true
		c.send("response.output_item.added", map[string]any{"output_index": c.items, "item": messageOf(c.id, "in_progress", "")})
		c.send("response.content_part.added", map[string]any{"item_id": messagePrefix + c.id, "output_index": c.items, "content_index": 0, "part": textPart("")})
	}
	if text != "" {
		c.send("response.output_text.delta", map[string]any{"item_id": messagePrefix + c.id, "output_index": c.items, "content_index": 0, "delta": text, "logprobs": []any{}})
	}
}

func (c *responseStream) more(p progress) {
	if text := c.text.next(p.text); text != "" {
		c.begin(p.id, p.at)
		c.speak(text)
	}
}

func (c *responseStream) beat() { c.comment() }

func (c *responseStream) done(out *outcome) {
	c.begin(out.ID, out.At)
	whole := *out
	whole.ID = c.id
	whole.At = c.at
	if out.Text != "" || len(out.Calls) == 0 {
		c.speak(c.text.end(out.Text))
		at := map[string]any{"item_id": messagePrefix + c.id, "output_index": c.items, "content_index": 0}
		with := func(field string, v any) map[string]any {
			fields := maps.Clone(at)
			fields[field] = v
			return fields
		}
		ended := with("text", out.Text)
		ended["logprobs"] = []any{}
		c.send("response.output_text.done", ended)
		c.send("response.content_part.done", with("part", textPart(out.Text)))
		c.send("response.output_item.done", map[string]any{"output_index": c.items, "item": messageOf(c.id, "completed", out.Text)})
		c.items++
	}
	for _, call := range callItems(out) {
		c.call(call)
	}
	r := responseOf(c.a.model, c.a.echo, c.a.keep, &whole)
	c.send("response."+r.Status, map[string]any{"response": r})
}

// call sends a call, whole.
func (c *responseStream) call(item callItem) {
	begun := item
	begun.Status = "in_progress"
	begun.Arguments = ""
	c.send("response.output_item.added", map[string]any{"output_index": c.items, "item": begun})
	c.send("response.function_call_arguments.delta", map[string]any{"item_id": item.ID, "output_index": c.items, "delta": item.Arguments})
	c.send("response.function_call_arguments.done", map[string]any{"item_id": item.ID, "output_index": c.items, "name": item.Name, "arguments": item.Arguments})
	c.send("response.output_item.done", map[string]any{"output_index": c.items, "item": item})
	c.items++
}

// failed ends the stream with both events that tell of a failure: each client knows one.
func (c *responseStream) failed(no *respond.Refusal) {
	if !c.started {
		respond.Refuse(c.w, no)
		return
	}
	c.begin(c.a.id, c.at)
	code := respond.CodeOf(no)
	r := begunResponse(c.id, c.at, c.a.model, c.a.echo, c.a.keep)
	r.Status = "failed"
	r.Error = &responseError{code, no.Sentence}
	c.send("response.failed", map[string]any{"response": r})
	c.send("error", map[string]any{"code": code, "message": no.Sentence, "param": nil})
}
