package api

import (
	"context"
	"slices"

	"dragoman/channels"
	"dragoman/internal/people"
	"dragoman/sessions"
)

// maxUnreadReads is how many of the newest unread messages of a conversation are looked at
// for those that do not count. Those before them all count: to somebody who has left a
// hundred messages unread the number says "many".
const maxUnreadReads = 100

// unread is how many of the newest messages of a conversation, added since the caller read
// it, somebody else said: without their own, and without the steps to an answer, which is
// one message to people. mine are the caller's identities.
func (s *server) unread(ctx context.Context, k channels.Key, added int, mine []string) (int, error) {
	if added <= 0 {
		return 0, nil
	}
	newest, err := s.newest(ctx, k, min(added, maxUnreadReads))
	if err != nil {
		return 0, err
	}
	for _, m := range newest {
		if isStep(&m) || isOwn(k, &m, mine) {
			added--
		}
	}
	return max(added, 0), nil
}

// newest are the last messages of k, the oldest first.
func (s *server) newest(ctx context.Context, k channels.Key, limit int) ([]sessions.Message, error) {
	end, err := s.end(ctx, k)
	if err != nil {
		return nil, err
	}
	return s.Store.Messages(ctx, k, max(end-1-int64(limit), 0), limit)
}

// isStep reports whether m is a call of a tool or its result.
func isStep(m *sessions.Message) bool {
	return m.Role == sessions.RoleTool || len(m.ToolCalls) > 0
}

// isOwn reports whether somebody with these identities wrote m in k.
func isOwn(k channels.Key, m *sessions.Message, mine []string) bool {
	if m.Role != sessions.RoleUser || m.Sender == "" {
		return false
	}
	own := slices.Contains(mine, people.Identity(k.Channel(), m.Sender))
	if m.Sender == people.OperatorID { // from the command line, in a chat of any network
		own = own || slices.Contains(mine, people.OperatorID)
	}
	return own
}
