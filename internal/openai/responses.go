package openai

import (
	"context"
	"net/http"
	"slices"
	"time"

	"dragoman/internal/respond"
	"dragoman/sessions"
)

// response is a response, whole or unfinished.
type response struct {
	ID         string         `json:"id"`
	Object     string         `json:"object"`
	Created    int64          `json:"created_at"`
	Status     string         `json:"status"`
	Background bool           `json:"background"`
	Error      *responseError `json:"error"`
	Incomplete *incomplete    `json:"incomplete_details"`
	Model      string         `json:"model"`
	Output     []any          `json:"output"`
	Store      bool           `json:"store"`
	Truncation string         `json:"truncation"`
	Text       any            `json:"text"`
	Reasoning  any            `json:"reasoning"`
	Usage      *responseUsage `json:"usage"`
	echo
}

// responseError is why a response failed.
type responseError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// incomplete is why a response is not whole.
type incomplete struct {
	Reason string `json:"reason"`
}

// responseUsage is the tokens of all model calls of the turn.
type responseUsage struct {
	Input        int `json:"input_tokens"`
	InputDetails struct {
		Cached int `json:"cached_tokens"`
	} `json:"input_tokens_details"`
	Output        int `json:"output_tokens"`
	OutputDetails struct {
		Reasoning int `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
	Total int `json:"total_tokens"`
}

// messageItem is what the assistant says, an item of the output.
type messageItem struct {
	ID      string       `json:"id"`
	Type    string       `json:"type"`
	Status  string       `json:"status"`
	Role    string       `json:"role"`
	Content []outputText `json:"content"`
}

// outputText is a part of it.
type outputText struct {
	Type        string `json:"type"`
	Text        string `json:"text"`
	Annotations []any  `json:"annotations"`
	Logprobs    []any  `json:"logprobs"`
}

// callItem is a call of a client's tool, an item of the output.
type callItem struct {
	ID        string `json:"id"`
	Type      string `json:"type"`
	Status    string `json:"status"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

func textPart(text string) outputText {
	return outputText{Type: "output_text", Text: text, Annotations: []any{}, Logprobs: []any{}}
}

func messageOf(id, status, text string) messageItem {
	m := messageItem{ID: messagePrefix + id, Type: "message", Status: status, Role: "assistant", Content: []outputText{}}
	if status != "in_progress" {
		m.Content = append(m.Content, textPart(text))
	}
	return m
}

func callItems(out *outcome) (list []callItem) {
	for _, c := range out.Calls {
		list = append(list, callItem{
			ID: "fc_" + c.ID, Type: "function_call", Status: "completed", CallID: c.ID, Name: c.Name, Arguments: arrangedArguments(c.Arguments),
		})
	}
	return list
}

// responseOf is the response of an outcome.
func responseOf(model string, e echo, keep bool, out *outcome) response {
	r := begunResponse(out.ID, out.At, model, e, keep)
	r.Status = "completed"
	switch out.Finish {
	case finishLength:
		r.Status = "incomplete"
		r.Incomplete = &incomplete{"max_output_tokens"}
	case finishFilter:
		r.Status = "incomplete"
		r.Incomplete = &incomplete{"content_filter"}
	}
	if out.Text != "" || len(out.Calls) == 0 {
		r.Output = append(r.Output, messageOf(out.ID, "completed", out.Text))
	}
	for _, c := range callItems(out) {
		r.Output = append(r.Output, c)
	}
	u := &responseUsage{Input: out.Usage.Input, Output: out.Usage.Output, Total: out.Usage.Input + out.Usage.Output}
	u.InputDetails.Cached = out.Usage.Cached
	r.Usage = u
	return r
}

// begunResponse is one that has nothing yet.
func begunResponse(id string, at time.Time, model string, e echo, keep bool) response {
	return response{
		ID: responsePrefix + id, Object: "response", Created: at.Unix(), Status: "in_progress", Model: model, Output: []any{}, Store: keep,
		Truncation: "disabled", Text: map[string]any{"format": map[string]string{"type": "text"}}, Reasoning: map[string]any{"effort": nil, "summary": nil}, echo: e,
	}
}

// responses answers POST /v1/responses.
func (s *server) responses(w http.ResponseWriter, r *http.Request) error {
	free, err := s.enter(r)
	if err != nil {
		return err
	}
	defer free()
	body, o, err := readBody(w, r)
	if err != nil {
		return err
	}
	a := s.readResponses(r, o)
	defer a.release()
	if o.first.no == nil {
		if err := a.follow(r.Context(), caller(r)); err != nil {
			return err
		}
	}
	a.takeInput(o)
	if err := o.problem(); err != nil {
		return err
	}
	s.logUnknown(o)
	var to sink = &responseWhole{w: w, a: a}
	if a.stream {
		to = &responseStream{stream: stream{w: w}, a: a, at: s.Now()}
	}
	if a.keep {
		a.store = func(ctx context.Context, out *outcome, added []sessions.Message, turn string) error {
			one := stored{Answer: *out, Model: a.model, Previous: a.previous, Room: a.room, Turn: turn}
			if a.room == "" {
				one.Messages = slices.Concat(a.messages[a.own:], added)
			}
			return s.store(ctx, caller(r).ID, one)
		}
	}
	if a.room != "" {
		return s.converse(w, r, body, &a.asked, a.room, to)
	}
	return s.answer(w, r, body, &a.asked, to)
}

// responseWhole writes a response at once.
type responseWhole struct {
	w http.ResponseWriter
	a *responsesRequest
}

func (*responseWhole) more(progress) {}

func (*responseWhole) beat() {}

func (c *responseWhole) failed(no *respond.Refusal) { respond.Refuse(c.w, no) }

func (c *responseWhole) done(out *outcome) {
	respond.JSON(c.w, http.StatusOK, responseOf(c.a.model, c.a.echo, c.a.keep, out))
}
