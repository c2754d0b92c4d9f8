package gateway

import (
	"context"

	"dragoman/internal/admission"
	"dragoman/sessions"
)

// beside is what a rule says at the end of an answer, once.
type beside struct {
	admission.Notice
	by      admission.Teller
	without []sessions.Reply // the answer alone
}

// addNotice adds to t what the first rule that has something to tell says beside the answer
// text. It is no part of the conversation, and the commit refuses it if it was said before.
func (r *run) addNotice(ctx context.Context, t *sessions.Turn, text string) {
	for _, rule := range *r.g.rules.Load() {
		by, able := rule.(admission.Teller)
		if !able {
			continue
		}
		n := by.Tell(ctx, r.asked())
		if n.Once == nil {
			continue
		}
		r.beside = &beside{Notice: n, by: by, without: t.Replies}
		t.Once = n.Once
		t.Replies = r.replies(*t, text+"\n\n"+r.g.SpellCommands(r.claim.Key, n.Say), "ran")
		return
	}
}

// leaveOut takes what was said before out of t.
func (b *beside) leaveOut(t *sessions.Turn) {
	b.by.Told(b.Notice)
	t.Once = nil
	t.Replies = b.without
}
