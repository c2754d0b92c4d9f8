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
	// albumWindow is how far apart, by WhatsApp's clock, two pictures without
	// the name of an album are sent that were chosen together.
	albumWindow = 5 * time.Second
	// albumKept is how long the parts of an album that is not for us are kept
	// in case that it is.
	albumKept  = 10 * time.Minute
	mostAlbums = 256
	mostParts  = 30 // in an album of WhatsApp
)

// albums are the pictures that people sent to groups just now. WhatsApp makes
// a message of each, and only one of them has the words that say for whom they
// are; that may be the last one. What came before it is kept here until then.
// After a restart those parts are not known any more; that an album is for us
// is, from the device file.
type albums struct {
	mu   sync.Mutex
	last map[choice]*album
}

// choice is what somebody sends together where. The album is "" where WhatsApp
// has no name for it.
type choice struct{ chat, sender, album string }

type album struct {
	name      string
	nameless  bool      // WhatsApp gave no name; it is the first picture's id
	captioned bool      // a nameless one has its words
	addressed bool      // it is for us
	newest    string    // the id of the last part, which may come again
	sent      time.Time // the last part, by WhatsApp's clock
	came      time.Time // the last part, by ours
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

// add finds the album that a message in a group is a part of. If that is for
// us, so is the message, and add returns the parts that came before it; they
// are to be handed in first, and done to be called then. Adding a part once
// more changes nothing.
func (s *albums) add(got *reading) (before []reading) {
	in := &got.in
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.of(in)
	in.Album = a.name
	a.newest, a.sent, a.came = in.ID, in.At, time.Now()
	a.captioned = a.captioned || in.Text != ""
	a.addressed = a.addressed || in.Addressed
	if a.addressed {
		in.Addressed = true
		for i := range a.held {
			a.held[i].in.Addressed = true
		}
		return slices.Clone(a.held)
	}
	again := slices.ContainsFunc(a.held, func(r reading) bool { return r.in.ID == in.ID })
	if !again && len(a.held) < mostParts && (!a.nameless || in.Text == "") {
		a.held = append(a.held, *got)
	}
	return nil
}

// of is the album of in, or a new one. Without a name, pictures belong
// together if they come close together and one of them at most has words.
func (s *albums) of(in *channels.Inbound) *album {
	who := choice{in.Key.Chat(), in.Sender.ID(), in.Album}
	a := s.last[who]
	switch {
	case a == nil:
	case in.Album != "", in.ID == a.newest, in.At.Sub(a.sent).Abs() <= albumWindow && (in.Text == "" || in.Addressed && !a.captioned):
		return a
	}
	if s.last == nil {
		s.last = map[choice]*album{}
	}
	s.sweep()
	a = &album{name: in.Album}
	if a.name == "" {
		a.name, a.nameless = in.MessageID, true
	}
	s.last[who] = a
	return a
}

// sweep makes room: old albums go, and the oldest if that is not enough.
func (s *albums) sweep() {
	var oldest choice
	for who, a := range s.last {
		if time.Since(a.came) > albumKept {
			delete(s.last, who)
		} else if o := s.last[oldest]; o == nil || a.came.Before(o.came) {
			oldest = who
		}
	}
	if len(s.last) >= mostAlbums {
		delete(s.last, oldest)
	}
}

// done says that what add returned for in was handed in.
func (s *albums) done(in channels.Inbound) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range []string{in.Album, ""} {
		if a := s.last[choice{in.Key.Chat(), in.Sender.ID(), name}]; a != nil && a.name == in.Album && a.addressed {
			a.held = nil
		}
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

// isPicture reports whether in is what albums are made of.
func isPicture(in channels.Inbound) bool {
	return len(in.Attachments) == 1 && (in.Attachments[0].Kind == channels.AttachmentImage || in.Attachments[0].Kind == channels.AttachmentVideo)
}

// together finds out whether a picture in a group belongs to an album that is
// for us, and which parts of it are to be handed in before.
func (k *connection) together(ctx context.Context, got *reading) (before []reading, err error) {
	in := &got.in
	if in.Private || in.Edits != "" || !isPicture(*in) {
		return nil, nil
	}
	if in.Album != "" {
		if in.Addressed {
			err = k.file.noteAlbum(ctx, *in, in.Album)
		} else {
			in.Addressed, err = k.file.isAlbum(ctx, *in, in.Album)
		}
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
	return k.file.noteAlbum(ctx, in, evt.Info.ID)
}
