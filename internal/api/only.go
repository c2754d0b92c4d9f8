package api

import (
	"context"
	"math"

	"dragoman/channels"
	"dragoman/sessions"
)

// keeper reports whether a list has a conversation.
type keeper func(sessions.Conversation) (bool, error)

// kinds are the words of [ConversationQuery.Only], each with a maker of its keeper. The
// keepers say what the fields of [Conversation] say, so that a list holds what it shows.
var kinds = map[string]func(*server, context.Context) (keeper, error){
	"unread":  (*server).onlyUnread,
	"waiting": (*server).onlyWaiting,
	"private": func(s *server, ctx context.Context) (keeper, error) { return s.onlyGroups(ctx, false), nil },
	"groups":  func(s *server, ctx context.Context) (keeper, error) { return s.onlyGroups(ctx, true), nil },
}

// only is the keeper for a word of the caller, nil for "", which keeps all.
func (s *server) only(ctx context.Context, word string) (keeper, error) {
	if word == "" {
		return nil, nil
	}
	kind, known := kinds[word]
	if !known {
		return nil, refuse("only", "only is unread, waiting, private or groups")
	}
	return kind(s, ctx)
}

// onlyUnread keeps conversations of the caller with messages that they have not read. What
// is counted for each is asked last: of ten thousand conversations most are read.
func (s *server) onlyUnread(ctx context.Context) (keeper, error) {
	marks, err := s.marks(ctx)
	if err != nil {
		return nil, err
	}
	mine, err := s.writesAs(ctx)
	if err != nil {
		return nil, err
	}
	return func(c sessions.Conversation) (bool, error) {
		added := c.Messages - marks[c.Key.String()].Read
		if marks == nil || added <= 0 {
			return false, nil
		}
		sight, err := s.sight(ctx, c.Key)
		if err != nil || !sight.May || !sight.Own && !AtSocket(ctx) {
			return false, err
		}
		n, err := s.unread(ctx, c.Key, added, mine)
		return n > 0, err
	}, nil
}

// onlyWaiting keeps conversations with a message that waits for its answer, or an answer that
// was given up. The queue names those that may have one.
func (s *server) onlyWaiting(ctx context.Context) (keeper, error) {
	items, err := s.Store.ListQueue(ctx, math.MaxInt)
	if err != nil {
		return nil, err
	}
	open := make(map[channels.Key]bool)
	for _, i := range items {
		open[i.Key] = true
	}
	return func(c sessions.Conversation) (bool, error) {
		if !open[c.Key] {
			return false, nil
		}
		sight, err := s.sight(ctx, c.Key)
		if err != nil || !sight.May {
			return false, err
		}
		end, err := s.Store.Ending(ctx, c.Key)
		return end.Waiting > 0 || end.Dead > 0, err
	}, nil
}

// onlyGroups keeps groups, or all else.
func (s *server) onlyGroups(ctx context.Context, groups bool) keeper {
	return func(c sessions.Conversation) (bool, error) {
		sight, err := s.Reads.Of(ctx, caller(ctx), c.Key)
		return sight.Group == groups, err
	}
}
