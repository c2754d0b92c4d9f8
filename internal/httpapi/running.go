package httpapi

import (
	"context"

	"dragoman/channels"
	"dragoman/sessions"
)

// Running is an unfinished turn: it runs now, or will resume after a crash.
type Running struct {
	Turn string `json:"turn"` // "": there is none
	// Messages are those that it answers and its own so far, as they will be in
	// the transcript, but without a seq.
	Messages []sessions.Message `json:"messages"`
}

func (a *admin) running(ctx context.Context, k channels.Key) (Running, error) {
	p, err := a.Store.Running(ctx, k)
	return Running{p.Turn, soFar(p)}, err
}

// soFar returns the messages of a journal. Those that joined the running turn
// are steps of it, and are returned where they joined.
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
			m.Seq = 0 // a steered message has its seq in the inbox
			list = append(list, m)
		}
	}
	for i := range list {
		list[i].Turn = p.Turn
	}
	return withoutAttached(list)
}
