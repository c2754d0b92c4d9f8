package botapi

import (
	"cmp"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
)

// mostUnits is how many UTF-16 units of visible text a message may have.
const mostUnits = 4096

func (s *Server) me() User {
	return User{ID: BotID, IsBot: true, FirstName: "Dragoman", Username: s.Username(), ReadsAll: s.o.ReadsAll}
}

func (s *Server) getMe(*http.Request, params) answer { return answer{result: s.me()} }

var commandName = regexp.MustCompile(`^[a-z0-9_]{1,32}$`)

func (s *Server) setMyCommands(_ *http.Request, p params) answer {
	var commands []Command
	if !p.into("commands", &commands) {
		return badRequest("can't parse commands")
	}
	for _, c := range commands {
		if !commandName.MatchString(c.Command) {
			return badRequest("BOT_COMMAND_INVALID")
		}
		if n := len(c.Description); n < 1 || n > 256 {
			return badRequest("BOT_COMMAND_DESCRIPTION_INVALID")
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	where, no := s.scopeOf(p)
	if no != nil {
		return *no
	}
	s.menus[where] = commands
	return answer{result: true}
}

// scope says whose commands are meant.
type scope struct {
	Type   string `json:"type"`
	ChatID int64  `json:"chat_id"`
}

// scopes are the types that are known here. Those of members and administrators are not.
var scopes = []string{"default", "all_private_chats", "all_group_chats", "chat"}

// scopeOf is the scope that a call names. The caller holds the lock.
func (s *Server) scopeOf(p params) (where scope, no *answer) {
	where.Type = "default"
	var bad answer
	switch {
	case p.str("scope") != "" && !p.into("scope", &where), !slices.Contains(scopes, where.Type):
		bad = badRequest("can't parse BotCommandScope")
	case where.Type == "chat" && s.chats[where.ChatID] == nil:
		bad = badRequest("chat not found")
	default:
		return where, nil
	}
	return where, &bad
}

func (s *Server) getMyCommands(_ *http.Request, p params) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	where, no := s.scopeOf(p)
	if no != nil {
		return *no
	}
	return answer{result: append([]Command{}, s.menus[where]...)}
}

func (s *Server) deleteMyCommands(_ *http.Request, p params) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	where, no := s.scopeOf(p)
	if no != nil {
		return *no
	}
	delete(s.menus, where)
	return answer{result: true}
}

// target finds the chat and topic that a call names. The caller holds the lock.
func (s *Server) target(p params) (*Chat, int64, *answer) {
	var no answer
	c := s.chats[p.int("chat_id")]
	topic := p.int("message_thread_id")
	switch {
	case p.str("chat_id") == "":
		no = badRequest("chat_id is empty")
	case c == nil:
		no = badRequest("chat not found")
	case c.migrated != 0:
		no = badRequest("group chat was upgraded to a supergroup chat")
		no.migrateTo = c.migrated
	case topic != 0 && (!c.topics[topic] || c.rights.lost[topic]):
		no = badRequest("message thread not found")
	case c.blocked:
		no = refuse(http.StatusForbidden, "Forbidden: %s", c.blockedWords())
	default:
		return c, topic, nil
	}
	return nil, 0, &no
}

// parsed reads text, parse_mode and what follows from them.
func parsed(p params) (string, []Entity, *answer) {
	text := clean(p.str("text"))
	var entities []Entity
	switch strings.ToLower(p.str("parse_mode")) {
	case "":
	case "html":
		var err error
		if text, entities, err = parseHTML(text); err != nil {
			no := badRequest("%v", err)
			return "", nil, &no
		}
	default:
		no := badRequest("unsupported parse_mode")
		return "", nil, &no
	}
	// The network trims the text and moves the entities along.
	trimmed := strings.TrimLeft(text, " \n")
	cut := units(text) - units(trimmed)
	for i := range entities {
		entities[i].Offset = max(0, entities[i].Offset-cut)
	}
	trimmed = strings.TrimRight(trimmed, " \n")
	if trimmed == "" {
		no := badRequest("message text is empty")
		return "", nil, &no
	}
	if units(trimmed) > mostUnits {
		no := badRequest("message is too long")
		return "", nil, &no
	}
	return trimmed, entities, nil
}

func (s *Server) sendMessage(_ *http.Request, p params) answer { return s.send(p, nil) }

// mostCaption is how many UTF-16 units the caption of a file may have.
const mostCaption = 1024

func (s *Server) sendDocument(r *http.Request, p params) answer { return s.sendFile(r, p, "document") }
func (s *Server) sendPhoto(r *http.Request, p params) answer    { return s.sendFile(r, p, "photo") }
func (s *Server) sendVoice(r *http.Request, p params) answer    { return s.sendFile(r, p, "voice") }
func (s *Server) sendAudio(r *http.Request, p params) answer    { return s.sendFile(r, p, "audio") }

// mostPhoto is how large a photo may be.
const mostPhoto = 10 << 20

// sendFile sends what the parameter called field holds.
func (s *Server) sendFile(r *http.Request, p params, field string) answer {
	if r.MultipartForm == nil || len(r.MultipartForm.File[field]) != 1 {
		return badRequest("there is no %s in the request", field)
	}
	head := r.MultipartForm.File[field][0]
	f, err := head.Open()
	if err != nil {
		return badRequest("%v", err)
	}
	defer f.Close()
	content, err := io.ReadAll(f)
	switch {
	case err != nil:
		return badRequest("%v", err)
	case len(content) == 0:
		return badRequest("file must be non-empty")
	case units(p.str("caption")) > mostCaption:
		return badRequest("message caption is too long")
	case field == "photo" && len(content) > mostPhoto:
		return badRequest("file of size %d bytes is too big for a photo; the maximum size is 10485760 bytes", len(content))
	case field == "photo" && !strings.HasPrefix(http.DetectContentType(content), "image/"):
		return badRequest("IMAGE_PROCESS_FAILED")
	case field == "voice" && !strings.HasPrefix(string(content), "OggS"):
		field = "document" // as the network does
	}
	p["text"] = p["caption"]
	return s.send(p, &Document{ID: "SENT", Name: head.Filename, Bytes: len(content), Content: string(content), Sort: field, Seconds: int(p.int("duration"))})
}

// send adds a message of the bot, with doc if that is not nil.
func (s *Server) send(p params, doc *Document) answer {
	text, entities, no := parsed(p)
	if doc != nil && p.str("text") == "" {
		no = nil // a file needs no caption
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c, topic, missing := s.target(p)
	if missing != nil {
		return *missing
	}
	if no != nil {
		return *no
	}
	keyboard, wrong := buttons(p)
	if wrong != nil {
		return *wrong
	}
	sort := "text messages"
	if doc != nil {
		sort = map[string]string{"photo": "photos", "voice": "voice notes", "audio": "audios"}[doc.Sort]
		sort = cmp.Or(sort, "documents")
	}
	if no := c.rights.refusal(topic, sort); no != nil {
		return *no
	}
	if wait := c.throttle(); wait > 0 {
		a := refuse(http.StatusTooManyRequests, "Too Many Requests: retry after %d", wait)
		a.retryAfter = wait
		return a
	}
	var reply struct {
		MessageID int64 `json:"message_id"`
		Anyway    bool  `json:"allow_sending_without_reply"`
	}
	p.into("reply_parameters", &reply)
	if reply.MessageID != 0 && c.byID[reply.MessageID] == nil && !reply.Anyway {
		return badRequest("message to be replied not found")
	}
	me, now := s.me(), time.Now()
	c.lastID++
	m := &Message{
		ID: c.lastID, From: &me, Chat: c.info, Date: now.Unix(), Stored: now, Text: text, Entities: entities,
		Topic: topic, IsTopic: topic != 0, ReplyTo: c.quoted(reply.MessageID), Sent: p.str("text"), Document: doc, Keyboard: keyboard,
	}
	c.add(m)
	s.wrote(m)
	return answer{raw: encode(m, nil)}
}

// wrote tells whoever watches that the bot has written m. The caller holds
// the lock.
func (s *Server) wrote(m *Message) {
	if s.o.Wrote != nil {
		s.o.Wrote(*m)
	}
	s.announce()
}

func (s *Server) editMessageText(_ *http.Request, p params) answer {
	text, entities, no := parsed(p)
	s.mu.Lock()
	defer s.mu.Unlock()
	c, _, missing := s.target(p)
	if missing != nil {
		return *missing
	}
	m := c.byID[p.int("message_id")]
	keyboard, wrong := buttons(p)
	switch {
	case m == nil:
		return badRequest("message to edit not found")
	case m.From == nil || m.From.ID != BotID:
		return badRequest("message can't be edited")
	case no != nil:
		return *no
	case wrong != nil:
		return *wrong
	case m.Text == text && sameEntities(m.Entities, entities) && sameKeyboard(m.Keyboard, keyboard):
		return badRequest("message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message")
	}
	m.Text = text
	m.Entities = entities
	m.Keyboard = keyboard
	m.Sent = p.str("text")
	m.Edited = time.Now()
	m.Edits++
	m.EditDate = time.Now().Unix()
	s.wrote(m)
	return answer{raw: encode(m, nil)}
}

func sameEntities(a, b []Entity) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func (s *Server) deleteMessage(_ *http.Request, p params) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, _, missing := s.target(p)
	if missing != nil {
		return *missing
	}
	if c.byID[p.int("message_id")] == nil {
		return badRequest("message to delete not found")
	}
	c.remove(p.int("message_id"))
	s.announce()
	return answer{result: true}
}

func (s *Server) sendChatAction(_ *http.Request, p params) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, _, missing := s.target(p)
	if missing != nil {
		return *missing
	}
	if p.str("action") != "typing" {
		return badRequest("wrong parameter action in request")
	}
	c.actions++
	return answer{result: true}
}

// throttle takes one message from the chat's allowance and returns 0, or the
// seconds to wait. The caller holds the server's lock.
func (c *Chat) throttle() int {
	o := c.s.o
	if o.ChatEvery <= 0 {
		return 0
	}
	now := time.Now()
	if c.filled.IsZero() {
		c.tokens = float64(o.ChatBurst)
	} else {
		c.tokens = min(float64(o.ChatBurst), c.tokens+float64(now.Sub(c.filled))/float64(o.ChatEvery))
	}
	c.filled = now
	if c.tokens < 1 {
		return max(1, int(o.ChatEvery.Seconds()))
	}
	c.tokens--
	return 0
}
