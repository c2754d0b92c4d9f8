package trace

import "strconv"

// The names of OpenTelemetry's conventions for generative AI (semantic-conventions-genai
// 0.1.0, all of them still in development), and ours.
const (
	Operation      = "gen_ai.operation.name"
	AgentName      = "gen_ai.agent.name"
	ConversationID = "gen_ai.conversation.id"
	ProviderName   = "gen_ai.provider.name"
	RequestModel   = "gen_ai.request.model"
	ResponseModel  = "gen_ai.response.model"
	InputTokens    = "gen_ai.usage.input_tokens"
	OutputTokens   = "gen_ai.usage.output_tokens"
	CachedTokens   = "gen_ai.usage.cache_read.input_tokens"
	FinishReasons  = "gen_ai.response.finish_reasons"
	ToolName       = "gen_ai.tool.name"
	ToolCall       = "gen_ai.tool.call.id"
	ErrorType      = "error.type"

	Channel    = "dragoman.channel"
	Outcome    = "dragoman.outcome"
	Steps      = "dragoman.steps"
	Job        = "dragoman.job"
	Attempt    = "dragoman.attempt"
	FirstToken = "dragoman.first_token_ms"

	OperationTurn = "invoke_agent"
	OperationChat = "chat"
	OperationTool = "execute_tool"
	Agent         = "dragoman"
)

// Attr is something known of a span. Values are names, words and numbers of ours, never
// text of people or models.
type Attr struct {
	Key   string `json:"key"`
	Value value  `json:"value"`
}

// value is an AnyValue of OTLP: one field is set. Integers are strings in its JSON.
type value struct {
	String *string `json:"stringValue,omitempty"`
	Int    string  `json:"intValue,omitempty"`
	Array  *array  `json:"arrayValue,omitempty"`
}

// array is an ArrayValue of OTLP.
type array struct {
	Values []value `json:"values"`
}

// Text is an attribute with a word.
func Text(key, s string) Attr { return Attr{key, value{String: &s}} }

// Number is an attribute with a number.
func Number(key string, n int) Attr { return Attr{key, value{Int: strconv.Itoa(n)}} }

// List is an attribute with a list of one word.
func List(key, s string) Attr { return Attr{key, value{Array: &array{[]value{{String: &s}}}}} }
