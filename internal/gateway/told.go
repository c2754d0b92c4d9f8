package gateway

import (
	"strings"
	"sync"
	"unicode/utf16"

	"dragoman/agent"
	"dragoman/internal/stream"
	"dragoman/sessions"
)

// telling is what was published of a running turn. The zero value is nothing.
type telling struct {
	mu    sync.Mutex
	text  string // of the answer, as far as it was published
	units int    // its length in UTF-16 code units
}

// about is an event about the turn of r.
func (r *run) about(name stream.Name) stream.Event {
	return stream.Event{Event: name, Key: r.claim.Key, Turn: r.id}
}

// watched reports whether somebody listens to events of that name about the turn of r.
func (r *run) watched(name stream.Name) bool {
	return r.g.opts.Events.Watched(r.claim.Key, name)
}

// tellJoined publishes that a message joined the turn, after that was journaled.
func (r *run) tellJoined(w *sessions.InboxRecord) {
	e := r.about(stream.TurnJoined)
	e.Seq = w.Seq
	e.ID = w.Inbound.ID
	r.g.emit(e)
}

// tellProgress publishes what p adds to the answer. An answer that does not begin with
// what was published comes whole, in an event with Why "anew".
func (r *run) tellProgress(p agent.Progress) {
	r.told.mu.Lock()
	defer r.told.mu.Unlock()
	if p.Text == r.told.text || !r.watched(stream.Text) {
		return
	}
	e := r.about(stream.Text)
	added, grows := strings.CutPrefix(p.Text, r.told.text)
	if grows {
		e.Text = added
		e.Offset = r.told.units
	} else {
		e.Text = p.Text
		e.Why = "anew"
	}
	r.told.text = p.Text
	r.told.units = e.Offset
	for _, c := range e.Text {
		r.told.units += utf16.RuneLen(c)
	}
	r.g.emit(e)
}

// tellThought publishes more of what the model thinks.
func (r *run) tellThought(piece string) {
	if !r.watched(stream.Thought) {
		return
	}
	e := r.about(stream.Thought)
	e.Text = piece
	r.g.emit(e)
}

// tellStep publishes that a tool call begins or has ended, after it was journaled.
func (r *run) tellStep(s sessions.Step) {
	switch {
	case s.Kind == sessions.StepToolStart && r.watched(stream.ToolBegun):
		r.tellTool(stream.ToolBegun, s.CallID, s.Tool)
	case s.Kind == sessions.StepToolDone && s.Message != nil && r.watched(stream.ToolEnded):
		r.tellTool(stream.ToolEnded, s.CallID, s.Message.Name)
	}
}

func (r *run) tellTool(name stream.Name, call, tool string) {
	e := r.about(name)
	e.Call = call
	e.Tool = tool
	r.g.emit(e)
}
