package openai

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"dragoman/channels"
	"dragoman/internal/people"
	"dragoman/internal/respond"
	"dragoman/sessions"
)

const (
	// taskHeader, if not empty, says that a front end asks for itself: a title, tags. Such
	// a request belongs to no conversation.
	taskHeader = "X-Session-Task"
	// convPrefix begins the ids of conversations that POST /v1/conversations made.
	convPrefix = "conv_"
)

// Rooms are the conversations that a request can belong to.
type Rooms interface {
	// Room returns who's conversation, which need not exist yet: name is a key as people
	// write it. The error is a [respond.Refusal] if it is not theirs.
	Room(ctx context.Context, who people.Principal, name string) (Room, error)
	// Say puts m into its conversation, waits for the answer, and returns it, or that the
	// turn is parked. A message with the ID of an earlier one is not said again. When ctx
	// ends, the turn goes on.
	Say(ctx context.Context, who people.Principal, m Message) (Reply, error)
	// Transcript is a part of what was said in k since it last began anew, oldest first.
	Transcript(ctx context.Context, k channels.Key, p Part) ([]sessions.Message, error)
	// Configure changes the settings of a conversation, and makes one that does not exist.
	Configure(ctx context.Context, k channels.Key, change func(*sessions.Settings) error) error
	// Keep stores a picture for a message, and returns its channels.Attachment.Ref.
	Keep(ctx context.Context, data []byte) (ref string, err error)
}

// Room is a conversation that a request can belong to.
type Room struct {
	Key      channels.Key
	Settings sessions.Settings
}

// Part is a part of a transcript: what is between two messages, which are named by their
// Seq and do not belong to it. 0 does not bound.
type Part struct {
	After, Before int64
	// Most is how many messages it has at most: the newest, or the oldest. 0: all.
	Most   int
	Oldest bool
}

// Message is what somebody says in a conversation.
type Message struct {
	Key      channels.Key
	ID, Text string
	// Instructions are those of the client, for this message's turn.
	Instructions string
	Pictures     []channels.Attachment
	// Show gets the answer as it grows. It must not block.
	Show func(text, note string)
}

// Reply is the answer to a Message.
type Reply struct {
	Text  string
	Turn  string // the id of its turn
	Usage sessions.Usage
	// Parked: the turn waits for somebody, or for a time, and Text is what the conversation was
	// told of that. The answer comes there later.
	Parked bool
}

// roomOf reads which conversation a request belongs to; "" is none.
func roomOf(r *http.Request, o *object) string {
	header := r.Header.Get(sessionHeader)
	named := ""
	switch {
	case !o.has("conversation"):
	case o.isText("conversation"):
		named = o.text("conversation")
	default:
		if c := o.object("conversation"); c != nil {
			named = c.text("id")
		}
	}
	if header != "" && named != "" && header != named {
		o.refuse("conversation", "conversation and "+sessionHeader+" name two conversations.")
	}
	name := cmp.Or(header, named)
	if r.Header.Get(taskHeader) != "" {
		return ""
	}
	if strings.HasPrefix(name, convPrefix) {
		name = roomChannel + ":" + name
	}
	return name
}

// roomChannel is the channel whose rooms POST /v1/conversations makes.
const roomChannel = "web"

// fitsRoom refuses what a conversation cannot have.
func (a *asked) fitsRoom(o *object) {
	place := func(field string) *respond.Refusal {
		return bad(field, field+" needs a request whose messages the client keeps: leave "+sessionHeader+" and conversation out.")
	}
	switch last := a.messages[len(a.messages)-1]; {
	case len(a.given.Tools) > 0:
		o.refuseWith(place("tools"))
	case a.given.Format != nil:
		o.refuseWith(place("response_format"))
	case last.Role != sessions.RoleUser:
		o.refuseWith(bad(a.places[len(a.places)-1], "In a conversation, the last message must be the user's."))
	}
}

// sayParked ends an answer whose turn waits for somebody, or for a time: clients give up
// after five minutes, and a person may take longer.
const sayParked = "\n\n(The request ends here, and the turn goes on when that is over. A yes or no: on Dragoman's page, or by POST /api/v1/approvals. " +
	"The answer comes to the conversation; the same request with the same Idempotency-Key gets it, too.)"

// converse says the last message of a request in a conversation, and writes the answer.
func (s *server) converse(w http.ResponseWriter, r *http.Request, body []byte, a *asked, name string, to sink) error {
	who := caller(r)
	room, err := s.room(r.Context(), who, name)
	if err != nil {
		return err
	}
	try, err := s.attemptOf(r, who, body)
	if err != nil {
		return err
	}
	if _, err := try.load(r.Context()); err != nil {
		return err
	}
	replayed := try.kept.Message != ""
	if !replayed {
		if err := s.fits(r.Context(), a, room); err != nil {
			return err
		}
		// A repeat chooses nothing: it has the persona with which the request was taken, or
		// whoever was chosen since.
		if agent := agentOf(a.model); agent != "" {
			err := s.Choose(r.Context(), room.Key, agent)
			if err != nil {
				return s.refusalFor(err)
			}
		}
		// A repeat can say nothing but that it is one, so the message's id is kept first.
		try.kept.Message = "v1-" + rand.Text()
		if err := try.note(r.Context()); err != nil {
			return err
		}
	}
	m, err := s.message(r.Context(), a, room.Key, try.kept.Message)
	if err != nil {
		return err
	}
	if replayed {
		w.Header().Set("Idempotency-Replayed", "true") // before a stream begins
	}
	v := newView(s.Beat, a.id, s.Now())
	m.Show = func(text, note string) { v.set(text, note) }
	var reply Reply
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer recoverTo(&err)
		reply, err = s.Rooms.Say(r.Context(), who, m)
	}()
	v.follow(ended, to)
	if err != nil {
		to.failed(s.refusalFor(err))
		return nil
	}
	out := &outcome{ID: a.id, At: s.Now(), Text: reply.Text, Finish: finishStop, Usage: reply.Usage}
	if reply.Parked {
		out.Text = strings.TrimLeft(v.read().text+"\n\n", "\n") + reply.Text + sayParked
	}
	if a.store != nil {
		if err := a.store(context.WithoutCancel(r.Context()), out, nil, reply.Turn); err != nil {
			to.failed(s.refusalFor(err))
			return nil
		}
	}
	to.done(out)
	return nil
}

// message is the last message of a request, as it is said.
func (s *server) message(ctx context.Context, a *asked, key channels.Key, id string) (Message, error) {
	last := a.messages[len(a.messages)-1]
	m := Message{Key: key, ID: id, Text: a.lastText, Instructions: a.instructions()}
	for _, p := range last.Attachments {
		ref, err := s.Rooms.Keep(ctx, a.pictures[p.File])
		if err != nil {
			return m, err
		}
		p.File = ""
		p.Ref = ref
		m.Pictures = append(m.Pictures, p)
	}
	return m, nil
}

// fits checks that the model and the messages of a request are those of a conversation.
func (s *server) fits(ctx context.Context, a *asked, room Room) error {
	answers := cmp.Or(room.Settings.Model, append(s.names(), "")[1])
	if a.model != Model && a.model != answers && agentOf(a.model) == "" {
		return &respond.Refusal{
			Status: http.StatusUnprocessableEntity, Code: "model_differs", Param: "model", NoRepeat: true,
			Sentence: fmt.Sprintf("This conversation is answered by %s. Ask for %s, or set its model.", answers, Model),
		}
	}
	given := spoken(a.messages[:len(a.messages)-1])
	if len(given) == 0 {
		return nil
	}
	have, err := s.Rooms.Transcript(ctx, room.Key, Part{})
	if err != nil {
		return s.unavailable(err)
	}
	said := spoken(have)
	if slices.Equal(withoutParked(given, said), said) {
		return nil
	}
	return &respond.Refusal{
		Status: http.StatusUnprocessableEntity, Code: "history_differs", Param: "messages", NoRepeat: true,
		Sentence: "The messages before the last one are not those of this conversation. Leave " + sessionHeader + " out, or send only the new message.",
	}
}

// withoutParked is given with what said has in the place of answers whose turns were parked, and
// without the last of them if that still waits: then said has neither it nor its question.
func withoutParked(given, said []string) []string {
	for i := range given {
		switch {
		case !strings.HasSuffix(given[i], strings.TrimSpace(sayParked)):
		case i < len(said):
			given[i] = said[i]
		case i > 0 && i == len(given)-1:
			return given[:i-1]
		}
	}
	return given
}

// spoken is what people and models said, in a form that both sides write alike.
func spoken(msgs []sessions.Message) (list []string) {
	turn := ""
	for i, m := range msgs {
		text, _, _ := strings.Cut(m.Content, "\n[image, ") // a picture is named in another way on each side
		text = strings.TrimSpace(text)
		switch {
		case m.Synthetic || text == "" || m.Role == sessions.RoleTool:
			continue
		case m.Role == sessions.RoleAssistant && i > 0 && turn != "" && m.Turn == turn && strings.HasPrefix(list[len(list)-1], "assistant: "):
			list[len(list)-1] += "\n\n" + text // what it said between two tools
		default:
			list = append(list, string(m.Role)+": "+text)
		}
		turn = m.Turn
		if turn == givenTurn {
			turn = ""
		}
	}
	return list
}
