package httpapi

import (
	"context"

	"dragoman/channels"
	"dragoman/sessions"
)

// Running is a turn that is not finished: it runs, or goes on after a crash.
type Running struct {
	Turn string `json:"turn"` // "": there is none
	// Messages are what it answers and what it came to so far, in the form in
	// which they will stand in the transcript. They have no seq yet.
	Messages []sessions.Message `json:"messages"`
}

func (a *admin) running(ctx context.Context, k channels.Key) (Running, error) {
	p, err := a.Store.Running(ctx, k)
	return Running{p.Turn, soFar(p)}, err
}

// soFar are the messages of a journal. Those that joined the running turn are
// steps of it, and stand where they joined.
func soFar(p sessions.Pending) []sessions.Message {
	joined := make(map[int64]bool)
	for _, s := range p.Steps {
		if s.Kind == sessions.StepSteer && s.Message != nil {
			joined[s.Message.Seq] = true
		}
	}
	list := []sessions.Message{}
	for _, w := range p.Messages {
		if !joined[w.Seq] {
			m := sessions.UserMessage(w.Inbound)
			if m.At.IsZero() {
				m.At = w.Accepted
			}
			list = append(list, m)
		}
	}
	for _, s := range p.Steps {
		if s.Message != nil {
			m := *s.Message
			m.Seq = 0 // a steered message has that of the inbox
			list = append(list, m)
		}
	}
	for i := range list {
		list[i].Turn = p.Turn
	}
	return forPeople(list)
}

// Running returns what the turn of k that is not finished came to so far.
func (c *Client) Running(ctx context.Context, k channels.Key) (Running, error) {
	return fetch[Running](ctx, c, "/v1/sessions/running", k)
}
