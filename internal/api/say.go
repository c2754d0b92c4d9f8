package api

import (
	"cmp"
	"context"
	"crypto/rand"
	"net/http"

	"dragoman/channels"
	"dragoman/internal/people"
	"dragoman/internal/respond"
	"dragoman/sessions/erasure"
)

// Talk is what somebody can do in a conversation besides to ask and wait. Each goes the
// way of a message of its channel. An error that the caller is to read is a
// [respond.Refusal]. With the same id each is done once.
type Talk interface {
	// Say puts a message, which has an id, into a conversation.
	Say(ctx context.Context, p Prompt) (Said, error)
	// Edit puts a message in the place of an earlier one of the same person.
	Edit(ctx context.Context, e Edit) (Said, error)
	// Order carries out a command, like "stop". Only "again" has a model: see [AnotherTry].
	Order(ctx context.Context, o Ordered, name, model string) error
	// Reply sends what somebody wrote by hand.
	Reply(ctx context.Context, r Reply) error
	// Saying returns the answer of the running turn so far and the turn's id, if it runs
	// in this process and is not stored; else "".
	Saying(k channels.Key) (turn, text string)
}

// Prompt is a message for a conversation. Without an id it gets one.
type Prompt struct {
	Key  channels.Key `json:"key"`
	ID   string       `json:"id,omitempty"`
	Text string       `json:"text"`
	// Mode is how it is answered while a turn runs: "steer" hands it to the turn between
	// its steps, "interrupt" begins the turn again with it. "": as configured.
	Mode string `json:"mode,omitempty"`
	// Model is the model that answers this message alone; "": the conversation's.
	Model string `json:"model,omitempty"`
	// Files were uploaded before, with POST /files. With one the text may be empty.
	Files []SentFile `json:"files,omitempty"`
}

// Edit is a new text for an earlier message of one's own. Without an id it gets one.
type Edit struct {
	Key channels.Key `json:"key"`
	// Seq is that of the message in the transcript.
	Seq  int64  `json:"seq"`
	ID   string `json:"id,omitempty"`
	Text string `json:"text"`
	// Model is the model that answers; "": the conversation's.
	Model string `json:"model,omitempty"`
}

// Said is a message that was taken.
type Said struct {
	Key channels.Key `json:"key"`
	ID  string       `json:"id"` // with which it is safe to repeat
	// Seq and Row are the seq and id by which events and the feed name it.
	Seq int64  `json:"seq"`
	Row string `json:"row"`
	// Repeated: it was taken before, with the same id.
	Repeated bool `json:"repeated,omitempty"`
}

// AsThemselves is the As of a [Reply] of whoever does not speak for the assistant.
const AsThemselves = "me"

// Reply is what somebody writes by hand into a conversation. Without an id it gets one.
type Reply struct {
	Key  channels.Key `json:"key"`
	ID   string       `json:"id,omitempty"`
	Text string       `json:"text"`
	// As is "assistant", who then sees it as its own words, or "me": the text begins with
	// the name of the caller, and is stored as theirs. "": assistant.
	As string `json:"as,omitempty"`
}

// Ordered is an order about a conversation. Without an id it gets one.
type Ordered struct {
	Key channels.Key `json:"key"`
	ID  string       `json:"id,omitempty"`
}

func (e Edit) about(act *erasure.Act)       { act.Targets = []string{e.Key.String()} }
func (r Reply) about(act *erasure.Act)      { act.Targets = []string{r.Key.String()} }
func (p Prompt) about(act *erasure.Act)     { act.Targets = []string{p.Key.String()} }
func (a AnotherTry) about(act *erasure.Act) { act.Targets = []string{a.Key.String()} }

func (o Ordered) about(act *erasure.Act) { act.Targets = []string{o.Key.String()} }

// AnotherTry asks for another answer to the last message.
type AnotherTry struct {
	Key channels.Key `json:"key"`
	ID  string       `json:"id,omitempty"`
	// Model is the model that answers this time; "": the conversation's.
	Model string `json:"model,omitempty"`
}

// say puts a message into a conversation and does not wait: events tell the rest.
func (s *server) say(ctx context.Context, p Prompt) (Said, error) {
	id, err := s.mayTalk(ctx, p.Key, p.ID)
	if err != nil {
		return Said{}, err
	}
	if p.Mode != "" && p.Mode != "steer" && p.Mode != "interrupt" {
		return Said{}, refuse("mode", "mode is steer or interrupt")
	}
	if p.Mode == "steer" && p.Model != "" {
		return Said{}, refuse("model", "a message for the running turn cannot choose its model")
	}
	if err := s.checkFiles(p.Files); err != nil {
		return Said{}, err
	}
	p.ID = id
	return s.Talk.Say(ctx, p)
}

// edit replaces a message of the caller and has the new one answered. In a group it needs
// the scope operate: the model forgets what others said after it, too.
func (s *server) edit(ctx context.Context, e Edit) (Said, error) {
	id, err := s.mayTalk(ctx, e.Key, e.ID)
	if err != nil {
		return Said{}, err
	}
	if err := s.change(ctx, e.Key); err != nil {
		return Said{}, err
	}
	if e.Seq < 1 {
		return Said{}, refuse("seq", "seq is the number of a message")
	}
	e.ID = id
	return s.Talk.Edit(ctx, e)
}

// reply sends what the caller wrote by hand.
func (s *server) reply(ctx context.Context, r Reply) error {
	id, err := s.mayTalk(ctx, r.Key, r.ID)
	if err != nil {
		return err
	}
	if r.As != "" && r.As != "assistant" && r.As != AsThemselves {
		return refuse("as", "as is assistant or me")
	}
	r.ID = id
	return s.Talk.Reply(ctx, r)
}

// order makes the verb that carries out a command.
func order(name string) func(*server, context.Context, Ordered) error {
	return func(s *server, ctx context.Context, o Ordered) error { return s.order(ctx, o, name, "") }
}

func (s *server) again(ctx context.Context, a AnotherTry) error {
	return s.order(ctx, Ordered{Key: a.Key, ID: a.ID}, "again", a.Model)
}

func (s *server) order(ctx context.Context, o Ordered, name, model string) (err error) {
	o.ID, err = s.mayTalk(ctx, o.Key, o.ID)
	if err != nil {
		return err
	}
	return s.Talk.Order(ctx, o, name, model)
}

// mayTalk refuses those who may not talk in k: it is not theirs, and they have not the
// scope operate. It returns the id, or a new one.
func (s *server) mayTalk(ctx context.Context, k channels.Key, id string) (string, error) {
	if s.Talk == nil {
		return "", ErrNoDaemon
	}
	sight, err := s.read(ctx, k)
	if err != nil {
		return "", err
	}
	if !sight.Own && !caller(ctx).May(people.Operate) {
		return "", &respond.Refusal{
			Status: http.StatusForbidden, Code: respond.CodeScope,
			Sentence: "This needs the scope " + string(people.Operate) + ", because the conversation is not yours.",
		}
	}
	id = cmp.Or(id, rand.Text())
	if !askID.Regexp().MatchString(id) {
		return "", refuse("id", "an id has 1 to 64 letters, digits, _ or -")
	}
	return id, nil
}
