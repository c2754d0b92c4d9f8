package openai

import (
	"encoding/json"
	"net"
	"sync/atomic"

	"github.com/sashabaranov/go-openai"

	"dragoman/agent"
	"dragoman/agent/wire"
)

// Chat is the codec of chat completions.
type Chat struct {
	// written are the tools of the newest request that had others than the one
	// before.
	written atomic.Pointer[written]
}

var _ wire.Codec = (*Chat)(nil)

// Path is that of chat completions.
func (*Chat) Path() string { return "/chat/completions" }

// nearlyZero is sent for a temperature of 0, which go-openai leaves out. It is
// low enough to always pick the likeliest token and high enough that servers
// which divide by it in 32 bits do not overflow.
const nearlyZero = 1e-4

// Encode writes the tools apart from the rest: they are the larger part of most
// requests, so that all the calls that wait share them.
func (c *Chat) Encode(in *wire.Input) (net.Buffers, error) {
	body, err := json.Marshal(request(in))
	if err != nil {
		return nil, err
	}
	if in.Traits.NoTools || len(in.Request.Tools) == 0 {
		return net.Buffers{body}, nil
	}
	tools, err := c.tools(in.Request.Tools)
	if err != nil {
		return nil, err
	}
	return net.Buffers{body[:len(body)-1], []byte(`,"tools":`), tools, []byte("}")}, nil
}

// requestBody is the library's request with messages of ours.
type requestBody struct {
	openai.ChatCompletionRequest
	Messages []message `json:"messages"`
}

// Decode begins an answer.
func (c *Chat) Decode(in *wire.Input, onDelta func(agent.Delta)) wire.Answer {
	return &answer{Draft: wire.Draft{In: in, OnDelta: onDelta}}
}

// request is all but the tools.
func request(in *wire.Input) *requestBody {
	r, t := in.Request, &in.Traits
	out := &requestBody{Messages: messages(in)}
	out.Model, out.Stream, out.ReasoningEffort = in.To.Model, true, effort(in)
	if t.CompletionTokens {
		out.MaxCompletionTokens = max(r.MaxTokens, 0)
	} else {
		//lint:ignore SA1019 Servers other than OpenAI know only this one.
		out.MaxTokens = max(r.MaxTokens, 0)
	}
	if r.Temperature != nil && !t.NoTemperature {
		out.Temperature = max(*r.Temperature, nearlyZero)
	}
	if !t.NoUsage {
		out.StreamOptions = &openai.StreamOptions{IncludeUsage: true}
	}
	if t.Formats && len(r.Format) > 0 {
		out.ResponseFormat = &openai.ChatCompletionResponseFormat{
			Type:       openai.ChatCompletionResponseFormatTypeJSONSchema,
			JSONSchema: &openai.ChatCompletionResponseFormatJSONSchema{Name: "answer", Schema: r.Format},
		}
	}
	return out
}

// effort is the reasoning effort to send; "" leaves it to the server.
func effort(in *wire.Input) string {
	t := &in.Traits
	if t.ToolsNeed != "" && len(in.Request.Tools) > 0 && !t.NoTools {
		return t.ToolsNeed
	}
	return t.Effort(in.Request.Effort)
}

// written are tools and the JSON they were written as.
type written struct {
	specs []agent.Spec
	json  []byte
}

// tools writes specs, or finds them written: they are almost always the list of
// the request before, which nobody changes.
func (c *Chat) tools(specs []agent.Spec) ([]byte, error) {
	if last := c.written.Load(); last != nil && len(last.specs) == len(specs) && &last.specs[0] == &specs[0] {
		return last.json, nil
	}
	list := make([]openai.Tool, 0, len(specs))
	for i := range specs {
		t := &specs[i]
		f := &openai.FunctionDefinition{Name: t.Name, Description: t.Description, Parameters: t.Parameters}
		list = append(list, openai.Tool{Type: openai.ToolTypeFunction, Function: f})
	}
	b, err := json.Marshal(list)
	if err == nil {
		c.written.Store(&written{specs, b})
	}
	return b, err
}
