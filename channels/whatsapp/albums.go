package whatsapp

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"dragoman/channels"

	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"
)

const (
	// albumKept is how long an album is remembered after its newest part.
	albumKept  = 10 * time.Minute
	mostAlbums = 256
	mostParts  = 30 // in an album of WhatsApp
)

// albums are those that people sent to groups just now. WhatsApp makes a message
// of each picture, and only one of them has the words that say for whom they are;
// that may be the last one. What came before it is kept here until then. After a
// restart those parts are not known any more; that an album is for us is, from the
// device file.
type albums struct {
	mu   sync.Mutex
	last map[choice]*album
}

// choice is what somebody sends together where.
type choice struct{ chat, sender, album string }

func choiceOf(in channels.Inbound) choice { return choice{in.Key.Chat(), in.Sender.ID(), in.Album} }

type album struct {
	addressed bool      // it is for us
	came      time.Time // the last part
	held      []reading // what came before it was for us, in order
}

// albumOf names the album that m is a part of, or is "".
func albumOf(m *waE2E.Message) string {
	a := m.GetMessageContextInfo().GetMessageAssociation()
	if a.GetAssociationType() != waE2E.MessageAssociation_MEDIA_ALBUM {
		return ""
	}
	return a.GetParentMessageKey().GetID()
}

// add takes a part of an album. If that is for us, so is the part, and add
// returns those that came before it; they are to be handed in first, and done to
// be called then. Adding a part once more changes nothing.
func (s *albums) add(got *reading) (before []reading) {
	in := &got.in
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.of(*in)
	a.addressed = a.addressed || in.Addressed
	if a.addressed {
		in.Addressed = true
		for i := range a.held {
			a.held[i].in.Addressed = true
		}
		return slices.Clone(a.held)
	}
	again := slices.ContainsFunc(a.held, func(r reading) bool { return r.in.ID == in.ID })
	if !again && len(a.held) < mostParts {
		a.held = append(a.held, *got)
	}
	return nil
}

// of is the album of in. s.mu is held.
func (s *albums) of(in channels.Inbound) *album {
	a := s.last[choiceOf(in)]
	if a == nil {
		maps.DeleteFunc(s.last, func(_ choice, a *album) bool { return time.Since(a.came) > albumKept })
		if s.last == nil || len(s.last) >= mostAlbums {
			s.last = map[choice]*album{}
		}
		a = &album{}
		s.last[choiceOf(in)] = a
	}
	a.came = time.Now()
	return a
}

// done says that what add returned for in was handed in.
func (s *albums) done(in channels.Inbound) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a := s.last[choiceOf(in)]; a != nil && a.addressed {
		a.held = nil
	}
}

// erase forgets what came in those chats, and from those people.
func (s *albums) erase(chats map[string]bool, people map[types.JID]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.last, func(c choice, _ *album) bool {
		sender, _ := named(c.sender)
		return chats[c.chat] || people[sender]
	})
}

// together finds out whether a message in a group is a part of an album that is
// for us, and which parts of it are to be handed in before.
func (k *connection) together(ctx context.Context, got *reading) (before []reading, err error) {
	in := &got.in
	switch {
	case in.Private, in.Edits != "", in.Album == "":
		return nil, nil
	case in.Addressed:
		err = k.file.noteAlbum(ctx, *in)
	default:
		in.Addressed, err = k.file.isAlbum(ctx, *in)
	}
	if err != nil {
		return nil, err
	}
	return k.c.albums.add(got), nil
}

// begun looks whether a message that says nothing is the beginning of an album
// that is for us: it mentions us, or answers us.
func (k *connection) begun(ctx context.Context, evt *events.Message) error {
	parts := evt.Message.GetAlbumMessage()
	r := k.reader(ctx)
	if parts == nil || evt.Info.Chat.Server != types.GroupServer || !r.wanted(evt) {
		return nil
	}
	if _, addressed := r.address(content{about: parts.GetContextInfo()}); !addressed {
		return nil
	}
	in, err := r.frame(&evt.Info)
	if odd := (*strange)(nil); errors.As(err, &odd) {
		return nil
	}
	if err != nil {
		return err
	}
	in.Album = evt.Info.ID
	return k.file.noteAlbum(ctx, in)
}
