package wire

import (
	"cmp"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"dragoman/sessions"
)

// maxCount is the highest plausible number of tokens in one call, a hundred
// times the largest windows, and maxPrice the highest plausible price. Higher
// values would only ruin sums and averages.
const maxCount, maxPrice = 1e8, 1e6

// Number is a number as servers write it: 12, 12.0 or "12". Valid is false for
// any other value.
type Number struct {
	Value float64
	Valid bool
}

// UnmarshalJSON accepts any value.
func (n *Number) UnmarshalJSON(b []byte) error {
	text := strings.Trim(string(b), `" `)
	*n = Number{}
	// Most are whole. ParseFloat needs 1 KB of the stack, where a turn's is deepest: the
	// stack was copied for it.
	if whole, err := strconv.ParseInt(text, 10, 64); err == nil {
		*n = Number{float64(whole), true}
	} else if f, err := strconv.ParseFloat(text, 64); err == nil {
		*n = Number{f, true}
	}
	return nil
}

// tokens returns n as a count of tokens, or 0 if it cannot be one.
func (n Number) tokens() int {
	if n.Value >= 0 && n.Value <= maxCount && n.Value == math.Trunc(n.Value) {
		return int(n.Value)
	}
	return 0
}

// usage holds the token counts of an answer in the field names of all APIs.
type usage struct {
	Input  Number `json:"prompt_tokens"`
	Output Number `json:"completion_tokens"`
	// These are the names of the responses API and of Anthropic. Anthropic counts
	// cached tokens separately.
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
	Cost Number `json:"cost"` // OpenRouter's price for the call
}

// ReadUsage reads the token count of an answer. out is nil if there is none;
// thought reports whether the model reasoned. A broken count is no error: the
// answer is worth more than its price.
func ReadUsage(raw json.RawMessage) (out *sessions.Usage, thought bool) {
	if len(raw) == 0 {
		return nil, false
	}
	var u usage
	_ = json.Unmarshal(raw, &u) // fields of a wrong type are skipped
	input := u.Input.tokens()
	if !u.Input.Valid {
		input = u.ResponseInput.tokens() + u.Created.tokens() + u.Read.tokens()
	}
	out = &sessions.Usage{
		Input: input, Output: cmp.Or(u.Output, u.ResponseOutput).tokens(),
		Cached: cmp.Or(u.Details.Cached.tokens(), u.ResponseDetails.Cached.tokens(), u.CacheHits.tokens(), u.Read.tokens()),
	}
	// Cached tokens are a part of the input. If there are more of them, this server
	// counts them apart, like Anthropic's.
	if apart := out.Cached + u.Created.tokens(); u.Input.Valid && apart > out.Input || out.Cached > out.Input {
		out.Input += apart
	}
	if c := u.Cost.Value; c > 0 && c <= maxPrice {
		out.Cost = c
	}
	if out.Input+out.Output == 0 {
		return nil, false
	}
	return out, u.OutputDetails.Reasoning.tokens() > 0
}
