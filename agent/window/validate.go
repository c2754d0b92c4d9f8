package window

import (
	"errors"
	"fmt"

	"dragoman/sessions"
)

// ErrShape: the request has a shape that some server refuses.
var ErrShape = errors.New("malformed request")

// Validate returns an error that wraps [ErrShape] unless every server accepts the
// shape of msgs. It must be called after the last change to a request.
func Validate(msgs []sessions.Message) error {
	if len(msgs) == 0 {
		return fmt.Errorf("window: %w: it has no messages", ErrShape)
	}
	used := make(map[string]bool)
	for i := 0; i < len(msgs); i++ {
		m := msgs[i]
		if why := problem(m); why != "" {
			return fmt.Errorf("window: %w: message %d (%s) %s", ErrShape, i, m.Role, why)
		}
		if len(m.ToolCalls) == 0 {
			continue
		}
		n, why := checkGroup(msgs[i:], used)
		if why != "" {
			return fmt.Errorf("window: %w: message %d (%s) %s", ErrShape, i+n, msgs[min(i+n, len(msgs)-1)].Role, why)
		}
		i += n
	}
	return nil
}

// problem says what is wrong with m as a single message or as the first of a group.
func problem(m sessions.Message) string {
	switch m.Role {
	case sessions.RoleUser:
		switch {
		case blank(m.Content):
			return "is empty"
		case m.ToolCalls != nil || m.ToolCallID != "":
			return "speaks of tool calls"
		}
	case sessions.RoleAssistant:
		switch {
		case m.ToolCallID != "":
			return "answers a tool call"
		case len(m.ToolCalls) == 0 && m.ToolCalls != nil:
			return "has an empty list of tool calls"
		case len(m.ToolCalls) == 0 && blank(m.Content):
			return "is empty"
		}
	case sessions.RoleTool:
		return "answers no call of the message before it"
	default:
		return "has an unknown role"
	}
	return ""
}

// checkGroup checks the calls of group[0] and the results after it. It returns the
// number of results, or the index of the problem and what it is.
func checkGroup(group []sessions.Message, used map[string]bool) (int, string) {
	open := make(map[string]bool, len(group[0].ToolCalls))
	for _, c := range group[0].ToolCalls {
		switch {
		case c.ID == "":
			return 0, "makes a call without an id"
		case used[c.ID]:
			return 0, "makes a call with an id that was used before"
		case !IsToolName(c.Name):
			return 0, "makes a call with a bad name"
		case !IsObject(c.Arguments):
			return 0, "makes a call whose arguments are not a JSON object"
		}
		used[c.ID] = true
		open[c.ID] = true
	}
	n := 0
	for ; len(open) > 0; n++ {
		if n+1 == len(group) || group[n+1].Role != sessions.RoleTool {
			return n, "is followed by something other than the result of an open call"
		}
		m := group[n+1]
		switch {
		case !open[m.ToolCallID]:
			return n + 1, "answers no open call"
		case blank(m.Content):
			return n + 1, "is empty"
		case m.ToolCalls != nil:
			return n + 1, "makes tool calls"
		}
		delete(open, m.ToolCallID)
	}
	return n, ""
}
