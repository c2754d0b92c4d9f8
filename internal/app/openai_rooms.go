package app

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/internal/gateway"
	"dragoman/internal/openai"
	"dragoman/internal/people"
	"dragoman/internal/respond"
	"dragoman/sessions"
)

// openRooms implements [openai.Rooms].
type openRooms struct{ *Daemon }

// errNoTalk refuses a conversation that is not the caller's, or none.
var errNoTalk = &respond.Refusal{
	Status: http.StatusNotFound, Param: "X-Session-Key",
	Sentence: "You have no such conversation. A room of yours is like web:holiday, with 1 to 64 of a-z, 0-9, _ and -.",
}

// Room implements [openai.Rooms].
func (d openRooms) Room(ctx context.Context, who people.Principal, name string) (channels.Key, error) {
	k, err := channels.ParseKey(name)
	if err != nil {
		return k, errNoTalk
	}
	isRoom := slices.Contains(d.people.Rooms(), k.Channel())
	if isRoom && !strings.Contains(k.Chat(), "/") {
		k, err = channels.NewKey(k.Channel(), people.Room(who, k.Chat()))
		if err != nil {
			return k, errNoTalk
		}
	}
	own, err := d.reads.IsOwn(ctx, who, k)
	switch {
	case err != nil:
		return k, err
	case !own || isRoom && !channels.IsRoom(people.RoomName(k)):
		return k, errNoTalk
	case !isRoom && !who.IsOperator():
		return k, errNoRoom
	}
	return k, nil
}

// Say implements [openai.Rooms].
func (d openRooms) Say(ctx context.Context, who people.Principal, m openai.Message) (openai.Reply, error) {
	q := gateway.Question{
		Key: m.Key, ID: m.ID, Text: m.Text, Attachments: m.Pictures, Instructions: m.Instructions,
		Show: func(p agent.Progress) { m.Show(p.Text, p.Note) },
	}
	if slices.Contains(d.people.Rooms(), m.Key.Channel()) {
		q.Sender = channels.Person{IDs: []string{people.RoomAuthor(who)}}
	}
	answer, err := d.gateway.Converse(ctx, q)
	var refused *gateway.RefusedError
	if errors.As(err, &refused) && refused.Told {
		err = &respond.Refusal{Status: http.StatusBadGateway, NoRepeat: true, Sentence: refused.Why}
	}
	return openai.Reply{Text: answer.Text, Turn: answer.Turn, Usage: answer.Usage}, refusalOfQuestion(m.Key, err)
}

// Transcript implements [openai.Rooms].
func (d openRooms) Transcript(ctx context.Context, k channels.Key) (all []sessions.Message, s sessions.Settings, err error) {
	h, err := d.store.History(ctx, k, sessions.HistoryLimit{Messages: 1})
	if err != nil {
		return nil, s, err
	}
	const page = 200
	for after := max(h.FirstSeq-1, 0); ; {
		msgs, err := d.store.Messages(ctx, k, after, page)
		if errors.Is(err, sessions.ErrNotFound) {
			return nil, h.Settings, nil
		}
		if err != nil || len(msgs) == 0 {
			return all, h.Settings, err
		}
		all = append(all, msgs...)
		after = msgs[len(msgs)-1].Seq
	}
}

// Keep implements [openai.Rooms].
func (d openRooms) Keep(ctx context.Context, data []byte) (string, error) {
	ref, _, err := d.files.Put(ctx, bytes.NewReader(data))
	var gone *channels.Gone
	if errors.As(err, &gone) {
		err = &respond.Refusal{Status: http.StatusRequestEntityTooLarge, Sentence: "The picture cannot be kept: " + gone.Why + "."}
	}
	return ref, err
}
