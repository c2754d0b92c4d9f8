package api

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"dragoman/channels"
	"dragoman/internal/actions"
	"dragoman/internal/people"
	"dragoman/internal/respond"
	"dragoman/internal/stream"
	"dragoman/sessions"
	"dragoman/sessions/erasure"
)

// Approvals has the questions about calls that need a yes, and takes answers.
type Approvals interface {
	List(ctx context.Context, chat channels.Key) ([]actions.Question, error)
	Find(ctx context.Context, id string) (actions.Question, bool, error)
	Answer(ctx context.Context, who actions.Who, id string, a actions.Answer) (actions.Outcome, error)
	Standings(ctx context.Context, chat channels.Key) ([]actions.Standing, error)
	Revoke(ctx context.Context, chat channels.Key, id string) error
}

// Approval is a call of a tool that somebody was asked about.
type Approval struct {
	ID  string       `json:"id"`
	Key channels.Key `json:"key"` // where it is asked
	// Code is what people write to answer it in the chat.
	Code string `json:"code"`
	// State is pending, allowed, used, denied, expired or closed.
	State string `json:"state"`
	Turn  string `json:"turn"`
	Tool  string `json:"tool"`
	// Arguments are those of the call, as JSON: at most 12,000 characters of Length. In a
	// list, those in talks that the caller reads along are left out.
	Arguments string `json:"arguments"`
	Length    int    `json:"length"`
	// Parts are the arguments one by one, what decides most first. A call that is described
	// in words has none.
	Parts []ApprovalPart `json:"parts,omitempty"`
	Why   string         `json:"why"` // it is asked about
	// Requester is for whom it is done: an identity like telegram:42.
	Requester string `json:"requester"`
	// Mine: the caller may answer it.
	Mine bool `json:"mine,omitempty"`
	// MayAlways: it can be allowed for the future, too.
	MayAlways bool      `json:"may_always,omitempty"`
	Always    bool      `json:"always,omitempty"` // it was
	Asked     time.Time `json:"asked"`
	Until     time.Time `json:"until"`
	Decided   time.Time `json:"decided,omitzero"`
	By        string    `json:"by,omitempty"` // who decided
	ByName    string    `json:"by_name,omitempty"`
}

// ApprovalPart is one argument of a call.
type ApprovalPart struct {
	Name string `json:"name"`
	// Value is text, or JSON of what is none: the first of Length characters.
	Value  string `json:"value"`
	Length int    `json:"length"`
}

// ApprovalQuery asks for one page of the questions.
type ApprovalQuery struct {
	// Key chooses those of one conversation.
	Key channels.Key `json:"key,omitzero"`
	// Pending chooses those that wait for an answer.
	Pending bool `json:"pending,omitempty"`
	// After is the Next of the page before.
	After string `json:"after,omitempty"`
	// Limit is 1 to 200; left out: a hundred.
	Limit int `json:"limit,omitempty"`
}

// ApprovalID names a question.
type ApprovalID struct {
	ID string `json:"id"`
}

// Answer answers a question.
type Answer struct {
	ID string `json:"id"`
	// Answer is allow, deny or always: now, and whenever it is exactly the same.
	Answer string `json:"answer"`
}

// Decision is what became of an answer.
type Decision struct {
	Approval Approval `json:"approval"`
	// Changed: the answer counted. Else it was settled before, as Approval says.
	Changed bool   `json:"changed"`
	Text    string `json:"text"` // the same in words
}

// Standing is a call that is always allowed in a conversation.
type Standing struct {
	ID        string       `json:"id"`
	Key       channels.Key `json:"key"`
	Tool      string       `json:"tool"`
	Arguments string       `json:"arguments"` // as JSON, perhaps cut
	By        string       `json:"by"`
	At        time.Time    `json:"at"`
}

// StandingID names what is always allowed in a conversation.
type StandingID struct {
	Key channels.Key `json:"key"`
	ID  string       `json:"id"`
}

func (a Answer) about(act *erasure.Act) {
	act.Targets = []string{a.ID}
	act.Name = a.Answer
}
func (s StandingID) about(act *erasure.Act) { act.Targets = []string{s.Key.String(), s.ID} }

// deciding is the caller as one who decides: with their own identity, and as what they are
// in rooms. Rights never come from an identity that was joined with it. Whoever runs
// Dragoman decides everywhere, with a token that may operate.
func (s *server) deciding(ctx context.Context) actions.Who {
	p := caller(ctx)
	who := actions.Who{Name: p.Speaker(), Known: []string{p.ID}, Operator: p.IsOperator() && p.May(people.Operate)}
	for _, room := range s.Directory.Rooms() {
		who.Known = append(who.Known, people.Identity(room, p.ID))
	}
	return who
}

// seesApproval reports whether the caller reads q: whoever reads its conversation does, and
// whoever decides about it themselves. named: the caller asked for this question or for its
// conversation, which is a reading; else it is one of a list.
func (s *server) seesApproval(ctx context.Context, who actions.Who, q actions.Question, named bool) (bool, error) {
	who.Operator = false
	if who.MayDecide(q) {
		return true, nil
	}
	sight, err := s.sight(ctx, q.Chat)
	if named && err == nil && !sight.May {
		sight, err = s.Reads.Read(ctx, caller(ctx), q.Chat)
	}
	return sight.May, err
}

// decidesUnread reports whether the caller may decide what is asked in a talk that they can
// read along, and have not asked for. A list then has it without its words, as it has the
// talk.
func (s *server) decidesUnread(ctx context.Context, who actions.Who, chat channels.Key) (bool, error) {
	if !who.Operator {
		return false, nil
	}
	sight, err := s.Reads.Of(ctx, caller(ctx), chat)
	return sight.May, err
}

func approvalOf(q actions.Question, who actions.Who) Approval {
	var parts []ApprovalPart
	for _, p := range q.Parts {
		parts = append(parts, ApprovalPart{p.Name, p.Value, p.Length})
	}
	return Approval{
		ID: q.ID, Key: q.Chat, Code: q.Code, State: string(q.State), Turn: q.Turn, Tool: q.Tool, Arguments: q.Shown, Length: q.Length, Parts: parts, Why: q.Why,
		Requester: q.Requester, Mine: who.MayDecide(q), MayAlways: q.MayAlways, Always: q.Always, Asked: q.Asked, Until: q.Until, Decided: q.Decided, By: q.By,
		ByName: q.ByName,
	}
}

func (s *server) approvals(ctx context.Context, q ApprovalQuery) (Page[Approval], error) {
	if s.Approvals == nil {
		return Page[Approval]{}, ErrNoDaemon
	}
	all, err := s.Approvals.List(ctx, q.Key)
	if err != nil {
		return Page[Approval]{}, err
	}
	who := s.deciding(ctx)
	var list []Approval
	for _, one := range all {
		if q.Pending && one.State != actions.Pending {
			continue
		}
		sees, err := s.seesApproval(ctx, who, one, !q.Key.IsZero())
		if err != nil {
			return Page[Approval]{}, err
		}
		if !sees {
			one.Shown = ""
			one.Parts = nil
			one.Why = ""
			sees, err = s.decidesUnread(ctx, who, one.Chat)
		}
		if err != nil {
			return Page[Approval]{}, err
		}
		if sees {
			list = append(list, approvalOf(one, who))
		}
	}
	at := func(a Approval) place { return place{At: a.Asked, ID: a.ID} }
	return pageAfter(list, at, newestFirst, q.After, q.Limit)
}

// approval is the question with that id, if the caller sees it. Errors: ErrNotFound.
func (s *server) question(ctx context.Context, id string) (q actions.Question, err error) {
	if s.Approvals == nil {
		return q, ErrNoDaemon
	}
	q, found, err := s.Approvals.Find(ctx, id)
	if err != nil {
		return q, err
	}
	sees := false
	if found {
		sees, err = s.seesApproval(ctx, s.deciding(ctx), q, true)
	}
	if err == nil && !sees {
		err = fmt.Errorf("api: approval %s: %w", id, sessions.ErrNotFound)
	}
	return q, err
}

func (s *server) approval(ctx context.Context, id ApprovalID) (Approval, error) {
	q, err := s.question(ctx, id.ID)
	return approvalOf(q, s.deciding(ctx)), err
}

func (s *server) decide(ctx context.Context, a Answer) (Decision, error) {
	answer := actions.Answer(a.Answer)
	if !slices.Contains([]actions.Answer{actions.AllowOnce, actions.Deny, actions.AllowAlways}, answer) {
		return Decision{}, refuse("answer", "answer is allow, deny or always")
	}
	_, err := s.question(ctx, a.ID)
	if err != nil {
		return Decision{}, err
	}
	who := s.deciding(ctx)
	o, err := s.Approvals.Answer(ctx, who, a.ID, answer)
	switch {
	case err != nil:
		return Decision{}, err
	case o.Result == actions.NoSuch:
		return Decision{}, fmt.Errorf("api: approval %s: %w", a.ID, sessions.ErrNotFound)
	case o.Result == actions.NotYours:
		return Decision{}, &respond.Refusal{Status: http.StatusForbidden, Code: "forbidden", Sentence: o.Say()}
	case o.Result == actions.NotAlways:
		return Decision{}, refuse("answer", "it can only be allowed once")
	}
	return Decision{Approval: approvalOf(o.Question, who), Changed: o.Result == actions.Decided, Text: o.Say()}, nil
}

func (s *server) standings(ctx context.Context, q OptionalKey) (Page[Standing], error) {
	if s.Approvals == nil {
		return Page[Standing]{}, ErrNoDaemon
	}
	all, err := s.Approvals.Standings(ctx, q.Key)
	if err != nil {
		return Page[Standing]{}, err
	}
	var list []Standing
	for _, one := range all {
		sight, err := s.sight(ctx, one.Chat)
		if err != nil {
			return Page[Standing]{}, err
		}
		if sight.May {
			list = append(list, Standing{ID: one.ID, Key: one.Chat, Tool: one.Tool, Arguments: one.Shown, By: one.By, At: one.At})
		}
	}
	return pageOf(list, nil)
}

// OptionalKey chooses what belongs to one conversation; without one it is all.
type OptionalKey struct {
	Key channels.Key `json:"key,omitzero"`
}

func (s *server) revoke(ctx context.Context, id StandingID) error {
	if s.Approvals == nil {
		return ErrNoDaemon
	}
	sight, err := s.sight(ctx, id.Key)
	if err == nil && !sight.May {
		err = fmt.Errorf("api: standing %s: %w", id.ID, sessions.ErrNotFound)
	}
	if err != nil {
		return err
	}
	err = s.Approvals.Revoke(ctx, id.Key, id.ID)
	if err == nil {
		s.emit(stream.Event{Event: stream.ApprovalChange, Key: id.Key, Why: "revoked"})
	}
	return err
}
