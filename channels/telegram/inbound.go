package telegram

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"dragoman/channels"
	"dragoman/channels/markup"

	"github.com/go-telegram/bot/models"
)

// placeholders are the users that Telegram shows instead of a real one. Many people
// share them, so they identify no one.
var placeholders = map[int64]bool{
	1087968824: true, // an anonymous admin
	136817688:  true, // a channel, in its discussion group
	777000:     true, // Telegram, when it forwards a channel's post
}

// maxQuote bounds, in characters, the quote of the message that is replied to.
const maxQuote = 2000

// convert turns a message into the intake's form. It returns false if the message is
// not for us: a service message, or from another bot.
func (c *Channel) convert(id string, m *models.Message, edited bool) (channels.Inbound, bool, error) {
	text, entities, ok := content(m)
	_, files := attached(m)
	if len(files) > 0 {
		text, entities = m.Caption, m.CaptionEntities // Attachments describe the files.
	}
	private := m.Chat.Type == models.ChatTypePrivate
	switch {
	case !ok, edited && m.Location != nil: // A live location is edited whenever it moves.
		return channels.Inbound{}, false, nil
	case m.From != nil && m.From.IsBot && m.SenderChat == nil && !placeholders[m.From.ID]:
		return channels.Inbound{}, false, nil
	}
	key, err := c.keyOf(m)
	if err != nil {
		return channels.Inbound{}, false, fmt.Errorf("telegram: message of update %s: %w", id, err)
	}
	name, addressed, ok := c.spokenTo(text, entities)
	if !ok {
		return channels.Inbound{}, false, nil // a command to another bot
	}
	text = markdown(text, entities, name) + buttonLinks(m)
	who := sender(m)
	in := channels.Inbound{
		Key: key, ID: id, Sender: who, Text: text, Private: private,
		MessageID: strconv.Itoa(m.ID), Quote: quote(m), At: time.Unix(int64(m.Date), 0), Attachments: files,
		Album: m.MediaGroupID, Forwarded: forwarded(m),
	}
	if edited {
		in.Edits = in.MessageID
		in.At = time.Unix(int64(max(m.EditDate, m.Date)), 0)
	}
	if !private {
		in.Prefix = cmp.Or(who.Name, "someone") + ": "
		in.Addressed = addressed || c.answersMe(m) || c.albums.has(m)
	}
	if isPiece(m, edited) {
		if long, is := c.pastes.take(m, who, in.Addressed); is {
			in.Album = long.album
			in.Addressed = in.Addressed || !private && long.addressed
		}
	}
	return in, true, nil
}

// keyOf returns the key of m's conversation. Only topics are separate conversations:
// in supergroups without topics the thread id marks a chain of replies.
func (c *Channel) keyOf(m *models.Message) (channels.Key, error) {
	chat := strconv.FormatInt(m.Chat.ID, 10)
	if m.Chat.ID == 0 {
		chat = ""
	}
	if m.IsTopicMessage && m.MessageThreadID != 0 {
		chat += ":" + strconv.Itoa(m.MessageThreadID)
	}
	return channels.NewKey(c.name, chat)
}

// sender is the person or chat that wrote m, as Telegram confirms it.
func sender(m *models.Message) channels.Person {
	switch {
	case m.SenderChat != nil:
		name := cmp.Or(m.SenderChat.Title, m.SenderChat.Username)
		return channels.Person{IDs: []string{strconv.FormatInt(m.SenderChat.ID, 10)}, Name: oneLine(name)}
	case m.From == nil || m.From.ID == 0:
		return channels.Person{}
	case placeholders[m.From.ID]:
		return channels.Person{Name: userName(m.From)}
	}
	return channels.Person{IDs: []string{strconv.FormatInt(m.From.ID, 10)}, Name: userName(m.From)}
}

func userName(u *models.User) string {
	return cmp.Or(oneLine(u.FirstName+" "+u.LastName), oneLine(u.Username))
}

// oneLine shortens a name, which people choose freely, and puts it on one line so that
// it cannot pass for more than a name.
func oneLine(s string) string { return markup.Clip(markup.Line(s), 64) }

// answersMe reports whether m is a reply to the bot. In a topic every message is a
// reply to the message that opened the topic; such replies do not count.
func (c *Channel) answersMe(m *models.Message) bool {
	r := m.ReplyToMessage
	return r != nil && r.From != nil && r.From.ID == c.id && r.ForumTopicCreated == nil
}

// forwarded names the author of a forwarded message; nil if m is not one. A post that
// Telegram copies from a channel to the channel's group does not count as forwarded.
func forwarded(m *models.Message) *channels.Forward {
	origin := m.ForwardOrigin
	if origin == nil || m.IsAutomaticForward {
		return nil
	}
	who := channels.Person{}
	switch {
	case origin.MessageOriginUser != nil:
		who.Name = userName(&origin.MessageOriginUser.SenderUser)
	case origin.MessageOriginHiddenUser != nil:
		who.Name = oneLine(origin.MessageOriginHiddenUser.SenderUserName)
	case origin.MessageOriginChat != nil:
		who = sender(&models.Message{SenderChat: &origin.MessageOriginChat.SenderChat})
	case origin.MessageOriginChannel != nil:
		who = sender(&models.Message{SenderChat: &origin.MessageOriginChannel.Chat})
	}
	return &channels.Forward{Name: who.Name}
}

// quote is the message that m replies to, or the part of it that its sender chose, with
// the files of that message.
func quote(m *models.Message) *channels.Quote {
	part := ""
	if m.Quote != nil {
		part = markup.Clip(markdown(m.Quote.Text, m.Quote.Entities, cut{}), maxQuote)
	}
	if r := m.ReplyToMessage; r != nil && r.ForumTopicCreated == nil {
		if part == "" {
			whole, entities, _ := content(r)
			part = markup.Clip(markdown(whole, entities, cut{})+buttonLinks(r), maxQuote)
		}
		_, files := attached(r)
		return &channels.Quote{ID: strconv.Itoa(r.ID), Name: sender(r).Name, Text: part, Attachments: files}
	}
	if e := m.ExternalReply; e != nil {
		note, files := attached(elsewhere(e))
		part = cmp.Or(part, note)
		if part != "" {
			return &channels.Quote{ID: strconv.Itoa(e.MessageID), Text: part, Attachments: files}
		}
	}
	return nil
}

// elsewhere is a message of another chat that is replied to, as far as Telegram shows it.
func elsewhere(e *models.ExternalReplyInfo) *models.Message {
	return &models.Message{
		Animation: e.Animation, Audio: e.Audio, Document: e.Document, PaidMedia: e.PaidMedia, Photo: e.Photo,
		Sticker: e.Sticker, Story: e.Story, Video: e.Video, VideoNote: e.VideoNote, Voice: e.Voice, Checklist: e.Checklist,
		Contact: e.Contact, Dice: e.Dice, Game: e.Game, Location: e.Location, Poll: e.Poll, Venue: e.Venue, LivePhoto: e.LivePhoto,
	}
}

// content returns the text of a message, or its caption and a note about what came with
// it. It returns false for service messages.
func content(m *models.Message) (string, []models.MessageEntity, bool) {
	if m.Text != "" {
		return m.Text, m.Entities, true
	}
	note, _ := attached(m)
	switch {
	case m.Caption != "" && note != "":
		return m.Caption + "\n" + note, m.CaptionEntities, true
	case m.Caption != "":
		return m.Caption, m.CaptionEntities, true
	}
	return note, nil, note != ""
}

func seconds(n int) string { return strconv.Itoa(n) + " s" }

func position(l *models.Location) string { return fmt.Sprintf("%.5f, %.5f", l.Latitude, l.Longitude) }

// maxAlbums bounds the albums that are remembered. A few are enough, because the parts
// of an album arrive together.
const maxAlbums = 64

// albums are the albums that address the bot. Each picture of an album is a message,
// and only one of them has the caption with the bot's name.
type albums struct {
	mu    sync.Mutex
	names []string // oldest first
}

func (s *albums) add(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.Contains(s.names, name) {
		return
	}
	s.names = append(s.names, name)
	if len(s.names) > maxAlbums {
		s.names = slices.Delete(s.names, 0, 1)
	}
}

func (s *albums) has(m *models.Message) bool {
	if m.MediaGroupID == "" {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.names, albumName(m))
}

// albumName is unique across chats.
func albumName(m *models.Message) string {
	return strconv.FormatInt(m.Chat.ID, 10) + "/" + m.MediaGroupID
}

// addressAlbums finds the albums in batch that address the bot. It runs before their
// parts go to the intake, because the caption need not be under the first one. A
// panic here comes again in inbound, which reports it.
func (c *Channel) addressAlbums(batch []update) {
	defer func() { _ = recover() }()
	for _, a := range batch {
		m, _ := a.message()
		if m == nil || m.MediaGroupID == "" {
			continue
		}
		if _, addressed, ok := c.spokenTo(m.Caption, m.CaptionEntities); ok && (addressed || c.answersMe(m)) {
			c.albums.add(albumName(m))
		}
	}
}
