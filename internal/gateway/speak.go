package gateway

import (
	"context"
	"slices"

	"dragoman/channels"
	"dragoman/sessions"
)

// speaks reports whether the turn's answer should be a voice message: the newest message is
// one that its sender recorded, and that was heard. Whoever writes is answered in writing.
func (r *run) speaks() bool {
	if r.g.opts.Speaker == nil || r.job != nil || r.b == nil {
		return false
	}
	newest := r.newest()
	spoken := func(a channels.Attachment) bool {
		return a.Kind == channels.AttachmentVoice && a.Words != "" && !a.Quoted
	}
	if newest.Forwarded != nil || !slices.ContainsFunc(newest.Attachments, spoken) {
		return false
	}
	_, sends := r.b.Channel.(channels.Filer)
	return sends || r.mirrored()
}

// mirrored reports whether people read the answer from the store.
func (r *run) mirrored() bool {
	if r.b == nil {
		return false
	}
	_, mirror := r.b.Channel.(channels.Mirror)
	return mirror
}

// speak makes the answer of t a voice message, which its last message then has. It returns
// nothing if people should read the answer, and if no voice can be had.
func (r *run) speak(ctx context.Context, t *sessions.Turn, text string) channels.Attachment {
	none := channels.Attachment{}
	if !r.speaks() || len(t.Messages) == 0 {
		return none
	}
	if _, preview := r.live.current(); preview != "" && !r.mirrored() {
		return none // people see it already
	}
	voice, err := r.g.opts.Speaker.Speak(ctx, r.claim.Key, r.id, text)
	if err != nil {
		r.log().Warn("an answer could not be spoken; it is sent in writing", "turn", r.id, "err", err)
		return none
	}
	if voice.File == "" {
		return none
	}
	last := &t.Messages[len(t.Messages)-1]
	last.Attachments = append(last.Attachments, voice)
	return voice
}

// asVoice makes an answer the voice message that says it. The text is for networks that do
// not take it, and for whoever reads what was sent.
func asVoice(answer []sessions.Reply, voice channels.Attachment) []sessions.Reply {
	if voice.File == "" {
		return answer
	}
	first := &answer[0]
	first.File = voice.Name
	first.Kept = voice.File
	first.As = voice.Kind
	return answer
}
