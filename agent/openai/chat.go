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
	// cache holds the encoded tools of the newest request.
	cache atomic.Pointer[encodedTools]
}

var _ wire.Codec = (*Chat)(nil)

// Path implements [wire.Codec].
func (*Chat) Path() string { return "/chat/completions" }

// nearlyZero is sent for temperature 0, which go-openai leaves out. It is low
// enough to always pick the likeliest token, and high enough that servers which
// divide by it in 32 bits do not overflow.
const nearlyZero = 1e-4

// Encode encodes the tools separately. They are the larger part of most
// requests, so all waiting calls share them.
func (c *Chat) Encode(in *wire.Input) (net.Buffers, error) {
	body, err := json.Marshal(newRequest(in))
	if err != nil {
		return nil, err
	}
	messages, err := encodeMessages(in)
	if err != nil {
		return nil, err
	}
	out := net.Buffers{body[:len(body)-1], []byte(`,"messages":`), messages}
	if !in.Traits.NoTools && len(in.Request.Tools) > 0 {
		tools, err := c.tools(in.Request.Tools)
		if err != nil {
			return nil, err
		}
		out = append(out, []byte(`,"tools":`), tools)
	}
	return append(out, []byte("}")), nil
}

// requestBody is go-openai's request without its messages.
type requestBody struct {
	openai.ChatCompletionRequest
	Messages unsent `json:"messages,omitzero"`
}

// unsent hides a field of an embedded struct.
type unsent struct{}

// Decode implements [wire.Codec].
func (c *Chat) Decode(in *wire.Input, onDelta func(agent.Delta)) wire.Answer {
	return &answer{Draft: wire.Draft{In: in, OnDelta: onDelta}}
}

// newRequest returns the request without its messages and tools.
func newRequest(in *wire.Input) *requestBody {
	r, t := in.Request, &in.Traits
	out := &requestBody{}
	out.Model = in.To.Model
	out.Stream = true
	out.ReasoningEffort = effort(in)
	if t.CompletionTokens {
		out.MaxCompletionTokens = max(r.MaxTokens, 0)
	} else {
		//lint:ignore SA1019 Servers other than OpenAI's know only this field.
		out.MaxTokens = max(r.MaxTokens, 0)
	}
	if r.Temperature != nil && !t.NoTemperature {
		out.Temperature = max(*r.Temperature, nearlyZero)
	}
	setWishes(out, in)
	if !t.NoUsage {
		out.StreamOptions = &openai.StreamOptions{IncludeUsage: true}
	}
	if t.JSONSchema && len(r.Format) > 0 {
		out.ResponseFormat = &openai.ChatCompletionResponseFormat{
			Type:       openai.ChatCompletionResponseFormatTypeJSONSchema,
			JSONSchema: &openai.ChatCompletionResponseFormatJSONSchema{Name: "answer", Schema: r.Format},
		}
	}
	return out
}

// setWishes adds what the caller wants of the answer.
func setWishes(out *requestBody, in *wire.Input) {
	r, t := in.Request, &in.Traits
	if r.TopP != nil && !t.NoTemperature {
		out.TopP = max(*r.TopP, nearlyZero)
	}
	if r.PresencePenalty != nil {
		out.PresencePenalty = *r.PresencePenalty
	}
	if r.FrequencyPenalty != nil {
		out.FrequencyPenalty = *r.FrequencyPenalty
	}
	out.Stop = r.Stop
	out.Seed = r.Seed
	if t.NoTools || len(r.Tools) == 0 {
		return
	}
	if r.MustCall {
		out.ToolChoice = "required"
	}
	if r.OneCall {
		out.ParallelToolCalls = false
	}
}

// effort returns the reasoning effort to send; "" leaves it to the server.
func effort(in *wire.Input) string {
	t := &in.Traits
	if t.ToolsNeedEffort != "" && len(in.Request.Tools) > 0 && !t.NoTools {
		return t.ToolsNeedEffort
	}
	return t.Effort(in.Request.Effort)
}

// encodedTools is the tool list of the last request with its JSON.
type encodedTools struct {
	specs []agent.Spec
	json  []byte
}

// tools returns specs as JSON. The list is almost always that of the previous
// request, and callers never change it, so it is encoded once.
func (c *Chat) tools(specs []agent.Spec) ([]byte, error) {
	if last := c.cache.Load(); last != nil && len(last.specs) == len(specs) && &last.specs[0] == &specs[0] {
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
		c.cache.Store(&encodedTools{specs, b})
	}
	return b, err
}
