package telegram

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"dragoman/channels"
	"dragoman/channels/markup"

	"github.com/go-telegram/bot/models"
)

// Users that stand where Telegram shows no real one. Many people share them,
// so they are nobody's identity.
var placeholders = map[int64]bool{
	1087968824: true, // an anonymous admin
	136817688:  true, // a channel, in its discussion group
	777000:     true, // Telegram itself, forwarding a channel's post
}

// mostQuote bounds, in characters, what is quoted of the message answered.
const mostQuote = 2000

// inbound turns a message into what the intake takes; false if it says
// nothing to the bot: a service message, another bot.
func (c *Channel) inbound(id string, m *models.Message, edited bool) (channels.Inbound, bool, error) {
	text, entities, said := content(m)
	_, files := attached(m)
	if len(files) > 0 {
		text, entities = m.Caption, m.CaptionEntities // the files speak for themselves
	}
	private := m.Chat.Type == models.ChatTypePrivate
	switch {
	case !said, edited && m.Location != nil: // a live location moves all the time
		return channels.Inbound{}, false, nil
	case m.From != nil && m.From.IsBot && m.SenderChat == nil && !placeholders[m.From.ID]:
		return channels.Inbound{}, false, nil
	}
	key, err := c.key(m)
	if err != nil {
		return channels.Inbound{}, false, fmt.Errorf("telegram: message of update %s: %w", id, err)
	}
	said, addressed := true, false
	text, addressed, said = c.address(text, entities)
	if !said {
		return channels.Inbound{}, false, nil // a command for another bot
	}
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
	return in, true, nil
}

// key names the conversation. Only real topics are conversations of their
// own: in plain supergroups the thread id merely marks a chain of replies.
func (c *Channel) key(m *models.Message) (channels.Key, error) {
	chat := strconv.FormatInt(m.Chat.ID, 10)
	if m.Chat.ID == 0 {
		chat = ""
	}
	if m.IsTopicMessage && m.MessageThreadID != 0 {
		chat += ":" + strconv.Itoa(m.MessageThreadID)
	}
	return channels.NewKey(c.name, chat)
}

// sender is who Telegram vouches for.
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

// oneLine makes a name, which can be anything at all, short and keeps it from
// looking like more than a name.
func oneLine(s string) string { return markup.Clip(markup.Line(s), 64) }

// answersMe reports whether m is a reply to the bot. In a topic everything
// "replies" to the message that opened the topic, which does not count.
func (c *Channel) answersMe(m *models.Message) bool {
	r := m.ReplyToMessage
	return r != nil && r.From != nil && r.From.ID == c.id && r.ForumTopicCreated == nil
}

// forwarded says whose words m passes on, nil if they are its sender's own. What
// Telegram itself copies from a channel into its group is the channel's own.
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

func quote(m *models.Message) *channels.Quote {
	part := ""
	if m.Quote != nil {
		part = markup.Clip(m.Quote.Text, mostQuote)
	}
	if r := m.ReplyToMessage; r != nil && r.ForumTopicCreated == nil {
		if part == "" {
			whole, _, _ := content(r)
			part = markup.Clip(whole, mostQuote)
		}
		return &channels.Quote{ID: strconv.Itoa(r.ID), Name: sender(r).Name, Text: part}
	}
	if e := m.ExternalReply; e != nil && part != "" {
		return &channels.Quote{ID: strconv.Itoa(e.MessageID), Text: part}
	}
	return nil
}

// content is what a message says: its text, or its caption and a note of what
// came with it. False for service messages, which say nothing.
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
