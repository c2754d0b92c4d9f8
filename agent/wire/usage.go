package wire

import (
	"cmp"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"dragoman/sessions"
)

// maxCount is the most tokens that a server is believed to have read or
// written in one call, and maxPrice the most that one costs. The first is a
// hundred times the largest windows that there are. What is above it would only
// ruin sums, prices and averages.
const maxCount, maxPrice = 1e8, 1e6

// Number is a number as servers write it: 12, 12.0 or "12". Anything else is as
// if it were not there.
type Number struct {
	Value float64
	Said  bool
}

// UnmarshalJSON accepts any value.
func (n *Number) UnmarshalJSON(b []byte) error {
	f, err := strconv.ParseFloat(strings.Trim(string(b), `" `), 64)
	if *n = (Number{}); err == nil {
		*n = Number{f, true}
	}
	return nil
}

// tokens is a count of tokens; what cannot be one is 0.
func (n Number) tokens() int {
	if n.Value >= 0 && n.Value <= maxCount && n.Value == math.Trunc(n.Value) {
		return int(n.Value)
	}
	return 0
}

// usage is what a server says of the tokens of a call.
type usage struct {
	Input  Number `json:"prompt_tokens"`
	Output Number `json:"completion_tokens"`
	// These are the names of the responses API and of Anthropic, which counts what
	// concerns its cache apart.
	ResponseInput  Number `json:"input_tokens"`
	ResponseOutput Number `json:"output_tokens"`
	Created        Number `json:"cache_creation_input_tokens"`
	Read           Number `json:"cache_read_input_tokens"`
	// CacheHits is DeepSeek's name for the cached part.
	CacheHits Number `json:"prompt_cache_hit_tokens"`
	Details   struct {
		Cached Number `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	ResponseDetails struct {
		Cached Number `json:"cached_tokens"`
	} `json:"input_tokens_details"`
	OutputDetails struct {
		Reasoning Number `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
	Cost Number `json:"cost"` // what OpenRouter charges for the call
}

// ReadUsage is what raw says, or nil if it says nothing, and whether the model
// reasoned. Whatever it is, it does not make the answer unreadable: a whole answer
// is worth more than its price.
func ReadUsage(raw json.RawMessage) (out *sessions.Usage, thought bool) {
	if len(raw) == 0 {
		return nil, false
	}
	var u usage
	_ = json.Unmarshal(raw, &u) // what is of another type than it should be is passed over
	input := u.Input.tokens()
	if !u.Input.Said {
		input = u.ResponseInput.tokens() + u.Created.tokens() + u.Read.tokens()
	}
	out = &sessions.Usage{
		Input: input, Output: cmp.Or(u.Output, u.ResponseOutput).tokens(),
		Cached: cmp.Or(u.Details.Cached.tokens(), u.ResponseDetails.Cached.tokens(), u.CacheHits.tokens(), u.Read.tokens()),
	}
	if c := u.Cost.Value; c > 0 && c <= maxPrice {
		out.Cost = c
	}
	if out.Input+out.Output == 0 {
		return nil, false
	}
	return out, u.OutputDetails.Reasoning.tokens() > 0
}
