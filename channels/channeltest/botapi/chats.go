package botapi

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// User is a person or a bot.
type User struct {
	ID        int64  `json:"id"`
	IsBot     bool   `json:"is_bot"`
	FirstName string `json:"first_name"`
	LastName  string `json:"last_name,omitempty"`
	Username  string `json:"username,omitempty"`
	// ReadsAll says of a bot that it sees all messages of its groups.
	ReadsAll bool `json:"can_read_all_group_messages,omitempty"`
}

// ChatInfo is what updates say about a chat.
type ChatInfo struct {
	ID        int64  `json:"id"`
	Type      string `json:"type"` // private, group, supergroup, channel
	Title     string `json:"title,omitempty"`
	FirstName string `json:"first_name,omitempty"`
	Username  string `json:"username,omitempty"`
	IsForum   bool   `json:"is_forum,omitempty"`
}

// Message is one message of a chat, as the network shows it.
type Message struct {
	ID         int64     `json:"message_id"`
	Topic      int64     `json:"message_thread_id,omitempty"`
	From       *User     `json:"from,omitempty"`
	SenderChat *ChatInfo `json:"sender_chat,omitempty"`
	Chat       ChatInfo  `json:"chat"`
	Date       int64     `json:"date"`
	EditDate   int64     `json:"edit_date,omitempty"`
	IsTopic    bool      `json:"is_topic_message,omitempty"`
	ReplyTo    *Message  `json:"reply_to_message,omitempty"`
	Text       string    `json:"text,omitempty"`
	Entities   []Entity  `json:"entities,omitempty"`

	// Document is a file that the bot sent; Text is its caption then.
	Document *Document `json:"document,omitempty"`
	// Keyboard are the buttons under it.
	Keyboard *Keyboard `json:"reply_markup,omitempty"`

	// Stored and Edited are when the server took it, exactly; Edits counts.
	Stored time.Time `json:"-"`
	Edited time.Time `json:"-"`
	Edits  int       `json:"-"`
	// Sent is the text as the bot sent it, with markup.
	Sent string `json:"-"`
}

// Document is a file that the bot sent.
type Document struct {
	ID      string `json:"file_id"`
	Name    string `json:"file_name"`
	Bytes   int    `json:"file_size"`
	Content string `json:"-"`
	// Sort is what people see it as: document, photo, voice or audio. Seconds is how long the
	// bot says that it is.
	Sort    string `json:"-"`
	Seconds int    `json:"-"`
}

// Chat is one chat of the bot. Its methods write as people.
type Chat struct {
	s        *Server
	info     ChatInfo
	messages []*Message
	byID     map[int64]*Message
	lastID   int64
	topics   map[int64]bool
	rights   rights
	migrated int64
	actions  int
	drafts   []string
	blocked  bool
	tokens   float64 // of the rate limit
	filled   time.Time
}

// Person makes a user without much ado.
func Person(id int64, first string) User {
	return User{ID: id, FirstName: first, Username: strings.ToLower(first)}
}

// Private is the private chat with p, whose id is p's.
func (s *Server) Private(p User) *Chat {
	return s.chat(ChatInfo{ID: p.ID, Type: "private", FirstName: p.FirstName, Username: p.Username})
}

// Group is a basic group.
func (s *Server) Group(id int64, title string) *Chat {
	return s.chat(ChatInfo{ID: id, Type: "group", Title: title})
}

// Supergroup is a supergroup; with topics if forum is set.
func (s *Server) Supergroup(id int64, title string, forum bool) *Chat {
	return s.chat(ChatInfo{ID: id, Type: "supergroup", Title: title, IsForum: forum})
}

// Channel is a broadcast channel.
func (s *Server) Channel(id int64, title string) *Chat {
	return s.chat(ChatInfo{ID: id, Type: "channel", Title: title})
}

func (s *Server) chat(info ChatInfo) *Chat {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.chats[info.ID]
	if c == nil {
		c = &Chat{s: s, info: info, byID: map[int64]*Message{}, topics: map[int64]bool{}}
		s.chats[info.ID] = c
	}
	return c
}

// ID is the chat's id.
func (c *Chat) ID() int64 { return c.info.ID }

// Topic opens a topic and returns its id.
func (c *Chat) Topic() int64 {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	c.lastID++
	c.topics[c.lastID] = true
	return c.lastID
}

// Migrate turns the group into a supergroup with another id, which it
// returns; sends to the old one are refused with the new id.
func (c *Chat) Migrate(id int64) *Chat {
	next := c.s.Supergroup(id, c.info.Title, false)
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	c.migrated = id
	return next
}

// Post is a message that a person writes.
type Post struct {
	From       User
	SenderChat *ChatInfo // an anonymous admin or a channel speaks
	Text       string    // mentions and commands in it are marked
	ReplyTo    int64     // message id
	Topic      int64
	Thread     int64 // message_thread_id of a reply chain that is no topic
	// Mention marks this part of Text as naming the user.
	Mention     string
	MentionUser *User
	// Extra fields of the message: media, captions, service notes.
	Extra map[string]any
}

// Say writes text as p and returns the message's id.
func (c *Chat) Say(p User, text string) int64 { return c.Post(Post{From: p, Text: text}) }

// Post writes and returns the message's id.
func (c *Chat) Post(post Post) int64 {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	c.lastID++
	from := post.From
	m := &Message{
		ID: c.lastID, From: &from, SenderChat: post.SenderChat, Chat: c.info, Date: time.Now().Unix(), Stored: time.Now(),
		Text: clean(post.Text), Entities: detect(clean(post.Text)), Topic: post.Topic, IsTopic: post.Topic != 0, ReplyTo: c.quoted(post.ReplyTo),
	}
	if from.ID == 0 {
		m.From = nil
	}
	if post.Thread != 0 {
		m.Topic = post.Thread
	}
	if at := strings.Index(m.Text, post.Mention); post.MentionUser != nil && at >= 0 {
		m.Entities = append(m.Entities, Entity{Type: "text_mention", Offset: units(m.Text[:at]), Length: units(post.Mention), User: post.MentionUser})
	}
	c.add(m)
	kind := "message"
	if c.info.Type == "channel" {
		kind = "channel_post"
	}
	c.s.push(kind, encode(m, post.Extra))
	c.s.announce()
	return m.ID
}

// Edit changes the text of an earlier message.
func (c *Chat) Edit(id int64, text string) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	m := c.byID[id]
	if m == nil {
		panic(fmt.Sprintf("botapi: edit: chat %d has no message %d", c.info.ID, id))
	}
	m.Text = clean(text)
	m.Entities = detect(clean(text))
	m.EditDate = time.Now().Unix()
	c.s.push("edited_message", encode(m, nil))
}

// Delete removes a message, as people can.
func (c *Chat) Delete(id int64) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	c.remove(id)
}

func (c *Chat) add(m *Message) {
	c.messages = append(c.messages, m)
	c.byID[m.ID] = m
}

func (c *Chat) remove(id int64) {
	delete(c.byID, id)
	c.messages = slices.DeleteFunc(c.messages, func(m *Message) bool { return m.ID == id })
}

// quoted is a copy of a message without what it quotes itself.
func (c *Chat) quoted(id int64) *Message {
	m := c.byID[id]
	if m == nil {
		return nil
	}
	short := *m
	short.ReplyTo = nil
	return &short
}

func encode(m *Message, extra map[string]any) []byte {
	raw, err := json.Marshal(m)
	if err == nil && len(extra) > 0 {
		all := map[string]any{}
		_ = json.Unmarshal(raw, &all) // just made by Marshal
		maps.Copy(all, extra)
		raw, err = json.Marshal(all)
	}
	if err != nil {
		panic("botapi: encode: " + err.Error())
	}
	return raw
}

// Shown are the chat's messages now, in order; the bot's have From.ID BotID.
func (s *Server) Shown(chat int64) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	var shown []Message
	if c := s.chats[chat]; c != nil {
		for _, m := range c.messages {
			shown = append(shown, *m)
		}
	}
	return shown
}

// FromBot are the texts in chat that the bot wrote, in order.
func (s *Server) FromBot(chat int64) []string {
	var texts []string
	for _, m := range s.Shown(chat) {
		if m.From != nil && m.From.ID == BotID {
			texts = append(texts, m.Text)
		}
	}
	return texts
}

// Typed counts the chat actions shown in chat.
func (s *Server) Typed(chat int64) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.chats[chat]; c != nil {
		return c.actions
	}
	return 0
}

// Calls are the remembered calls of method, oldest first; "" is all methods.
func (s *Server) Calls(method string) []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	var calls []Call
	for _, c := range s.calls {
		if method == "" || strings.EqualFold(c.Method, method) {
			calls = append(calls, c)
		}
	}
	return calls
}

// Count is how often method was called, also beyond what is remembered.
func (s *Server) Count(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts[strings.ToLower(method)]
}

// Commands are those that a chat offers: the ones of the most exact scope that has any.
// Positive ids are private chats.
func (s *Server) Commands(chat int64) []Command {
	s.mu.Lock()
	defer s.mu.Unlock()
	kind := "all_private_chats"
	if chat < 0 {
		kind = "all_group_chats"
	}
	for _, where := range []scope{{"chat", chat}, {kind, 0}, {"default", 0}} {
		if list := s.menus[where]; len(list) > 0 {
			return slices.Clone(list)
		}
	}
	return nil
}

// Until waits until done, which is asked again after every change, and
// returns ctx's error if that takes too long.
func (s *Server) Until(ctx context.Context, done func() bool) error {
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		if done() {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("botapi: wait: %w", context.Cause(ctx))
		}
	}
}
