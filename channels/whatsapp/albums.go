//go:build !nowhatsapp

package whatsapp

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
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
	albumKept     = 10 * time.Minute
	maxAlbums     = 256
	maxAlbumParts = 30 // WhatsApp's limit
)

// albums are the albums that people are sending to groups now. Each picture is a message,
// and only one of them, perhaps the last, has the text that addresses us. The parts
// before it are kept here until then. A restart loses those parts, but not the fact that
// an album is for us, which is in the device file.
type albums struct {
	mu   sync.Mutex
	last map[albumKey]*album
}

// albumKey names an album. The sender is part of it, so that nobody can add to
// another person's album.
type albumKey struct{ chat, sender, album string }

func albumKeyOf(in channels.Inbound) albumKey {
	return albumKey{in.Key.Chat(), in.Sender.ID(), in.Album}
}

// album is one of [albums].
type album struct {
	addressed bool        // it is for us
	came      time.Time   // when the newest part came
	held      []converted // parts that came before we knew that it is for us, in order
}

// albumOf is the id of the album that m belongs to, or "".
func albumOf(m *waE2E.Message) string {
	a := m.GetMessageContextInfo().GetMessageAssociation()
	if a.GetAssociationType() != waE2E.MessageAssociation_MEDIA_ALBUM {
		return ""
	}
	return a.GetParentMessageKey().GetID()
}

// add adds a part of an album. If the album is for us, add marks the part as addressed and
// returns the parts that came before it. The caller must hand those in first, and then
// call delivered. Adding the same part again changes nothing.
func (s *albums) add(got *converted) (before []converted) {
	in := &got.in
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.album(*in)
	a.addressed = a.addressed || in.Addressed
	if a.addressed {
		in.Addressed = true
		for i := range a.held {
			a.held[i].in.Addressed = true
		}
		return slices.Clone(a.held)
	}
	again := slices.ContainsFunc(a.held, func(r converted) bool { return r.in.ID == in.ID })
	if !again && len(a.held) < maxAlbumParts {
		a.held = append(a.held, *got)
	}
	return nil
}

// album returns the album of in. The caller holds s.mu.
func (s *albums) album(in channels.Inbound) *album {
	a := s.last[albumKeyOf(in)]
	if a == nil {
		maps.DeleteFunc(s.last, func(_ albumKey, a *album) bool { return time.Since(a.came) > albumKept })
		if s.last == nil || len(s.last) >= maxAlbums {
			s.last = map[albumKey]*album{}
		}
		a = &album{}
		s.last[albumKeyOf(in)] = a
	}
	a.came = time.Now()
	return a
}

// delivered records that the parts that add returned for in were stored.
func (s *albums) delivered(in channels.Inbound) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a := s.last[albumKeyOf(in)]; a != nil && a.addressed {
		a.held = nil
	}
}

func (s *albums) erase(chats map[string]bool, people map[types.JID]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.last, func(c albumKey, _ *album) bool {
		sender, _ := parseChat(c.sender)
		return chats[c.chat] || people[sender]
	})
}

// albumParts marks a part of an album in a group as addressed if the album is for us, and
// returns the earlier parts that must be handed in first.
func (k *connection) albumParts(ctx context.Context, got *converted) (before []converted, err error) {
	in := &got.in
	switch {
	case in.Private, in.Edits != "", in.Album == "":
		return nil, nil
	case in.Addressed:
		err = k.file.saveAlbum(ctx, *in)
	default:
		in.Addressed, err = k.file.hasAlbum(ctx, *in)
	}
	if err != nil {
		return nil, err
	}
	return k.c.albums.add(got), nil
}

// onAlbumStart handles a message without content. If it begins an album and mentions or
// answers us, the album is for us.
func (k *connection) onAlbumStart(ctx context.Context, evt *events.Message) error {
	parts := evt.Message.GetAlbumMessage()
	r := k.reader(ctx)
	if parts == nil || evt.Info.Chat.Server != types.GroupServer || !r.isForUs(evt) {
		return nil
	}
	if _, addressed := r.spokenTo(content{about: parts.GetContextInfo()}); !addressed {
		return nil
	}
	in, err := r.header(&evt.Info)
	if bad := (*malformed)(nil); errors.As(err, &bad) {
		return nil
	}
	if err != nil {
		return err
	}
	in.Album = evt.Info.ID
	return k.file.saveAlbum(ctx, in)
}

// albumTable has the albums in groups that are for us, for parts that come after a
// restart.
const albumTable = `CREATE TABLE IF NOT EXISTS dragoman_albums (
	id TEXT NOT NULL, chat TEXT NOT NULL, author TEXT NOT NULL, at BIGINT NOT NULL, PRIMARY KEY (id, chat, author))`

// albumSaved is how long a row is kept. Phones send the parts of an album together, but
// they may arrive much later if the daemon was off.
const albumSaved = 24 * time.Hour

// saveAlbum records that an album is for us, so that its other parts are known as
// ours after a restart too. Old rows are deleted on the way.
func (d *deviceFile) saveAlbum(ctx context.Context, in channels.Inbound) error {
	now := time.Now()
	_, err := d.db.ExecContext(ctx, `DELETE FROM dragoman_albums WHERE at < $1`, now.Add(-albumSaved).Unix())
	if err == nil {
		_, err = d.db.ExecContext(ctx, `INSERT INTO dragoman_albums (id, chat, author, at) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`,
			in.Album, in.Key.Chat(), in.Sender.ID(), now.Unix())
	}
	if err != nil {
		return fmt.Errorf("whatsapp: save an album: %w", err)
	}
	return nil
}

func (d *deviceFile) hasAlbum(ctx context.Context, in channels.Inbound) (known bool, err error) {
	args, of := []any{in.Album, in.Key.Chat()}, "NULL"
	for _, id := range in.Sender.IDs {
		args = append(args, id)
		of += fmt.Sprintf(", $%d", len(args))
	}
	err = d.db.QueryRowContext(ctx, `SELECT true FROM dragoman_albums WHERE id = $1 AND chat = $2 AND author IN (`+of+`)`, args...).Scan(&known)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return false, fmt.Errorf("whatsapp: look up an album: %w", err)
	}
	return known, nil
}
