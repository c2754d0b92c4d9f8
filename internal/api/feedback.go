package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"dragoman/channels"
	"dragoman/internal/stream"
	"dragoman/sessions"
)

// What somebody thinks of an answer is a note of theirs. Its name is the turn that gave the
// answer: a turn's id stays when conversations are joined, exported or copied, and the seq
// of a message does not.

// The values of feedback.
const (
	feedbackUp   = "up"
	feedbackDown = "down"
)

// maxFeedbackNote is the longest note, in characters.
const maxFeedbackNote = 500

// feedback is the data of a note of sessions.FeedbackKind.
type feedback struct {
	Key   channels.Key `json:"key"`
	Seq   int64        `json:"seq"` // of the answer, at that time
	Model string       `json:"model,omitempty"`
	Value string       `json:"value"`
	Note  string       `json:"note,omitempty"`
}

// Feedback is what somebody thinks of an answer.
type Feedback struct {
	Value string    `json:"value"` // up or down
	Note  string    `json:"note,omitempty"`
	At    time.Time `json:"at"`
}

// FeedbackOn is feedback about an answer of the assistant.
type FeedbackOn struct {
	Key channels.Key `json:"key"`
	// Seq is that of the answer in the transcript.
	Seq   int64  `json:"seq"`
	Value string `json:"value"` // up or down
	// Note has at most 500 characters.
	Note string `json:"note,omitempty"`
}

// AnswerAt names an answer of the assistant.
type AnswerAt struct {
	Key channels.Key `json:"key"`
	Seq int64        `json:"seq"`
}

// isRated reports whether m is an answer that people can think something of: what a model
// said at the end of a turn.
func isRated(m *sessions.Message) bool {
	return m.Role == sessions.RoleAssistant && !m.Synthetic && len(m.ToolCalls) == 0 && m.Turn != ""
}

// answerAt returns an answer that the caller may read.
func (s *server) answerAt(ctx context.Context, k channels.Key, seq int64) (m sessions.Message, err error) {
	if s.Notes == nil {
		return m, fmt.Errorf("api: feedback in %s: %w", k, errors.ErrUnsupported)
	}
	sight, err := s.read(ctx, k)
	if err != nil {
		return m, err
	}
	found, err := s.Store.Messages(ctx, k, seq-1, 1)
	switch {
	case err != nil:
		return m, err
	case seq < 1 || len(found) == 0 || found[0].Seq != seq || seq < sight.From:
		return m, fmt.Errorf("api: message %d of %s: %w", seq, k, sessions.ErrNotFound)
	case !isRated(&found[0]):
		return m, refuse("seq", "message %d is no answer that a turn ended with", seq)
	}
	return found[0], nil
}

// giveFeedback stores what the caller thinks of an answer, in place of what they thought
// before.
func (s *server) giveFeedback(ctx context.Context, f FeedbackOn) error {
	f.Note = strings.TrimSpace(f.Note)
	switch {
	case f.Value != feedbackUp && f.Value != feedbackDown:
		return refuse("value", "value is up or down")
	case utf8.RuneCountInString(f.Note) > maxFeedbackNote:
		return refuse("note", "a note has at most %d characters", maxFeedbackNote)
	}
	answer, err := s.answerAt(ctx, f.Key, f.Seq)
	if err != nil {
		return err
	}
	data := encode(feedback{Key: f.Key, Seq: f.Seq, Model: answer.Model, Value: f.Value, Note: f.Note})
	event := stream.Event{Event: stream.FeedbackChange, Key: f.Key, Turn: answer.Turn, Why: f.Value}
	return s.changeFeedback(ctx, event, func(have []sessions.Note) (put []sessions.Note, remove []string) {
		known := slices.ContainsFunc(have, func(n sessions.Note) bool { return n.Name == answer.Turn })
		if !known && len(have) >= sessions.MaxNotes {
			oldest := slices.MinFunc(have, func(a, b sessions.Note) int { return a.At.Compare(b.At) })
			remove = []string{oldest.Name}
		}
		return []sessions.Note{{Name: answer.Turn, Data: data}}, remove
	})
}

// takeFeedbackBack removes what the caller thinks of an answer, if anything.
func (s *server) takeFeedbackBack(ctx context.Context, a AnswerAt) error {
	answer, err := s.answerAt(ctx, a.Key, a.Seq)
	if err != nil {
		return err
	}
	event := stream.Event{Event: stream.FeedbackChange, Key: a.Key, Turn: answer.Turn, Why: "removed"}
	return s.changeFeedback(ctx, event, func([]sessions.Note) (put []sessions.Note, remove []string) {
		return nil, []string{answer.Turn}
	})
}

// changeFeedback changes the caller's notes, and tells their other pages with e.
func (s *server) changeFeedback(ctx context.Context, e stream.Event, change func(have []sessions.Note) (put []sessions.Note, remove []string)) error {
	owner, err := s.person(ctx)
	if err != nil {
		return err
	}
	err = s.Notes.ChangeNotes(ctx, sessions.FeedbackKind, owner, func(have []sessions.Note) ([]sessions.Note, []string, error) {
		put, remove := change(have)
		return put, remove, nil
	})
	if err == nil {
		e.Person = owner
		s.emit(e)
	}
	return err
}

// markFeedback adds what the caller thinks of the answers among messages. list is made of
// them.
func (s *server) markFeedback(ctx context.Context, messages []sessions.Message, list []Message) error {
	if s.Notes == nil || !slices.ContainsFunc(messages, func(m sessions.Message) bool { return isRated(&m) }) {
		return nil
	}
	owner, err := s.person(ctx)
	if err != nil {
		return err
	}
	notes, err := s.Notes.Notes(ctx, sessions.NoteFilter{Kind: sessions.FeedbackKind, Owner: owner})
	if err != nil {
		return err
	}
	mine := map[string]*Feedback{} // by turn
	for _, n := range notes {
		if f, known := readFeedback(n); known {
			mine[n.Name] = &Feedback{Value: f.Value, Note: f.Note, At: n.At}
		}
	}
	for i := range messages {
		if isRated(&messages[i]) {
			list[i].Feedback = mine[messages[i].Turn]
		}
	}
	return nil
}

// readFeedback reads a note. It does not know what a newer version wrote.
func readFeedback(n sessions.Note) (f feedback, known bool) {
	err := json.Unmarshal(n.Data, &f)
	return f, err == nil && (f.Value == feedbackUp || f.Value == feedbackDown)
}
