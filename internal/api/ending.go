package api

import (
	"context"

	"dragoman/channels"
	"dragoman/sessions"
)

const (
	// lastSize is how much of the last message a list shows, in bytes, about.
	lastSize = 160
	// lastReads is how many messages are looked at for the last line of a conversation
	// whose queues are empty: those of tools are passed over.
	lastReads = 5
)

// ended adds to conversations that the caller may read what was said last, and what is not
// over.
func (s *server) ended(ctx context.Context, list []Conversation, may func(channels.Key) bool) error {
	for i := range list {
		c := &list[i]
		if !may(c.Key) {
			continue
		}
		end, err := s.Store.Ending(ctx, c.Key)
		if err != nil {
			return err
		}
		c.Waiting = end.Waiting
		c.Answering = end.Begun
		if s.Talk != nil && !c.Answering { // a turn that has not made a step is in no store
			turn, _ := s.Talk.Saying(c.Key)
			c.Answering = turn != ""
		}
		c.GivenUp = end.Dead
		if end.Last == nil {
			end.Last, err = s.lastKept(ctx, c.Key, c.Group)
			if err != nil {
				return err
			}
		}
		c.Last = lastLineOf(end.Last)
	}
	return nil
}

// lastKept is the last message of a person or a model in the transcript; nil: there is none
// among the newest.
func (s *server) lastKept(ctx context.Context, k channels.Key, group bool) (*sessions.FeedItem, error) {
	end, err := s.end(ctx, k)
	if err != nil || end == 1 {
		return nil, err
	}
	newest, err := s.Store.Messages(ctx, k, max(end-1-lastReads, 0), lastReads)
	if err != nil {
		return nil, err
	}
	for i := len(newest) - 1; i >= 0; i-- {
		m := completed(newest[i], group)
		item := sessions.FeedItem{From: "person", Name: m.Name, Text: m.Said(), At: m.At, Attachments: m.Attachments}
		switch {
		case m.Role == sessions.RoleUser && !m.Synthetic:
			return &item, nil
		case m.Role == sessions.RoleAssistant && m.Content != "":
			item.From = "dragoman"
			item.Name = ""
			return &item, nil
		}
	}
	return nil, nil
}

// lastLineOf is an item as a line of a list.
func lastLineOf(item *sessions.FeedItem) *LastLine {
	if item == nil {
		return nil
	}
	line := LastLine{From: item.From, Name: item.Name, Text: firstWords(item.Text, lastSize), At: item.At, State: string(item.State), Kind: string(item.Kind)}
	if line.Text == "" && len(item.Attachments) > 0 {
		line.File = string(item.Attachments[0].Kind)
		line.Text = line.File
	}
	return &line
}
