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
func (d openRooms) Room(ctx context.Context, who people.Principal, name string) (openai.Room, error) {
	k, err := d.keyOf(ctx, who, name)
	if err != nil {
		return openai.Room{}, err
	}
	c, err := d.store.Conversation(ctx, k)
	if errors.Is(err, sessions.ErrNotFound) {
		err = nil
	}
	return openai.Room{Key: k, Settings: c.Settings}, err
}

// keyOf is the key of who's conversation of that name.
func (d openRooms) keyOf(ctx context.Context, who people.Principal, name string) (channels.Key, error) {
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
		Key: m.Key, ID: m.ID, Text: m.Text, Attachments: m.Pictures, Instructions: m.Instructions, Leave: true,
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
	return openai.Reply{Text: answer.Text, Turn: answer.Turn, Usage: answer.Usage, Parked: answer.Parked}, refusalOfQuestion(m.Key, err)
}

// Transcript implements [openai.Rooms].
func (d openRooms) Transcript(ctx context.Context, k channels.Key, p openai.Part) (all []sessions.Message, err error) {
	generations, err := d.store.Generations(ctx, k)
	if errors.Is(err, sessions.ErrNotFound) || err == nil && len(generations) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	newest := generations[len(generations)-1]
	after := max(p.After, newest.FirstSeq-1)
	last := newest.LastSeq
	if p.Before > 0 {
		last = min(last, p.Before-1)
	}
	most := int64(p.Most)
	if most > 0 && !p.Oldest {
		after = max(after, last-most)
	}
	if most > 0 && p.Oldest {
		last = min(last, after+most)
	}
	const page = 200
	for after < last {
		msgs, err := d.store.Messages(ctx, k, after, int(min(page, last-after)))
		if errors.Is(err, sessions.ErrNotFound) || err == nil && len(msgs) == 0 {
			break // it was deleted meanwhile
		}
		if err != nil {
			return nil, err
		}
		for _, m := range msgs {
			if m.Seq > last {
				return all, nil
			}
			all = append(all, m)
		}
		after = msgs[len(msgs)-1].Seq
	}
	return all, nil
}

// Configure implements [openai.Rooms].
func (d openRooms) Configure(ctx context.Context, k channels.Key, change func(*sessions.Settings) error) error {
	return d.store.Configure(ctx, k, change)
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
