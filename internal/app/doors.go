package app

import (
	"context"
	"slices"
	"strings"

	"dragoman/channels"
	"dragoman/channels/live"
	"dragoman/internal/api"
	"dragoman/internal/gateway"
	"dragoman/internal/media"
	"dragoman/internal/people"
)

// doors is the [api.Talk] of a daemon: the gateway's doors, for whoever asks.
type doors struct{ d *Daemon }

var _ api.Talk = doors{}

// question is what the caller of ctx says in k. Only the operator talks everywhere;
// others only in rooms of theirs.
func (d *Daemon) question(ctx context.Context, k channels.Key, id, text string) (gateway.Question, error) {
	q := gateway.Question{Key: k, ID: id, Text: text, Owner: api.AtSocket(ctx), Via: api.Via(ctx)}
	p, _ := people.From(ctx)
	if p.IsOperator() {
		return q, nil
	}
	own, err := d.reads.IsOwn(ctx, p, k)
	if err != nil {
		return q, err
	}
	if !own || !slices.Contains(d.people.Rooms(), k.Channel()) || !channels.IsRoom(people.RoomName(k)) {
		return q, errNoRoom
	}
	q.Sender = channels.Person{IDs: []string{people.RoomAuthor(p)}}
	return q, nil
}

func (t doors) Say(ctx context.Context, p api.Prompt) (api.Said, error) {
	q, err := t.d.question(ctx, p.Key, p.ID, p.Text)
	if err != nil {
		return api.Said{}, err
	}
	q.Model = p.Model
	for _, f := range p.Files {
		q.Attachments = append(q.Attachments, attachmentOf(f))
	}
	said, err := t.d.gateway.Say(ctx, q, gateway.Mode(p.Mode))
	return api.Said{Key: p.Key, ID: p.ID, Seq: said.Seq, Row: said.ID, Repeated: said.Repeated}, refusalOfQuestion(p.Key, err)
}

// attachmentOf is an upload as a part of a message.
func attachmentOf(f api.SentFile) channels.Attachment {
	a := live.Attachment(f.Ref, f.Name, f.Type)
	if f.Seconds > 0 && a.Kind == channels.AttachmentAudio {
		a.Kind = channels.AttachmentVoice
		a.Seconds = f.Seconds
	}
	return a
}

// Edit says something in the place of a message that the caller wrote, under any of their
// ids on that channel.
func (t doors) Edit(ctx context.Context, e api.Edit) (api.Said, error) {
	q, err := t.d.question(ctx, e.Key, e.ID, e.Text)
	if err != nil {
		return api.Said{}, err
	}
	p, _ := people.From(ctx)
	identities, err := t.d.reads.Mine(ctx, p)
	if err != nil {
		return api.Said{}, err
	}
	for _, one := range identities {
		id, here := strings.CutPrefix(one, e.Key.Channel()+":")
		if here {
			q.Own = append(q.Own, id)
		}
	}
	q.Model = e.Model
	q.Replaces = e.Seq
	said, err := t.d.gateway.Say(ctx, q, "")
	return api.Said{Key: e.Key, ID: e.ID, Seq: said.Seq, Row: said.ID, Repeated: said.Repeated}, refusalOfQuestion(e.Key, err)
}

func (t doors) Order(ctx context.Context, o api.Ordered, name, model string) error {
	q, err := t.d.question(ctx, o.Key, name+"-"+o.ID, "")
	if err != nil {
		return err
	}
	q.Model = model
	return refusalOfQuestion(o.Key, t.d.gateway.Order(ctx, q, name))
}

func (t doors) Reply(ctx context.Context, r api.Reply) error {
	p, _ := people.From(ctx)
	q := gateway.Question{Key: r.Key, ID: r.ID, Text: r.Text}
	return refusalOfQuestion(r.Key, t.d.gateway.Reply(ctx, q, p.Speaker(), r.As == api.AsThemselves))
}

// Saying asks no store. Whoever asks for it may read k.
func (t doors) Saying(k channels.Key) (turn, text string) { return t.d.gateway.Saying(k) }

// filesOf is the files of messages; nil if there are none.
func filesOf(s *media.Store) api.Files {
	if s == nil {
		return nil
	}
	return s
}
