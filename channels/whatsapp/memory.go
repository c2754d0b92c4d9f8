//go:build !nowhatsapp

package whatsapp

import (
	"slices"
	"sync"
	"time"

	"dragoman/channels"

	"go.mau.fi/whatsmeow/types"
)

const (
	maxSeen   = 2000 // messages
	maxChats  = 2000
	maxUnread = 100 // per chat
)

// memory has the recent messages, for quotes and read marks. A restart loses it. Without
// it answers have no quotes, and messages no read marks.
type memory struct {
	mu    sync.Mutex
	seen  map[string]seenMessage
	order []string // ids in seen, oldest first
	chats map[string]*chatMemory
	// joined are the chats whose conversations were joined. It has no limit, because a
	// person takes only a few bytes.
	joined map[string]bool
}

// seenMessage is what [memory] has of a message.
type seenMessage struct {
	chat, sender types.JID
	text         string
	// unmarked says that it can be marked as read. Our own messages cannot.
	unmarked bool
}

// chatMemory is what [memory] has of a chat.
type chatMemory struct {
	jid    types.JID // how WhatsApp addressed its newest message
	unread []unreadMessage
}

// unreadMessage is a message that is marked as read when it is answered.
type unreadMessage struct {
	id     string
	sender types.JID
	at     time.Time
}

func newMemory() *memory {
	return &memory{seen: map[string]seenMessage{}, chats: map[string]*chatMemory{}, joined: map[string]bool{}}
}

// remember adds a message. If it is already known, it is not marked as read again.
func (m *memory) remember(in channels.Inbound, s seenMessage) {
	chat, id := in.Key.Chat(), in.MessageID
	m.mu.Lock()
	defer m.mu.Unlock()
	_, again := m.seen[id]
	m.seen[id] = s
	if !again {
		m.order = append(m.order, id)
		if len(m.order) > maxSeen {
			delete(m.seen, m.order[0])
			m.order = m.order[1:]
		}
	}
	c := m.chats[chat]
	if c == nil {
		if len(m.chats) >= maxChats {
			clear(m.chats)
		}
		c = &chatMemory{}
		m.chats[chat] = c
	}
	c.jid = s.chat
	if again || !s.unmarked {
		return
	}
	c.unread = append(c.unread, unreadMessage{id, s.sender, in.At})
	if len(c.unread) > maxUnread {
		c.unread = c.unread[1:]
	}
}

// forget deletes the text of a message that its author deleted, so that no later
// quote repeats it. It does nothing if somebody else is named as the author.
func (m *memory) forget(id string, author channels.Person) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s, ok := m.seen[id]; ok && slices.Contains(author.IDs, identify(s.sender).chat()) {
		s.chat, s.text = types.JID{}, ""
		m.seen[id] = s
	}
}

func (m *memory) recall(id string) (seenMessage, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.seen[id]
	return s, ok
}

// chatOf is the address that WhatsApp used for the newest message of a conversation; zero
// if that is not known.
func (m *memory) chatOf(chat string) types.JID {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c := m.chats[chat]; c != nil {
		return c.jid
	}
	return types.JID{}
}

// takeUnread removes and returns the messages up to answered that are not marked as read
// yet; all of them if answered is "".
func (m *memory) takeUnread(chat, answered string) (jid types.JID, unread []unreadMessage) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.chats[chat]
	if c == nil {
		return types.JID{}, nil
	}
	until := len(c.unread)
	if answered != "" {
		until = 1 + slices.IndexFunc(c.unread, func(u unreadMessage) bool { return u.id == answered })
	}
	unread, c.unread = c.unread[:until:until], c.unread[until:]
	return c.jid, unread
}

func (m *memory) isJoined(chat string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.joined[chat]
}

// join records that the conversation of from now belongs to to.
func (m *memory) join(from, to string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.joined[to] = true
	if from != to {
		delete(m.chats, from)
	}
}

func (m *memory) erase(chats map[string]bool, people map[types.JID]bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, s := range m.seen {
		if people[s.chat] || people[s.sender] {
			delete(m.seen, id)
		}
	}
	m.order = slices.DeleteFunc(m.order, func(id string) bool { _, known := m.seen[id]; return !known })
	for chat := range chats {
		delete(m.chats, chat)
		delete(m.joined, chat)
	}
	for _, c := range m.chats {
		c.unread = slices.DeleteFunc(c.unread, func(u unreadMessage) bool { return people[u.sender] })
	}
}
