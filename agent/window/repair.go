package window

import (
	"bytes"
	"cmp"
	"encoding/json"
	"hash/fnv"
	"slices"
	"strings"

	"dragoman/sessions"
)

// What Repair writes where a server would refuse an empty text or a gap.
const (
	noOutput = "(no output)"
	noText   = "(empty message)"
	noResult = "(no result: this call was interrupted; it may or may not have happened)"
	noName   = "unknown_tool"
	noArgs   = "{}"
	maxName  = 64 // the longest name of a function that servers take
)

// Repair returns msgs in a shape that every server accepts. Each tool call is
// answered once, in the order of the calls and directly after their message. Each
// tool message answers a call. Ids are unique and have nine letters and digits.
// Nothing is empty. A missing result is replaced by a synthetic one that says so.
// Repair(Repair(x)) equals Repair(x). What it does to a message depends on later
// messages only if they are its results, so a growing history keeps its prefix. If
// there is nothing to repair it returns msgs itself, so the caller must not change
// the result.
func Repair(msgs []sessions.Message) []sessions.Message {
	if !slices.ContainsFunc(msgs, notPlain) {
		return slices.Clip(msgs)
	}
	pairs := pair(msgs)
	used := make(map[string]bool)
	out := make([]sessions.Message, 0, len(msgs))
	for i, m := range msgs {
		switch m.Role {
		case sessions.RoleUser:
			m.ToolCalls, m.ToolCallID = nil, ""
			if blank(m.Content) {
				m.Content = noText
			}
			out = append(out, m)
		case sessions.RoleAssistant:
			out = appendAssistant(out, msgs, m, pairs.results[i], used)
		case sessions.RoleTool:
			// Results were added with their calls; others answer nothing.
		default:
			// System prompts do not belong in a transcript, and text of unknown
			// origin must not pass for a person's.
		}
	}
	return out
}

func notPlain(m sessions.Message) bool {
	return m.Role != sessions.RoleUser && m.Role != sessions.RoleAssistant ||
		m.ToolCalls != nil || m.ToolCallID != "" || blank(m.Content)
}

// appendAssistant appends m and, if it makes calls, their results. results holds for
// each call the index of its answer in msgs, or -1.
func appendAssistant(out, msgs []sessions.Message, m sessions.Message, results []int, used map[string]bool) []sessions.Message {
	m.ToolCallID = ""
	if blank(m.Content) {
		m.Content = ""
	}
	if len(m.ToolCalls) == 0 {
		m.ToolCalls = nil
		if m.Content == "" {
			return out
		}
		return append(out, m)
	}
	m.ToolCalls = UniqueIDs(m.ToolCalls, m.Turn, used)
	for i, c := range m.ToolCalls {
		m.ToolCalls[i].Name = toolName(c.Name)
		m.ToolCalls[i].Arguments = toolArguments(c.Arguments)
	}
	out = append(out, m)
	for i, c := range m.ToolCalls {
		r := sessions.Message{
			Seq: m.Seq, Role: sessions.RoleTool, Name: c.Name, Content: noResult,
			At: m.At, Turn: m.Turn, Synthetic: true,
		}
		if results[i] >= 0 {
			r = msgs[results[i]]
			r.ToolCalls = nil
		}
		if blank(r.Content) {
			r.Content = noOutput
		}
		r.ToolCallID = c.ID
		out = append(out, r)
	}
	return out
}

// UniqueIDs returns a copy of calls whose ids have nine letters and digits and are
// unique, among themselves and in used. It adds them to used. New ids depend only on
// the arguments. turn is the calls' turn: some servers number their calls from the
// start in each turn.
func UniqueIDs(calls []sessions.ToolCall, turn string, used map[string]bool) []sessions.ToolCall {
	out := slices.Clone(calls)
	for i := range out {
		id := out[i].ID
		for n := 0; !isCallID(id) || used[id]; n++ {
			id = freshID(turn, out[i].ID, n)
		}
		out[i].ID = id
		used[id] = true
	}
	return out
}

// callIDLength is the length of call ids. Mistral's templates require exactly nine
// letters and digits, and all other servers accept them.
const callIDLength = 9

func isCallID(id string) bool {
	return len(id) == callIDLength && !strings.ContainsFunc(id, func(r rune) bool {
		return badInName(r) || r == '_' || r == '-'
	})
}

func freshID(turn, id string, n int) string {
	const digits = "0123456789abcdefghijklmnopqrstuvwxyz"
	h := fnv.New64a()
	_, _ = h.Write([]byte(turn + "\x00" + id))
	_, _ = h.Write([]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
	sum := h.Sum64()
	b := []byte("c00000000")
	for i := 1; i < len(b); i++ {
		b[i] = digits[sum%uint64(len(digits))]
		sum /= uint64(len(digits))
	}
	return string(b)
}

// pairing says which tool message answers which call.
type pairing struct {
	// owner holds for each tool message that answers a call the index of the
	// assistant message with that call.
	owner map[int]int
	// results holds for each assistant message with calls, and each of its calls, the
	// index of the tool message that answers it, or -1.
	results map[int][]int
}

// callKey names a tool call. IDs alone repeat from turn to turn.
type callKey struct{ turn, id string }

// pair matches results with calls. A result belongs to the newest earlier message
// that makes a call with its id in its turn; a result without a turn matches by id
// alone. The first result of a call counts. A result before its call is an orphan:
// since ids repeat from turn to turn, it might answer the wrong call.
func pair(msgs []sessions.Message) pairing {
	p := pairing{owner: make(map[int]int), results: make(map[int][]int)}
	inTurn := make(map[callKey]int)
	anywhere := make(map[string]int)
	for i := range msgs {
		m := &msgs[i]
		switch m.Role {
		case sessions.RoleAssistant:
			if len(m.ToolCalls) == 0 {
				continue
			}
			p.results[i] = make([]int, len(m.ToolCalls))
			for j, c := range m.ToolCalls {
				p.results[i][j] = -1
				inTurn[callKey{m.Turn, c.ID}] = i
				anywhere[c.ID] = i
			}
		case sessions.RoleTool:
			g, found := inTurn[callKey{m.Turn, m.ToolCallID}]
			if m.Turn == "" {
				g, found = anywhere[m.ToolCallID]
			}
			if found {
				p.answer(msgs, g, i)
			}
		}
	}
	return p
}

// answer assigns tool message i to the first open call of message g with its id. If
// there is none, i repeats a result and stays an orphan.
func (p pairing) answer(msgs []sessions.Message, g, i int) {
	for j, c := range msgs[g].ToolCalls {
		if c.ID == msgs[i].ToolCallID && p.results[g][j] < 0 {
			p.results[g][j] = i
			p.owner[i] = g
			return
		}
	}
}

// toolName replaces everything in name that servers refuse in a function's name.
// Without it, a model that once called "files.read it" would have every later request
// refused.
func toolName(name string) string {
	name = strings.Map(func(r rune) rune {
		if badInName(r) {
			return '_'
		}
		return r
	}, name)
	return cmp.Or(name[:min(len(name), maxName)], noName)
}

// IsToolName reports whether every server accepts name as a function's name: 1 to 64
// letters, digits, "_" and "-".
func IsToolName(name string) bool {
	return name != "" && len(name) <= maxName && !strings.ContainsFunc(name, badInName)
}

func badInName(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-')
}

// toolArguments returns args as a JSON object. Many servers parse the arguments of
// earlier calls, and refuse the request if they cannot.
func toolArguments(args string) string {
	if blank(args) {
		return noArgs
	}
	if IsObject(args) {
		return WholeCharacters(args)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(map[string]string{"invalid_arguments": args}); err != nil {
		return noArgs // cannot happen: a string can always be encoded
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// IsObject reports whether s is one JSON object.
func IsObject(s string) bool {
	return strings.HasPrefix(strings.TrimLeft(s, " \t\r\n"), "{") && json.Valid([]byte(s))
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }
