package providers

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
)

// rule is one requirement of a provider's API. It returns nil if r meets it. m holds
// what the server issued before.
type rule func(r *Request, m *memory) *refusal

// refusal is a provider's answer to a request that breaks a rule.
type refusal struct {
	status int
	param  string
	code   string
	text   string
}

// badRequest is a refusal with the status that most rules have.
func badRequest(text string) *refusal {
	return &refusal{status: http.StatusBadRequest, text: text}
}

// withParam names the setting that is refused.
func (f *refusal) withParam(param, code string) *refusal {
	f.param, f.code = param, code
	return f
}

// memory holds what a server attached to its answers, so that it can tell whether
// that comes back. The server's mutex guards it.
type memory struct {
	model string
	// calls are by name and arguments, because a client may change the ids.
	calls map[string][]sealed
	seals map[string]bool // every signature and encrypted content
	n     int
}

// sealed is what belongs to one call: the thoughts before it, and the item that holds
// them.
type sealed struct {
	thought string
	seal    string
	item    string
}

// of returns the times when the server made that call. None: another model made it.
func (m *memory) of(c Call) []sealed { return m.calls[key(c)] }

// key identifies a call by name and arguments.
func key(c Call) string {
	var args bytes.Buffer
	if json.Compact(&args, []byte(c.Arguments)) != nil {
		args.WriteString(c.Arguments)
	}
	return c.Name + " " + args.String()
}

func newMemory(model string) *memory {
	return &memory{model: model, calls: map[string][]sealed{}, seals: map[string]bool{}}
}

// next numbers what the server issues.
func (m *memory) next() int {
	m.n++
	return m.n
}

func quote(s string) string {
	b, _ := json.Marshal(s) // a string always marshals
	return string(b)
}

// pairs refuses requests whose tool results do not follow their calls: each call must
// be answered before any other message, and nothing else may be.
func pairs(missing func(at int, id string) *refusal, stray func(at int, id string) *refusal) rule {
	return func(r *Request, _ *memory) *refusal {
		open := map[string]bool{}
		first := ""
		for i, m := range r.Messages {
			switch {
			case m.Role == tool && !open[m.Answers]:
				return stray(i, m.Answers)
			case m.Role == tool:
				delete(open, m.Answers)
				continue
			case m.Role == reasoning, len(m.Calls) > 0 && r.Path == responsesPath:
			case len(open) > 0:
				return missing(i-1, first)
			}
			for _, c := range m.Calls {
				open[c.ID], first = true, c.ID
			}
		}
		for id := range open {
			return missing(len(r.Messages)-1, id)
		}
		return nil
	}
}

// openAIError is the error body of OpenAI and most compatible servers.
func openAIError(f *refusal) string {
	orNull := func(s string) string {
		if s == "" {
			return "null"
		}
		return quote(s)
	}
	kind := "invalid_request_error"
	if f.status >= 500 {
		kind = "server_error"
	}
	return `{"error":{"message":` + quote(f.text) + `,"type":"` + kind + `","param":` + orNull(f.param) + `,"code":` + orNull(f.code) + `}}`
}

// at formats an index in an error.
func at(i int) string { return strconv.Itoa(i) }
